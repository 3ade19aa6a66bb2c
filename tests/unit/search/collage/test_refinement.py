"""Cells are split where engines' advantages differ within them, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from intarsia.search.collage.refinement import finer
from intarsia.search.thresholds import COLLAGE

ONE = (1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0)
TWO = (2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0, 2.0)
LEVELS = ((0, 4), (0, 2, 4, 6), tuple(range(8)))


def shares(*engines: Sequence[float]) -> Callable[[int, int], list[float]]:
    return lambda start, end: [sum(costs[start:end]) for costs in engines]


def test_the_cell_with_the_sick_segment_is_split_at_the_next_level() -> None:
    assert finer((0, 4), LEVELS, 8, shares(ONE, TWO), (), 15.0) == (0, 2, 4)
    assert finer((0, 2, 4), LEVELS, 8, shares(ONE, TWO), (), 15.0) == (0, 2, 3, 4)


def test_nothing_is_split_without_promise() -> None:
    assert finer((0, 4), LEVELS, 8, shares(ONE), (), 15.0) == (0, 4)
    assert finer((0, 2, 3, 4), LEVELS, 8, shares(ONE, TWO), (), 15.0) == (0, 2, 3, 4)


def test_beside_a_switch_the_border_is_looked_for() -> None:
    assert finer((0, 4), LEVELS, 8, shares(TWO), (4,), 15.0) == (0, 2, 4, 6)


@given(
    costs=st.lists(st.lists(st.integers(1, 99).map(float), min_size=12, max_size=12), min_size=1, max_size=3),
    transitions=st.sets(st.integers(1, 11)),
)
def test_it_ends_and_only_ever_adds(costs: list[list[float]], transitions: set[int]) -> None:
    levels = ((0, 6), tuple(range(0, 12, 3)), tuple(range(12)))
    stops: tuple[int, ...] = (0, 6)
    for _ in range(12):
        more = finer(stops, levels, 12, shares(*costs), transitions, 100.0)
        assert set(stops) <= set(more) <= set(range(12))
        assert sum(stop not in stops for stop in more) <= COLLAGE.splits * 6
        if more == stops:
            return
        stops = more
    raise AssertionError("it did not come to an end")
