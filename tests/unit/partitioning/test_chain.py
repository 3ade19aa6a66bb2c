"""Merging neighbours: what is left covers the line, is few enough, and equal pairs go together."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.chain import Chain, Region
from intarsia.partitioning.linear import Cut


def chain(kinds: str, works: dict[str, float] | None = None, widths: dict[int, int] | None = None) -> Chain:
    """A chain with a stretch for each letter; equal letters are the same computation."""
    regions = [Region(work=(works or {}).get(kind, 1.0), by_character={}, likeness=kind) for kind in kinds]
    cuts = [
        Cut(position=place, crossing=("v",) * (widths or {}).get(place, 1), nbytes=4) for place in range(1, len(kinds))
    ]
    return Chain(regions, cuts)


def partitions(kinds: str, ends: list[int]) -> list[str]:
    return [kinds[start:end] for start, end in pairwise((0, *ends))]


@given(st.text("abcd", min_size=1, max_size=40), st.integers(1, 8), st.integers(1, 30))
def test_few_unlike_stretches_are_left_and_they_cover_the_line(kinds: str, unlike: int, more: int) -> None:
    most = unlike + more
    ends = chain(kinds, {"a": 1.0, "b": 7.0, "c": 40.0, "d": 300.0}).coalesced(unlike, most)
    found = partitions(kinds, ends)
    assert "".join(found) == kinds
    assert all(found)
    assert len(found) <= most
    assert len(set(found)) <= unlike


def test_what_repeats_stays_in_equal_partitions() -> None:
    kinds = "s" + "abc" * 8 + "h"
    found = partitions(kinds, chain(kinds).coalesced(unlike=4, most=30))
    assert len(set(found)) <= 4
    assert max(map(found.count, found)) >= 7


def test_a_narrow_boundary_is_kept_before_a_wide_one() -> None:
    assert partitions("abcd", chain("abcd", widths={1: 3, 2: 1, 3: 3}).coalesced(unlike=2, most=4)) == ["ab", "cd"]


def test_equal_neighbours_stay_apart_while_they_are_few_enough_in_all() -> None:
    assert partitions("xaaaay", chain("xaaaay").coalesced(unlike=3, most=6)) == list("xaaaay")
    assert partitions("xaaaay", chain("xaaaay").coalesced(unlike=3, most=4)) != list("xaaaay")
