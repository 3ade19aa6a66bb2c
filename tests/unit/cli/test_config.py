from __future__ import annotations

import json
from pathlib import Path

from intarsia.config import CompilationConfig
from tests.cli_fakes import Fakes, invoke


def test_leaves_and_settings_say_who_stated_them(fakes: Fakes, folder: Path) -> None:
    (folder / "m.json").write_text('{"targets": ["mnn", "llvm"], "threads": 2, "shape": {"N": 8}}')
    done = invoke("config", "show", "--config=m.json", "--target-mnn-precision=low", "--seed=3", "--json")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert CompilationConfig.of(shown["config"]) == CompilationConfig.of("mnn -precision=low, llvm")
    assert {leaf["path"]: leaf["by"] for leaf in shown["leaves"]} == {
        "targets[0].kind": "m.json",
        "targets[0].precision": "--target-mnn-precision",
        "targets[1].kind": "m.json",
        "host": "derived",
        "executor": "default",
        "runtime": "default",
        "default_device": "derived",
    }
    assert [(each["name"], each["value"], each["by"]) for each in shown["settings"]] == [
        ("threads", "2", "m.json"),
        ("budget", "60.0", "default"),
        ("shape", "N=8", "m.json"),
        ("seed", "3", "--seed"),
        ("strict", "False", "default"),
        ("strict-machine", "False", "default"),
        ("objective", "latency", "default"),
    ]
    assert fakes.calls == []


def test_where_nothing_is_said_the_built_in_target_is_shown() -> None:
    done = invoke("config", "show")
    assert done.stdout.startswith("llvm\n")
    assert "built-in" in done.stdout


def test_what_is_shown_can_be_handed_back(folder: Path) -> None:
    flags = ("--target=nvidia/jetson-nano:cuda", "--target-llvm-threads=2", "--executor=vm")
    first = json.loads(invoke("config", "show", *flags, "--json").stdout)["config"]
    (folder / "again.json").write_text(json.dumps(first))
    assert json.loads(invoke("config", "show", "--config=again.json", "--json").stdout)["config"] == first


def test_each_leaf_that_is_stated_can_be_set_to_what_it_is() -> None:
    flags = ("--target=cuda:1 -arch=sm_80, llvm mattr=+neon", "--executor-graph-link-params")
    shown = json.loads(invoke("config", "show", *flags, "--json").stdout)
    for leaf in shown["leaves"]:
        if leaf["by"].startswith("--") and not leaf["path"].endswith(".kind"):
            again = invoke("config", "show", *flags, "--set", f"{leaf['path']}={leaf['value']}", "--json")
            assert json.loads(again.stdout)["config"] == shown["config"]


def test_an_impossible_combination_is_refused() -> None:
    done = invoke("config", "show", "--target=mnn", "--executor=cuda-graph")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cuda-graph" in done.stderr
