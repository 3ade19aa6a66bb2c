"""The figures of a fuzzing run, and how it ends when a reader fails."""

from __future__ import annotations

import pytest

from benchmarks.spec_fuzz import Figures, read_all


def test_another_exception_is_told_with_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> object:
        raise KeyError(text)

    monkeypatch.setattr("benchmarks.spec_fuzz.text_of", lambda number: (fail, "x"))
    with pytest.raises(RuntimeError, match="text 3, 'x': KeyError"):
        read_all(range(3, 4), Figures())


def test_figures_are_counted_and_ranked() -> None:
    figures = Figures()
    for number, microseconds in enumerate((10, 10, 10, 2000)):
        figures.note(number, microseconds * 1e-6, is_value=number == 0)
    assert figures.export()["values"] == 1
    assert (figures.export()["median_us"], figures.export()["worst_text"]) == (10.0, 3)
    assert figures.quantile_us(0.99) == pytest.approx(2000, rel=0.02)
