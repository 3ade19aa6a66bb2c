"""Starts are held against the best engine's own in the same round, and the control against its own engine."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.cold_start import CONTROL, ENGINES, PAGE, RESULTS, START, ratios, started, table
from benchmarks.install_sizes import render


def _rounds(*values: float) -> list[dict[str, float]]:
    return [{"wall_ms": value, "cpu_ms": value / 2, "peak_mb": 10.0} for value in values]


def test_a_ratio_is_the_median_over_rounds_against_the_best_engine() -> None:
    first, second = ENGINES
    starts = {
        first: _rounds(300, 300, 300),
        second: _rounds(100, 200, 100),
        CONTROL: _rounds(330, 330, 330),
        "ours": _rounds(110, 220, 150),
    }
    found = ratios(starts)
    assert found["ours"]["wall_ms"] == found["ours"]["cpu_ms"] == 1.1
    assert found[second]["wall_ms"] == 1
    assert found[CONTROL]["wall_ms"] == 1.1


def test_a_start_is_measured_in_a_process_of_its_own() -> None:
    found = started("import time", Path("no.onnx"), 1)
    assert found["wall_ms"] > 0
    assert found["peak_mb"] > 1


def test_the_page_holds_the_committed_figures() -> None:
    results, text = json.loads(RESULTS.read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    assert text.count(START) == 1
    assert render(text, {START: table(results)}) == text
