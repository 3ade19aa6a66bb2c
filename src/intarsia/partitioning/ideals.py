"""Every order in which a graph of units can be covered, and the convex sets of units that such covers are made of.

An *ideal* is a set of units that holds all that its units read: what a cover has done at some point. The difference of
two ideals, one within the other, is convex, and every convex set is such a difference (Davey and Priestley,
"Introduction to Lattices and Order", 2002, chapter 1). Sets of units are whole numbers whose bit ``n`` stands for unit
``n``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

MOST_IDEALS = 2048
"""More ideals than this are not all listed: ten units of which none reads another have 1024."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """Ideals, and the pairs of them between which a partition may lie.

    Attributes:
        ideals: By size; the first is empty, the last holds all units.
        pairs: Numbers of two ideals, the first within the second, by the second.
        is_complete: Whether it has all ideals and all pairs, so that each convex set is there.
    """

    ideals: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    is_complete: bool


def lattice(after: Sequence[set[int]], orders: Iterable[Sequence[int]], *, most: int, most_local: int) -> Lattice:
    """All convex sets if there are few; else the runs of some orders, and all convex sets within each small block.

    A block lies between two units that every other unit comes before or after, such as a fork and its join.

    Args:
        after: For each unit those that read it; no cycle.
        orders: Orders of all units, each unit after what it reads.
        most: Pairs of ideals at which all of them are too many.
        most_local: Ideals of one block at which these are too many.
    """
    before = _before(after)
    everything = (1 << len(after)) - 1
    every = _ideals(before, 0, everything, MOST_IDEALS)
    if every is not None:
        pairs = _nested(every, most)
        if pairs is not None:
            return _numbered(pairs, is_complete=True)
    found: set[tuple[int, int]] = set()
    for order in orders:
        found.update(combinations(_prefixes(order), 2))
    for start, block in _blocks(after, before):
        local = _ideals(before, start, block, most_local)
        found.update((local and _nested(local, most)) or ())
    return _numbered(found, is_complete=False)


def depth_first(after: Sequence[set[int]]) -> list[int]:
    """The order in which branches come last first: a walk from each last unit to what it reads, by falling number."""
    before = _before(after)
    seen = 0
    order = []
    for sink in reversed([unit for unit, readers in enumerate(after) if not readers]):
        path = [sink]
        while path:
            waits = before[path[-1]] & ~seen
            if waits:
                path.append(waits.bit_length() - 1)
                continue
            unit = path.pop()
            if not seen >> unit & 1:
                seen |= 1 << unit
                order.append(unit)
    return order


def clustered(after: Sequence[set[int]], kinds: Sequence[int], first: int) -> list[int]:
    """An order that stays with units of one kind as long as one of them can be next, to begin with the ``first``."""
    before = _before(after)
    done, kind = 0, first
    left = set(range(len(after)))
    order: list[int] = []
    while left:
        ready = sorted(unit for unit in left if not before[unit] & ~done)
        unit = next((unit for unit in ready if kinds[unit] == kind), ready[0])
        kind = kinds[unit]
        done |= 1 << unit
        left.remove(unit)
        order.append(unit)
    return order


def units_in(mask: int) -> Iterator[int]:
    """The numbers of the units of a set, rising."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _before(after: Sequence[set[int]]) -> list[int]:
    """For each unit the set of those that it reads."""
    before = [0] * len(after)
    for unit, readers in enumerate(after):
        for reader in readers:
            before[reader] |= 1 << unit
    return before


def _ideals(before: Sequence[int], start: int, units: int, most: int) -> list[int] | None:
    """The ideal ``start`` with each ideal of further units, by size; ``None`` if there are more than ``most``."""
    found = [start]
    layer = {start}
    while layer:
        layer = {
            ideal | 1 << unit
            for ideal in layer
            for unit in units_in(units & ~ideal)
            if not before[unit] & ~ideal  # all that it reads is there
        }
        found += sorted(layer)
        if len(found) > most:
            return None
    return found


def _nested(ideals: Sequence[int], most: int) -> list[tuple[int, int]] | None:
    """The pairs of which the first lies within the second; ``None`` if there are more than ``most``."""
    found = []
    for inner, outer in combinations(ideals, 2):
        if not inner & ~outer:
            found.append((inner, outer))
            if len(found) > most:
                return None
    return found


def _prefixes(order: Sequence[int]) -> list[int]:
    prefixes = [0]
    for unit in order:
        prefixes.append(prefixes[-1] | 1 << unit)
    return prefixes


def _blocks(after: Sequence[set[int]], before: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For each block, all units before it, and its own; units are numbered in an order of the graph."""
    count = len(after)
    everything = (1 << count) - 1
    ancestors = _reached(range(count), lambda unit: units_in(before[unit]), count)
    descendants = _reached(reversed(range(count)), lambda unit: iter(after[unit]), count)
    single = [unit for unit in range(count) if ancestors[unit] | descendants[unit] | 1 << unit == everything]
    bounds = [(0, 0), *((ancestors[unit], ancestors[unit] | 1 << unit) for unit in single), (everything, everything)]
    for (_, start), (end, _) in pairwise(bounds):
        if end & ~start:
            yield start, end & ~start


def _reached(units: Iterable[int], nearest: Callable[[int], Iterable[int]], count: int) -> list[int]:
    reached = [0] * count
    for unit in units:
        for other in nearest(unit):
            reached[unit] |= reached[other] | 1 << other
    return reached


def _numbered(pairs: Iterable[tuple[int, int]], *, is_complete: bool) -> Lattice:
    several = sorted(set(pairs))
    ideals = sorted({ideal for pair in several for ideal in pair}, key=lambda ideal: (ideal.bit_count(), ideal))
    number = {ideal: place for place, ideal in enumerate(ideals)}
    numbered = sorted(((number[outer], number[inner]) for inner, outer in several))
    return Lattice(
        ideals=tuple(ideals), pairs=tuple((inner, outer) for outer, inner in numbered), is_complete=is_complete
    )
