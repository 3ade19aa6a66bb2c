"""Transcripts of the command line: the command on the first line, then what it prints.

``pytest tests/golden --regenerate`` writes them anew; read the diff.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from intarsia.errors import BackendUnavailableError
from tests.cli_fakes import STORED, Fakes, invoke

TRANSCRIPTS = Path(__file__).parent / "cli"
COMMANDS = {
    "help": "intarsia --help",
    "compile-help": "intarsia compile --help",
    "run-help": "intarsia run --help",
    "serve-help": "intarsia serve --help",
    "deploy-help": "intarsia deploy --help",
    "compare-help": "intarsia compare --help",
    "explain-help": "intarsia explain --help",
    "targets-help": "intarsia targets --help",
    "config-help": "intarsia config --help",
    "config-show-help": "intarsia config show --help",
    "doctor-help": "intarsia doctor --help",
    "devices-help": "intarsia devices --help",
    "tune-help": "intarsia tune --help",
    "verify-help": "intarsia verify --help",
    "bench-help": "intarsia bench --help",
    "export-help": "intarsia export --help",
    "report-help": "intarsia report --help",
    "worker-help": "intarsia worker --help",
    "report": "intarsia report model.intarsia -o page.html",
    "compile": "intarsia compile model.onnx",
    "compile-json": "intarsia compile model.onnx --json",
    "compare": "intarsia compare model.onnx",
    "explain": "intarsia explain model.intarsia",
    "explain-verbose": "intarsia explain model.intarsia --verbose",
    "explain-alone": "intarsia explain alone.intarsia",
    "explain-throughput": "intarsia explain throughput.intarsia",
    "explain-reduced": "intarsia explain reduced_precision.intarsia",
    "explain-old": "intarsia explain old.intarsia",
    "explain-plan": "intarsia explain model.intarsia --plan",
    "run": "intarsia run model.intarsia --random --profile",
    "doctor": "intarsia doctor",
    "tune": "intarsia tune model.onnx alone.onnx --store r.sqlite --export team.jsonl",
    "verify": "intarsia verify model.intarsia",
    "verify-right": "intarsia verify model.intarsia --seed 2",
    "bench": "intarsia bench model.intarsia alone.intarsia --against onnxruntime",
    "devices": "intarsia devices --verbose",
    "devices-json": "intarsia devices --json",
    "targets": "intarsia targets",
    "targets-kind": "intarsia targets cuda",
    "targets-search": "intarsia targets 'nvidia/jetson-n*'",
    "targets-word": "intarsia targets rasp4b",
    "targets-tag": "intarsia targets 'aws/cpu/c5.4xlarge -threads=4'",
    "targets-config": "intarsia targets nvidia/jetson-nano:cuda",
    "targets-json": "intarsia targets 'mnn -precision=low' --json",
    "config-show": "intarsia config show --config board.yaml --target-llvm-threads=2 --set targets[1].arch=sm_72",
    "config-show-target": "intarsia config show --config board.yaml --target 'acl, llvm mattr=+neon' --executor vm",
    "config-show-json": "intarsia config show --target mnn --json",
    "error-verb": "intarsia compil model.onnx",
    "error-option": "intarsia compile model.onnx --thread 2",
    "error-shape": "intarsia compile model.onnx --shape input=big",
    "error-no-model": "intarsia compile",
    "error-input": "intarsia run model.intarsia --input x=none.npy",
    "error-target": "intarsia compile model.onnx --target onnxruntim",
    "error-engine": "intarsia compile model.onnx --target mnn",
    "error-target-option": "intarsia compile model.onnx --target 'onnxruntime -threads=0 --execution-mod=x, llvm'",
    "error-flag": "intarsia compile model.onnx --target-llvm-mcp=haswell",
    "error-flag-value": "intarsia compile model.onnx --target-llvm-num-cores=four",
    "error-flag-kind": "intarsia compile model.onnx --target mnn --target-llvm-mcpu=haswell",
    "error-path": "intarsia compile model.onnx --set targets[0].mpcu=haswell",
    "error-config": "intarsia compile model.onnx --config bored.yaml",
    "error-setting": "intarsia compile model.onnx --config setting.json",
    "error-machine": "intarsia compile model.onnx --target mnn --executor cuda-graph",
    "error-records": "intarsia tune --store r.sqlite --import setting.json",
    "error-search": "intarsia targets gpuu",
}
BOARD = """\
targets:
- tensorrt -use_fp16
- tag: nvidia/jetson-nano
- llvm -mcpu=cortex-a57
executor: {kind: graph, link-params: true}
budget: 20
"""
FAILURES = {
    "error-engine": BackendUnavailableError("mnn is not installed; pip install 'intarsia[mnn]'"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_transcript(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    fakes = Fakes()
    fakes.install(monkeypatch)
    fakes.failure = FAILURES.get(name)
    if name == "verify-right":
        fakes.right()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/user/.config")
    for stem in ("model", *STORED):
        (tmp_path / f"{stem}.intarsia").touch()
    (tmp_path / "board.yaml").write_text(BOARD)
    (tmp_path / "setting.json").write_text('{"targets": ["mnn"], "budgett": 3}')
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
