from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intarsia.cli.machine import SETTINGS
from intarsia.cli.main import cli
from intarsia.config import CompilationConfig
from intarsia.config.files import user_folder
from tests.cli_fakes import Fakes, invoke


def compiled(fakes: Fakes, *flags: str, verb: str = "compile") -> dict[str, Any]:
    """What the verb hands to the driver."""
    done = invoke(verb, "m.onnx", *flags)
    assert done.exit_code == 0, done.output
    return fakes.calls[-1][1]


@pytest.mark.parametrize(
    ("flags", "config"),
    [
        (["--target=mnn -precision=low, llvm"], "mnn -precision=low, llvm"),
        (["--target", '{"kind": "composite", "devices": ["mnn"], "host": "llvm"}'], "mnn, llvm"),
        (["--target=acl"], "arm_acl, llvm"),
        (["--target=nvidia/jetson-nano:cuda"], "nvidia/jetson-nano:cuda"),
        (["--target-llvm-num-cores", "2"], "llvm -num-cores=2"),
        (["--executor=vm"], {"targets": ["llvm"], "executor": "vm"}),
        (["--target=cuda, llvm", "--set=default_device=cuda"], {"targets": ["cuda", "llvm"], "default_device": "cuda"}),
        (["--target=m.json"], {"targets": ["mnn"], "executor": "vm"}),
        (["--config=m.json", "--runtime=cpp"], {"targets": ["mnn"], "executor": "vm", "runtime": "cpp"}),
        (["--config=m.json", "--target=llvm"], {"targets": ["llvm"], "executor": "vm"}),
    ],
)
@pytest.mark.parametrize("verb", ["compile", "compare"])
def test_flags_and_files_come_to_one_configuration(
    fakes: Fakes, folder: Path, flags: list[str], config: object, verb: str
) -> None:
    (folder / "m.json").write_text('{"targets": ["mnn"], "executor": "vm"}')
    assert compiled(fakes, *flags, verb=verb)["target"] == CompilationConfig.of(config)


def test_where_nothing_is_said_the_choice_is_left_to_the_model_and_the_driver(fakes: Fakes, folder: Path) -> None:
    assert compiled(fakes)["target"] is None
    (folder / "m.json").write_text('{"budget": 3}')
    settings = compiled(fakes, "--config=m.json")
    assert (settings["target"], settings["budget"]) == (None, 3.0)


def test_a_file_states_settings_and_flags_come_before_them(fakes: Fakes, folder: Path) -> None:
    stated = {
        "budget": 3,
        "threads": 2,
        "store": "s.db",
        "shape": {"N": 8, "x": "1x3"},
        "partition": "greedy",
        "seed": 9,
    }
    (folder / "m.yaml").write_text(json.dumps({"targets": ["mnn"], **stated}))
    settings = compiled(fakes, "--config=m.yaml", "--seed=4")
    assert settings["shapes"] == {"N": 8, "x": (1, 3)}
    assert (settings["budget"], settings["threads"], settings["partition"], settings["seed"]) == (3.0, 2, "greedy", 4)
    assert settings["store"] == Path("s.db")
    assert compiled(fakes, "--config=m.yaml", verb="compare")["threads"] == 2


def test_every_setting_is_a_flag_of_compile() -> None:
    flags = {option.lstrip("-") for parameter in cli.commands["compile"].params for option in parameter.opts}
    assert set(SETTINGS) <= flags
    page = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in SETTINGS)


def test_a_setting_of_the_file_is_checked_like_the_flag(fakes: Fakes, folder: Path) -> None:
    (folder / "m.json").write_text('{"threads": 2.5}')
    done = invoke("compile", "m.onnx", "--config=m.json")
    assert (done.exit_code, fakes.calls) == (2, [])
    assert "m.json: Invalid value for '--threads': '2.5'" in done.stderr


def test_the_file_named_default_counts_where_none_is_named(
    fakes: Fakes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "home"))
    user_folder().mkdir(parents=True)
    (user_folder() / "default.json").write_text('{"targets": ["mnn"], "seed": 3}')
    (user_folder() / "other.json").write_text('{"targets": ["ncnn"]}')
    settings = compiled(fakes)
    assert (str(settings["target"]), settings["seed"]) == ("mnn", 3)
    settings = compiled(fakes, "--config=other")
    assert (str(settings["target"]), settings["seed"]) == ("ncnn", 0)
    (user_folder() / "default.json").write_text("[")
    assert invoke("compile", "m.onnx").exit_code == 2
    assert "Usage:" in invoke("compile", "--help").stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--target"], "--target needs a value"),
        (["--target="], "cannot parse an empty target"),
        (["--target={"], "cannot load config dict"),
        (["--target", '{"machines": {"a": "llvm"}}'], "this describes several machines"),
        (["--executor=aott"], "did you mean 'aot'"),
        (["--target=tensorrt, onnxruntime"], "tensorrt"),
        (["--target-llvm-mcp=x"], "Did you mean '--target-llvm-mcpu'"),
        (["--target-nothing-x=x"], "No such option '--target-nothing-x'"),
        (["--set=x"], "write PATH=VALUE"),
        (["--config=none"], "no configuration of that name"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_loaded(
    fakes: Fakes, folder: Path, flags: list[str], message: str
) -> None:
    done = invoke("compile", "m.onnx", *flags)
    assert (done.exit_code, fakes.calls) == (2, [])
    assert message in done.stderr
