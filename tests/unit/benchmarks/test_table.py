"""Every figure in the README comes from a committed result."""

from __future__ import annotations

import json

import pytest

from benchmarks.road import RESULTS
from benchmarks.table import DEMO, README, render


def test_the_readme_holds_the_committed_figures() -> None:
    readme = README.read_text(encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert render(readme, results, DEMO.read_text(encoding="utf-8")) == readme


def test_a_readme_without_a_place_is_refused() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="no place marked"):
        render("# Intarsia", results, "")
