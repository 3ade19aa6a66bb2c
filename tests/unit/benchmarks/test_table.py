"""Every figure in the README comes from a committed result."""

from __future__ import annotations

import json

import pytest

from benchmarks.road import RESULTS
from benchmarks.table import DEMO, README, render, suite_table
from tests.unit.benchmarks.made_up import entry, suite


def test_the_readme_holds_the_committed_figures() -> None:
    readme = README.read_text(encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert render(readme, results, DEMO.read_text(encoding="utf-8")) == readme


def test_a_readme_without_a_place_is_refused() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="no place marked"):
        render("# Intarsia", results, "")


def test_the_suite_has_a_row_for_each_network_that_ran() -> None:
    mixed = entry(1.25, 1.6, engines=("mnn", "onnxruntime", "mnn"))
    table = suite_table(suite(mixed=mixed, noisy=entry(void=True), broken={"failed": "no engine"}))
    _, _, first, second = table.splitlines()
    assert first == ("| mixed | 16 | 12 | 12.5 | - | - | 10 | 1.250 (1.244 to 1.256) | 1.60 | mnn → onnxruntime |")
    assert "(void)" in second
