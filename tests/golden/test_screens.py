"""What each verb shows on a terminal of 80 and of 120 columns, of reports that were recorded.

``pytest tests/golden --regenerate`` writes them anew; read the diff.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from intarsia.cli import console
from intarsia.report.comparison import Comparison
from tests import cli_fakes
from tests.cli_fakes import STORED, Fakes, invoke

SCREENS = Path(__file__).parent / "screens"
RECORDED = Path(__file__).parent / "screens" / "recorded.json"
"""A compile of SqueezeNet with reduced precision allowed, as it was, with names and options as long as real ones."""
WIDTHS = (80, 120)
COMMANDS = {
    "compile": "intarsia compile model.onnx",
    "compare": "intarsia compare model.onnx",
    "compare-verbose": "intarsia compare model.onnx --verbose",
    "explain": "intarsia explain recorded.intarsia",
    "explain-verbose": "intarsia explain recorded.intarsia --verbose",
    "explain-mix": "intarsia explain model.intarsia",
    "explain-rough": "intarsia explain rough.intarsia",
    "run": "intarsia run model.intarsia --random --profile",
    "bench": "intarsia bench model.intarsia alone.intarsia --against onnxruntime",
    "verify": "intarsia verify model.intarsia",
    "doctor": "intarsia doctor",
    "devices": "intarsia devices --verbose",
    "targets": "intarsia targets",
    "targets-kind": "intarsia targets onnxruntime",
    "targets-search": "intarsia targets raspberrypi4",
    "targets-tag": "intarsia targets nvidia/jetson-nano",
    "tune": "intarsia tune model.onnx alone.onnx --store r.sqlite",
    "config-show": "intarsia config show --target 'mnn, onnxruntime -optimization-level=all' --executor vm",
    "error-target": "intarsia compile model.onnx --target raspberrypi4",
    "error-option": "intarsia compile model.onnx --target 'onnxruntime -threads=0 --execution-mod=x, llvm'",
}


def recorded() -> dict[str, Any]:
    report: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_screen(
    name: str, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    Fakes().install(monkeypatch)
    monkeypatch.setitem(STORED, "recorded", recorded())
    monkeypatch.setattr(cli_fakes, "COMPARISON", Comparison(recorded()).json())
    monkeypatch.setattr(console, "screen_width", lambda _: width)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/user/.config")
    monkeypatch.chdir(tmp_path)
    for stem in ("model", *STORED):
        (tmp_path / f"{stem}.intarsia").touch()
    done = invoke(*shlex.split(COMMANDS[name])[1:])
    lines = [line.rstrip() for line in done.output.splitlines()]
    marked = {number for number, below in enumerate(lines[1:]) if set(below.strip()) == {console.MARK}}
    assert max(len(line) for number, line in enumerate(lines) if number not in marked) <= width
    screen = "\n".join([f"$ {COMMANDS[name]}", *lines, ""])
    path = SCREENS / f"{name}-{width}.txt"
    if pytestconfig.getoption("regenerate"):
        path.write_text(screen, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == screen


@pytest.mark.parametrize("name", COMMANDS)
def test_the_narrow_screen_says_all_that_the_wide_one_does(name: str) -> None:
    narrow, wide = (SCREENS.joinpath(f"{name}-{width}.txt").read_text(encoding="utf-8").split() for width in WIDTHS)
    assert set(wide) <= set(narrow)


def test_no_screen_is_left_over() -> None:
    assert {path.name for path in SCREENS.glob("*.txt")} == {f"{n}-{width}.txt" for n in COMMANDS for width in WIDTHS}
