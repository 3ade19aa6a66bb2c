"""Gives items addresses one after the other, each the lowest that is free; the order decides how much that needs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from intarsia.codegen.memory.liveness import Interval, Item, Key

Conflicts = Mapping[Key, Mapping[Key, tuple[Interval, ...]]]
Offsets = Mapping[Key, int]
NEAR = 1.005
"""Of the lower bound: what is left to gain is mostly what alignment takes."""


def lowest(key: Key, placed: Offsets, conflicts: Conflicts, alignment: int) -> int:
    """The lowest aligned address at which an item conflicts with nothing that has one."""
    barred = sorted(
        (placed[other] - high, placed[other] - low)
        for other, intervals in conflicts[key].items()
        if other in placed
        for low, high in intervals
    )
    offset = 0
    for low, high in barred:
        if low < offset < high:
            offset = -(-high // alignment) * alignment
    return offset


def in_order(
    items: Sequence[Item], conflicts: Conflicts, alignment: int, known: Offsets | None = None
) -> dict[Key, int]:
    """Addresses of all items, placed in this order behind those that are known already."""
    placed: dict[Key, int] = {} if known is None else dict(known)
    for item in items:
        if item.key not in placed:
            placed[item.key] = lowest(item.key, placed, conflicts, alignment)
    return placed


def height(items: Sequence[Item], placed: Offsets) -> int:
    """Bytes up to the end of the highest item."""
    return max((placed[item.key] + item.size for item in items if item.key in placed), default=0)


def orders(items: Sequence[Item], alive: Sequence[int]) -> Iterator[list[Item]]:
    """Orders that are often good: by size, by life, by both, by time, and around the calls that need most."""
    yield sorted(items, key=lambda each: (-each.size, each.first))
    yield sorted(items, key=lambda each: (-(each.last - each.first), -each.size))
    yield sorted(items, key=lambda each: (-each.size * (each.last - each.first + 1), each.first))
    yield sorted(items, key=lambda each: (each.first, -each.size))
    yield sorted(items, key=lambda each: (-each.last, -each.size))
    busiest = sorted(range(len(alive)), key=lambda number: (-alive[number], number))
    rank = {number: place for place, number in enumerate(busiest)}

    def pressed(item: Item) -> int:
        return min(rank[number] for number in range(item.first, item.last + 1))

    yield sorted(items, key=lambda each: (pressed(each), -each.size, each.first))
    yield sorted(items, key=lambda each: (pressed(each), each.first, -each.size))
    yield sorted(items, key=lambda each: (pressed(each), -each.last, -each.size))


def climb(
    items: list[Item], conflicts: Conflicts, alignment: int, floor: int, tries: int, seed: int
) -> tuple[int, dict[Key, int]]:
    """An order improved by small changes, each kept unless more lies above ``floor``.

    It ends at the floor, or when ``tries`` changes in a row were for nothing; near the floor earlier.
    """
    chance = random.Random(seed)
    order, placed = items, in_order(items, conflicts, alignment)
    size, best, above = height(order, placed), placed, _above(order, placed, floor)
    vain = 0
    while size > floor and len(order) > 1 and vain < (tries if size > NEAR * floor else tries // 8):
        vain += 1
        first, changed = _changed(order, placed, conflicts, floor, chance)
        known = {item.key: placed[item.key] for item in changed[:first]}
        found = in_order(changed, conflicts, alignment, known)
        left = _above(changed, found, floor)
        if left <= above:
            vain = 0 if left < above else vain
            order, placed, above = changed, found, left
            if (top := height(order, placed)) < size:
                size, best = top, placed
    return size, best


def _above(items: Sequence[Item], placed: Offsets, floor: int) -> int:
    """Bytes by which all items together reach above the floor."""
    return sum(max(0, placed[item.key] + item.size - floor) for item in items)


def _changed(
    order: list[Item], placed: Offsets, conflicts: Conflicts, floor: int, chance: random.Random
) -> tuple[int, list[Item]]:
    """The order with an item moved ahead, and from which place on it differs.

    In most cases it is one that reaches above the floor, and is moved in front of one that is in its way.
    """
    changed = list(order)
    high = [place for place, item in enumerate(order) if placed[item.key] + item.size > floor]
    source = chance.choice(high) if high and chance.random() < 0.75 else chance.randrange(len(order))
    in_the_way = [place for place in range(source) if order[place].key in conflicts[order[source].key]]
    to = chance.choice(in_the_way) if in_the_way and chance.random() < 0.8 else chance.randrange(len(order))
    changed.insert(to, changed.pop(source))
    return min(source, to), changed
