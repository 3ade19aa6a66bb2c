from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intarsia.cost.worker.progress import unwatched
from tests.cli_fakes import COMPARISON, Fakes, invoke


def test_json_is_the_comparison(fakes: Fakes, folder: Path) -> None:
    done = invoke("compare", "m.onnx", "--threads", "1", "--shape", "N=2", "--max-error", "0.01", "--json")
    assert json.loads(done.stdout) == COMPARISON
    settings: dict[str, Any] = {
        "target": None,
        "threads": 1,
        "budget": 60.0,
        "store": None,
        "shapes": {"N": 2},
        "max_memory": None,
        "objective": "latency",
        "max_latency": None,
    }
    settings |= {"constraints": None, "custom_ops": (), "seed": 0}
    told = {
        **settings,
        "max_error": 0.01,
        "strict": False,
        "strict_machine": False,
        "progress": unwatched,
        "began": None,
    }
    assert fakes.calls == [(Path("m.onnx"), told)]


def test_the_recommendation_closes_the_table(fakes: Fakes, folder: Path) -> None:
    done = invoke("compare", "m.onnx")
    lines = done.stdout.splitlines()
    assert lines[-1] == COMPARISON["recommendation"]
    assert [line.split()[0] for line in lines[1:5]] == ["collage:", "mnn", "onnxruntime", "openvino"]
    assert list(folder.iterdir()) == []


def saved(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(COMPARISON | changes), encoding="utf-8")
    return path


def test_save_writes_what_json_prints(fakes: Fakes, folder: Path) -> None:
    invoke("compare", "m.onnx", "--save", "c.json")
    assert json.loads((folder / "c.json").read_text()) == COMPARISON
    assert [path.name for path in folder.iterdir()] == ["c.json"]


@pytest.mark.parametrize(
    ("then", "limit", "code", "said"),
    [
        ({}, "p50>+5%", 0, "kept"),
        ({}, "p50>-1ms", 6, "broken"),
        ({}, "p50>+0.1%", 7, "undecided"),
        ({}, "memory>200MB", 6, "broken"),
        ({"threads": 4}, "p50>+5%", 8, "threads: 4 then, 2 now"),
        ({"engines": {}}, "p50>+5%", 8, "mnn: not there then, 3.6.1 now"),
    ],
)
def test_the_exit_code_tells_worse_from_noise_from_elsewhere(
    fakes: Fakes, folder: Path, then: dict[str, Any], limit: str, code: int, said: str
) -> None:
    arguments = ("--baseline", saved(folder / "b.json", **then), "--fail-if", limit)
    done = invoke("compare", "m.onnx", *arguments)
    assert (done.exit_code, said in done.stdout) == (code, True)
    told = json.loads(invoke("compare", "m.onnx", *arguments, "--json").stdout)["judgement"]
    assert told["exit_code"] == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fail-if", "p50>+5%"), "name what it is against"),
        (("--baseline", "b.json"), "goes with --fail-if"),
        (("--baseline", "b.json", "--fail-if", "p50>+5"), "p50 has a unit"),
        (("--baseline", "absent.json", "--fail-if", "p50>+5%"), "cannot be read as a comparison"),
        (("--baseline", "odd.json", "--fail-if", "p50>+5%"), "is no comparison"),
        (("--save", "no/such/folder/c.json",), "cannot write"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused(fakes: Fakes, folder: Path, arguments: tuple[str, ...], said: str) -> None:
    saved(folder / "b.json")
    (folder / "odd.json").write_text("[]")
    done = invoke("compare", "m.onnx", *arguments)
    assert (done.exit_code, said in done.stderr) == (2, True)
    assert not fakes.calls


def test_an_absolute_limit_needs_no_baseline(fakes: Fakes, folder: Path) -> None:
    assert invoke("compare", "m.onnx", "--fail-if", "memory>1GB").exit_code == 0
    assert invoke("compare", "m.onnx", "--fail-if", "p50<1s").exit_code == 6


def test_what_is_held_against_another_day_is_measured_anew(fakes: Fakes, folder: Path) -> None:
    arguments: list[tuple[str, ...]] = [(), ("--save", "c.json"), ("--store", "s.db", "--save", "c.json")]
    for each in arguments:
        invoke("compare", "m.onnx", *each)
    stores = [settings["store"] for _, settings in fakes.calls]
    assert (stores[0], stores[2]) == (None, Path("s.db"))
    assert stores[1].name == "records.sqlite"
    assert not stores[1].parent.exists()
