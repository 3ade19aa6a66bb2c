"""Sets that grow together, against sets of Python."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intarsia.disjoint_sets import DisjointSets

COUNT = 12
PAIRS = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)))


@given(PAIRS)
def test_things_are_together_exactly_where_pairs_joined_them(pairs: list[tuple[int, int]]) -> None:
    sets = DisjointSets(COUNT)
    expected = [{thing} for thing in range(COUNT)]
    for one, other in pairs:
        sets.merge(sets.find(one), sets.find(other))
        union = expected[one] | expected[other]
        for thing in union:
            expected[thing] = union
    found = sets.representatives()
    assert [{other for other in range(COUNT) if found[other] == found[thing]} for thing in range(COUNT)] == expected


def test_the_first_stands_for_both() -> None:
    sets = DisjointSets(3)
    sets.merge(2, 0)
    assert sets.representatives() == [2, 1, 2]
