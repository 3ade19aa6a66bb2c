"""Where the user's cache folder cannot be written to, all works all the same, and one remark says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.unit.graph.models import two_layers

REMARK = "measurements are kept in"
SETTINGS = ("--target", "reference", "--threads", "1", "--budget", "1", "-q")
SESSION = """
import logging
import sys

import numpy as np

import intarsia.onnxruntime as ort

logging.basicConfig()
session = ort.InferenceSession("model.onnx", target="reference", budget=1)
feeds = {each.name: np.zeros(each.shape, np.float32) for each in session.get_inputs()}
print(len(session.run(None, feeds)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(two_layers(), tmp_path / "model.onnx")
    (tmp_path / "no-cache").touch()
    (tmp_path / "temporary").mkdir()
    return tmp_path


def ran(folder: Path, *line: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "no-cache"), "TMPDIR": str(folder / "temporary")}
    return subprocess.run(
        [sys.executable, *line], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_every_verb_that_opens_the_store(folder: Path) -> None:
    for verb in (("compile", "model.onnx", *SETTINGS), ("verify", "model.intarsia"), ("tune", "--list")):
        done = ran(folder, "-m", "intarsia", *[word for word in verb if word != "-q"])
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(REMARK) == 1, done.stderr
    quiet = ran(folder, "-m", "intarsia", "compile", "model.onnx", *SETTINGS)
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_a_session(folder: Path) -> None:
    done = ran(folder, "-c", SESSION)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"
    assert done.stderr.count(REMARK) == 1, done.stderr
