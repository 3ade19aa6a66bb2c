"""A whole session as it goes, on the reference engine, which is always there: figures, versions and paths replaced.

``pytest tests/golden --regenerate`` writes it anew; read the diff.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import onnx
import pytest

from intarsia.runtime import this_machine
from tests.cli_fakes import invoke
from tests.unit.graph.models import two_layers

TRANSCRIPT = Path(__file__).parent / "session" / "reference.txt"
SETTINGS = "--target reference --threads 1 --store r.sqlite"
SESSION = (
    f"compile model.onnx {SETTINGS} --budget 20",
    "run model.intarsia --random",
    "verify model.intarsia --store r.sqlite",
    "export model.intarsia out",
    "tune --store r.sqlite --export team.jsonl --list",
    "tune --store r.sqlite --clear --import team.jsonl",
    "run model.intarsia --input y=y.npy",
    "verify out/model.onnx",
)
NOISE = re.compile(
    r"; the benchmark is void: [^\n]*|^the benchmark of these plans is void: [^\n]*\n|(?<= ms), [^;\n]* measured$",
    re.MULTILINE,
)
FIGURES = re.compile(r"\d{4}-\d\d-\d\d|-?\d+(\.\d+)*(e[-+]?\d+)?")


def anonymous(text: str, folder: Path) -> str:
    """Without what differs from machine to machine and from day to day."""
    text = text.replace(this_machine().cpu, "CPU").replace(f"{folder}{os.sep}", "")
    text = FIGURES.sub("#", NOISE.sub("", text))
    return "".join(f"{re.sub(' +', ' ', line).rstrip()}\n" for line in text.splitlines())


def test_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(two_layers(), tmp_path / "model.onnx")
    shown = []
    for command in SESSION:
        done = invoke(*shlex.split(command))
        shown.append(f"$ intarsia {command}\n{anonymous(done.output, tmp_path)}[exit {done.exit_code}]\n")
    transcript = "\n".join(shown)
    if pytestconfig.getoption("regenerate"):
        TRANSCRIPT.write_text(transcript, encoding="utf-8")
    assert TRANSCRIPT.read_text(encoding="utf-8") == transcript
