"""Some of the texts that `benchmarks.spec_fuzz` reads by the million: each gives a value or a `SpecError`."""

from __future__ import annotations

from benchmarks.spec_fuzz import Figures, read_all, text_of

TEXTS = 4000


def test_any_text_gives_a_value_or_our_error() -> None:
    figures = Figures()
    read_all(range(TEXTS), figures)
    assert figures.texts == TEXTS
    assert 0.1 * TEXTS < figures.values < 0.9 * TEXTS  # texts that all are refused, or none, would show little


def test_a_text_follows_from_its_number() -> None:
    assert [text_of(number) for number in range(50)] == [text_of(number) for number in range(50)]
    assert len({text_of(number) for number in range(1000)}) > 800
