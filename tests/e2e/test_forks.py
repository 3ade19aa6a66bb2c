"""What each engine does in a fork of a process that used it: the right answer, or an error at once, with the cure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.target import Target
from tests.e2e.conftest import ROOT
from tests.e2e.plan_forms import engines

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PATIENCE_S = 580.0
REFUSED = "BackendUnavailableError: "
CURE = "load the model after the fork"


def outcomes(form: str, folder: Path) -> dict[str, str]:
    line = [sys.executable, "-m", "tests.e2e.forking", form, str(folder)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("engine", engines())
def test_a_fork_answers_rightly_or_is_told_at_once(engine: str, tmp_path: Path) -> None:
    found = outcomes(engine, tmp_path)
    assert found["parent"] == found["unused"] == found["closed"] == "right"
    for act in ("same", "fresh"):
        if registry.get(engine).fork_fault_on(Target(engine)) is None:
            assert found[act] == "right"
        else:
            assert found[act].startswith(f"{REFUSED}{engine} cannot be used here")
            assert CURE in found[act]


@pytest.mark.parametrize(
    "form",
    [
        "mix",
        "pipeline",
        "away",
        *(pytest.param(each, marks=pytest.mark.large) for each in ("embedded", "branches", "sizes")),
    ],
)
def test_so_does_every_form_of_a_plan(form: str, tmp_path: Path) -> None:
    if not {"onnxruntime", "openvino", "mnn", "ncnn"} <= set(engines()):
        pytest.skip("not all of their engines are here")
    found = outcomes(form, tmp_path)
    assert found["parent"] == found["unused"] == found["closed"] == "right"
    for act in ("same", "fresh"):
        if form in ("mix", "embedded", "branches", "pipeline"):
            assert found[act].startswith(REFUSED)
            assert CURE in found[act]
        else:
            assert found[act] == "right"
