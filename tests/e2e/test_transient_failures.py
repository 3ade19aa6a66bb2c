"""What the machine did to an engine is told and forgotten: the next compile on the same store uses it again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from intarsia.cost.records.store import Store
from tests.e2e.conftest import ROOT, Run, command
from tests.unit.graph.models import two_layers

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MOODY = ROOT / "tests" / "moody_engine"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(two_layers().SerializeToString())
    return path


def compiled(model: Path, targets: str) -> Run:
    """A compile on the store beside the model, in the mood that is written there."""
    folder = model.parent
    arguments = ("--target", targets, "--budget", 120, "--store", folder / "r.sqlite", "-o", folder / "m.intarsia")
    line, environment = command("compile", model, *arguments, "--json")
    path = os.pathsep.join((environment["PYTHONPATH"], str(MOODY)))
    environment = {**environment, "PYTHONPATH": path, "MOOD": str(folder / "mood")}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    return Run(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.mark.parametrize(
    ("mood", "cause"), [("killed", "killed"), ("full", "no space"), ("short of memory", "no memory")]
)
def test_an_engine_that_the_machine_stopped_takes_part_the_next_time(model: Path, mood: str, cause: str) -> None:
    (model.parent / "mood").write_text(mood)
    first = compiled(model, "onnxruntime, moody").json()
    singles = {single["target"]: single for single in first["singles"]}
    assert singles["moody"]["failure"]["cause"] == cause
    assert {(each["target"], each["cause"]) for each in first["left_out"]} == {("moody", cause)}
    (remark,) = [each for each in first["remarks"] if each.startswith("moody failed at ")]
    assert "by no fault of its own" in remark
    assert remark.endswith("that is not kept, and the next compile tries it again")
    kept = Store(model.parent / "r.sqlite").records().records
    assert all(
        "moody" not in str(each.outcome) for each in kept if each.kind in ("partition", "paired_benchmark", "search")
    )

    (model.parent / "mood").unlink()
    second = compiled(model, "onnxruntime, moody").json()
    singles = {single["target"]: single for single in second["singles"]}
    assert singles["moody"]["latency_ms"] > 0
    assert second["left_out"] == []


def test_where_it_was_the_only_engine_the_error_says_so_and_the_same_command_works_later(model: Path) -> None:
    (model.parent / "mood").write_text("killed")
    failed = compiled(model, "moody")
    assert failed.code == 4
    assert "it may work the next time, so nothing of it was kept" in failed.err
    (model.parent / "mood").unlink()
    assert compiled(model, "moody").json()["chosen"] == "moody"
