from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.search.boards.counting import MOST_STEPS, _difference, _halves, _rounds

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), unique=True, max_size=25)


@given(pairs=PAIRS)
def test_rounds_hold_each_pair_once_and_are_as_few_as_can_be(pairs: list[tuple[int, int]]) -> None:
    rounds = _rounds(pairs)
    assert sorted(pair for each in rounds for pair in each.items()) == sorted(pairs)
    most = max((sum(place == other for other, _ in pairs) for place, _ in pairs), default=0)
    assert len(rounds) == most


@given(pairs=PAIRS.filter(lambda pairs: len(dict(pairs)) > 1))
def test_halves_are_smaller_and_lose_nothing(pairs: list[tuple[int, int]]) -> None:
    trial = dict(pairs)
    first, second = _halves(trial)
    assert first
    assert second
    assert first | second == trial
    assert not first.keys() & second.keys()


@pytest.mark.parametrize(
    ("found", "right", "fits"),
    [
        (np.array([1, 2, 3], np.int8), np.array([1, 2, 3], np.int8), True),
        (np.array([1 + MOST_STEPS, 2], np.int8), np.array([1, 2], np.int8), True),
        (np.array([2 + MOST_STEPS, 2], np.int8), np.array([1, 2], np.int8), False),
        (np.array([104, 0], np.int16), np.array([100, 0], np.int16), True),
        (np.array([120, 0], np.int16), np.array([100, 0], np.int16), False),
        (np.array([1.04, 0.0]), np.array([1.0, 0.0]), True),
        (np.array([1.2, 0.0]), np.array([1.0, 0.0]), False),
        (np.array([np.nan, 0.0]), np.array([1.0, 0.0]), False),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), True),
        (np.array([np.inf, 0.0]), np.array([1.0, 0.0]), False),
        (np.zeros(0), np.zeros(0), True),
        (np.full(3, 0.5), np.full(3, 0.6), False),
    ],
)
def test_how_much_results_may_differ(found: np.ndarray, right: np.ndarray, *, fits: bool) -> None:
    error, most = _difference(found, right)
    assert (error <= most) is fits
