"""Every figure in the README comes from a committed result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.road import RESULTS as ROAD
from benchmarks.suite import RESULTS as SUITE
from benchmarks.table import DEMO, README, networks, render
from tests.unit.benchmarks.made_up import entry, suite


def committed() -> tuple[dict[str, Any], dict[str, Any], str]:
    suite, road = (json.loads(file.read_text(encoding="utf-8")) for file in (SUITE, ROAD))
    return suite, road, DEMO.read_text(encoding="utf-8")


def test_the_readme_holds_the_committed_figures() -> None:
    readme = README.read_text(encoding="utf-8")
    assert render(readme, *committed()) == readme


def test_a_readme_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place marked"):
        render("# Intarsia", *committed())


def test_each_network_that_ran_has_a_row() -> None:
    mixed = entry(1.25, 1.6, engines=("mnn", "onnxruntime", "mnn"))
    _, _, first, second = networks(
        suite(mixed=mixed, noisy=entry(void=True), broken={"failed": "no engine"})
    ).splitlines()
    assert first == ("| mixed | 16 | 12 | 12.5 | - | - | 10 | 1.250 (1.244 to 1.256) | 1.60 | mnn → onnxruntime |")
    assert "(void)" in second
