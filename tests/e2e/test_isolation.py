"""A compile with an engine that is only installed in another interpreter: planned, measured, mixed, run and told of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import Case, f32, node
from tests.elsewhere import LIBRARY, RULES, dependencies, make_interpreter

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


def intarsia(*arguments: object) -> Any:
    path = os.pathsep.join(map(str, (ROOT / "src", RULES)))
    line = [sys.executable, "-m", "intarsia", *map(str, arguments), "--json"]
    done = subprocess.run(line, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The target of the engine that is not here."""
    folder = tmp_path_factory.mktemp("there") / "venv"
    return f"away -python={make_interpreter(folder, [*dependencies(), RULES, LIBRARY])}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers with a Softmax between them, which that engine refuses."""
    case = Case(
        name="softmax-between",
        nodes=(node("MatMul", "x v", "a"), node("Softmax", "a", "b"), node("MatMul", "b w", "y")),
        inputs={"x": f32(8, 64)},
        weights={"v": (64, 64), "w": (64, 16)},
    )
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    path.write_bytes(case.model())
    return path


def test_doctor_looks_there(away: str) -> None:
    here, there = intarsia("doctor", "--target", f"away, {away}, reference")["engines"][:2]
    assert not here["usable"]
    assert (there["usable"], there["version"]) == (True, "7.0")


def test_a_mix_over_two_interpreters_is_compiled_and_runs(away: str, model: Path, tmp_path: Path) -> None:
    artifact = tmp_path / "model.intarsia"
    line = ("compile", model, "--target", f"{away}, reference", "--store", tmp_path / "r.sqlite", "--budget", 30)
    report = intarsia(*line, "--partition", "greedy", "-o", artifact)
    assert [part["target"] for part in report["partitions"]] == [away, "reference", away]
    assert report["max_rel_error"] < 1e-5
    assert report["latency_ms"]["median"] > 0
    told = intarsia("explain", artifact)
    assert told["engines"][away.replace(" -python=", "@")]["version"] == "7.0"
    assert intarsia("run", artifact, "--random", "--allow", away.removeprefix("away -python="))["outputs"]


def test_it_is_measured_beside_the_others(away: str, model: Path, tmp_path: Path) -> None:
    line = ("compile", model, "--target", f"reference, {away}", "--store", tmp_path / "r.sqlite", "--budget", 30)
    report = intarsia(*line, "-o", tmp_path / "model.intarsia")
    singles = {single["target"]: single for single in report["singles"]}
    assert singles["reference"]["latency_ms"]
    assert singles[away]["failure"]["reason"] == "away has no Softmax (Softmax_1)"
    assert report["search"]["measured"] > 1
