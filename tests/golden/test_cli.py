"""Transcripts of the command line: the command on the first line, then what it prints.

``pytest tests/golden --regenerate`` writes them anew; read the diff.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from intarsia.errors import BackendUnavailableError, SpecError
from tests.cli_fakes import Fakes, invoke

TRANSCRIPTS = Path(__file__).parent / "cli"
COMMANDS = {
    "help": "intarsia --help",
    "compile-help": "intarsia compile --help",
    "run-help": "intarsia run --help",
    "compare-help": "intarsia compare --help",
    "explain-help": "intarsia explain --help",
    "doctor-help": "intarsia doctor --help",
    "export-help": "intarsia export --help",
    "compile": "intarsia compile model.onnx",
    "compile-json": "intarsia compile model.onnx --json",
    "compare": "intarsia compare model.onnx",
    "explain": "intarsia explain model.intarsia",
    "explain-plan": "intarsia explain model.intarsia --plan",
    "run": "intarsia run model.intarsia --random --profile",
    "doctor": "intarsia doctor",
    "error-verb": "intarsia compil model.onnx",
    "error-option": "intarsia compile model.onnx --thread 2",
    "error-shape": "intarsia compile model.onnx --shape input=big",
    "error-no-model": "intarsia compile",
    "error-input": "intarsia run model.intarsia --input x=none.npy",
    "error-target": "intarsia compile model.onnx --target onnxruntim",
    "error-engine": "intarsia compile model.onnx --target mnn",
}
FAILURES = {
    "error-target": SpecError("no target kind 'onnxruntim'; did you mean 'onnxruntime'?\n  onnxruntim\n  ^"),
    "error-engine": BackendUnavailableError("mnn is not installed; pip install 'intarsia[mnn]'"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_transcript(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    fakes = Fakes()
    fakes.install(monkeypatch)
    fakes.failure = FAILURES.get(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.intarsia").touch()
    done = invoke(*shlex.split(COMMANDS[name])[1:])
    printed = "\n".join(line.rstrip() for line in done.output.splitlines())
    transcript = f"$ {COMMANDS[name]}\n{printed}\n[exit {done.exit_code}]\n"
    path = TRANSCRIPTS / f"{name}.txt"
    if pytestconfig.getoption("regenerate"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(transcript, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == transcript


def test_no_transcript_is_left_over() -> None:
    assert {path.stem for path in TRANSCRIPTS.iterdir()} == set(COMMANDS)
