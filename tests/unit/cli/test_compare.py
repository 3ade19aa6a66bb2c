from __future__ import annotations

import json
from pathlib import Path

from intarsia.cost.progress import unwatched
from tests.cli_fakes import COMPARISON, Fakes, invoke


def test_json_is_the_comparison(fakes: Fakes, folder: Path) -> None:
    done = invoke("compare", "m.onnx", "--threads", "1", "--shape", "N=2", "--json")
    assert json.loads(done.stdout) == COMPARISON
    settings = {"target": None, "threads": 1, "budget": 60.0, "store": None, "shapes": {"N": 2}, "progress": unwatched}
    assert fakes.calls == [(Path("m.onnx"), settings)]


def test_the_recommendation_closes_the_table(fakes: Fakes, folder: Path) -> None:
    done = invoke("compare", "m.onnx")
    lines = done.stdout.splitlines()
    assert lines[-1] == COMPARISON["recommendation"]
    assert [line.split()[0] for line in lines[1:5]] == ["mnn", "onnxruntime", "ncnn", "odd"]
    assert list(folder.iterdir()) == []
