"""Ideals and the convex sets between them: all of a small graph, of a larger one those of some orders and blocks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.ideals import Lattice, clustered, depth_first, lattice, units_in

DIAMOND = [{1, 2}, {3}, {3}, set()]


@st.composite
def graphs(draw: st.DrawFn) -> list[set[int]]:
    """For each unit those that read it."""
    count = draw(st.integers(1, 7))
    return [{reader for reader in range(unit + 1, count) if draw(st.booleans())} for unit in range(count)]


def sets_of(found: Lattice) -> set[int]:
    return {found.ideals[end] & ~found.ideals[start] for start, end in found.pairs}


def is_convex(after: list[set[int]], mask: int) -> bool:
    """Whether no path leaves the set and comes back."""
    reached = [0] * len(after)
    for unit in reversed(range(len(after))):
        for reader in after[unit]:
            reached[unit] |= reached[reader] | 1 << reader
    outside = [unit for unit in range(len(after)) if not mask >> unit & 1]
    return not any(
        reached[unit] >> middle & 1 and reached[middle] & mask for unit in units_in(mask) for middle in outside
    )


def every(after: list[set[int]]) -> Lattice:
    return lattice(after, [], most=10**6, most_local=0)


@given(graphs())
def test_the_differences_of_ideals_are_all_convex_sets(after: list[set[int]]) -> None:
    found = every(after)
    assert found.is_complete
    assert sets_of(found) == {mask for mask in range(1, 1 << len(after)) if is_convex(after, mask)}
    assert found.ideals[0] == 0
    assert found.ideals[-1] == (1 << len(after)) - 1


@given(graphs(), st.data())
def test_orders_keep_what_is_read_before_and_give_convex_runs(after: list[set[int]], data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.integers(0, 2), min_size=len(after), max_size=len(after)))
    orders = [depth_first(after), clustered(after, kinds, kinds[0])]
    for order in orders:
        assert sorted(order) == list(range(len(after)))
        assert all(order.index(unit) < order.index(reader) for unit, several in enumerate(after) for reader in several)
    found = lattice(after, orders, most=0, most_local=64)
    assert not found.is_complete
    assert all(is_convex(after, mask) for mask in sets_of(found))
    assert sorted(found.pairs, key=lambda pair: pair[1]) == list(found.pairs)


def test_branches_come_the_other_way_round() -> None:
    assert depth_first(DIAMOND) == [0, 2, 1, 3]


def test_an_order_stays_with_a_kind() -> None:
    """Two towers of two kinds each: the second one's first half joins that of the first."""
    towers = [{1}, {2}, set(), {4}, {5}, set()]
    assert clustered(towers, [0, 1, 1, 0, 1, 1], 0) == [0, 3, 1, 2, 4, 5]


def test_within_a_block_all_convex_sets_are_there() -> None:
    """Three diamonds in a row: the sides of one can go together, and no set of a few units of two diamonds."""
    after = [{1, 2}, {3}, {3}, {4, 5}, {6}, {6}, {7, 8}, {9}, {9}, set()]
    found = lattice(after, [list(range(10))], most=60, most_local=64)
    assert not found.is_complete
    assert {0b110, 0b100, 0b10, 0b110_000} <= sets_of(found)
    assert 0b101100 not in sets_of(found)
    assert lattice(after, [list(range(10))], most=10**4, most_local=64).is_complete


@pytest.mark.parametrize("count", [1, 4, 10])
def test_of_units_that_read_nothing_all_sets_are_convex(count: int) -> None:
    found = lattice([set() for _ in range(count)], [], most=60_000, most_local=0)
    assert found.is_complete
    assert len(found.pairs) == 3**count - 2**count
    assert sets_of(found) == set(range(1, 2**count))


def test_a_row_has_its_runs_alone() -> None:
    row = [{unit + 1} for unit in range(5)] + [set()]
    assert len(every(row).pairs) == len(list(itertools.combinations(range(7), 2)))
