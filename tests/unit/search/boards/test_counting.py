from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intarsia.search.boards.counting import _halves, _rounds

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
