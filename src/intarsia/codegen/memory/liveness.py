"""When each byte between two calls holds something: what may share an address, and what may not.

A value is cut into extents wherever a call touches only a part of it, as a part of a concatenation: each extent is
alive from the first call that touches it to the last. Two values conflict at those distances of their addresses at
which two extents that are alive at one time would share a byte. What a call may do in place (`Overlap`) is no conflict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from intarsia.codegen.memory.accesses import Access, accesses_of, ahead_of, most_shared
from intarsia.codegen.module import SourceModule

Key = str | int
"""A buffer of the module by name, or the scratch memory of a call by the call's number."""
Interval = tuple[int, int]
"""What lies between two numbers, neither of them included."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of a value that are alive together.

    Attributes:
        start: The first byte, from the start of the value.
        stop: The byte behind the last.
        first: Number of the call that touches them first.
        last: Number of the call that touches them last.
    """

    start: int
    stop: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Item:
    """What gets an address: a buffer with everything that lies inside of it, or scratch memory.

    Attributes:
        key: See `Key`.
        size: Bytes.
        extents: Of those bytes that any call touches, in the order of addresses.
    """

    key: Key
    size: int
    extents: tuple[Extent, ...]

    @property
    def first(self) -> int:
        """Number of the call that touches it first."""
        return min(extent.first for extent in self.extents)

    @property
    def last(self) -> int:
        """Number of the call that touches it last."""
        return max(extent.last for extent in self.extents)


class Liveness:
    """The items of a module, in the order in which its calls stand."""

    def __init__(self, module: SourceModule) -> None:
        self.module = module
        self._accesses = [tuple(accesses_of(module, call)) for call in module.calls]

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """All that needs an address; what no call touches needs none."""
        touched: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for number, accesses in enumerate(self._accesses):
            for access in (each for each in accesses if each.root in self.module.buffers):
                touched[access.root].append((access.start, access.stop, number))
        made = [Item(name, self.module.buffers[name].size, _extents(rows)) for name, rows in touched.items()]
        scratch = [(number, call.scratch) for number, call in enumerate(self.module.calls) if call.scratch]
        return (
            *(item for item in made if item.extents),
            *(Item(number, size, (Extent(0, size, number, number),)) for number, size in scratch),
        )

    @cached_property
    def conflicts(self) -> Mapping[Key, Mapping[Key, tuple[Interval, ...]]]:
        """For each item, and each other one: differences of the other's address to its own that are not allowed."""
        found: dict[Key, dict[Key, tuple[Interval, ...]]] = {item.key: {} for item in self.items}
        for place, one in enumerate(self.items):
            for other in self.items[place + 1 :]:
                if one.first > other.last or other.first > one.last:
                    continue
                barred = _joined(self._barred(one, other))
                if barred:
                    found[one.key][other.key] = barred
                    found[other.key][one.key] = tuple((-high, -low) for low, high in reversed(barred))
        return found

    def lower_bound(self, only: Collection[Key] | None = None) -> int:
        """Bytes without which no arena can do: the most that is alive at one call, less what may be in place.

        Args:
            only: The items that lie in the arena; all if left out.
        """
        alive = self.alive(only)
        return max((alive[number] - self._saved(number) for number in range(len(alive))), default=0)

    def alive(self, only: Collection[Key] | None = None) -> list[int]:
        """Bytes of these items that are alive during each call, nothing in place."""
        change = [0] * (len(self.module.calls) + 1)
        for item in self.items:
            if only is not None and item.key not in only:
                continue
            for extent in item.extents:
                change[extent.first] += extent.stop - extent.start
                change[extent.last + 1] -= extent.stop - extent.start
        total, found = 0, []
        for each in change[:-1]:
            total += each
            found.append(total)
        return found

    @cached_property
    def _by_key(self) -> Mapping[Key, Item]:
        return {item.key: item for item in self.items}

    def _saved(self, number: int) -> int:
        """The most bytes that what a call writes can share with what it reads."""
        total = 0
        inner = [each for each in self._accesses[number] if each.root in self._by_key]
        for write in (each for each in inner if each.is_write):
            born = _bytes(self._by_key[write.root], write, first=number)
            shared = 0
            for read in dict.fromkeys(each for each in inner if not each.is_write):
                ahead = ahead_of(self.module.calls[number], write, read)
                if read.root != write.root and ahead is not None:
                    dying = _bytes(self._by_key[read.root], read, last=number)
                    shared += min(dying, most_shared(write.stop - write.start, read.stop - read.start, ahead))
            total += min(born, shared)
        return total

    def _barred(self, one: Item, other: Item) -> Iterator[Interval]:
        for a in one.extents:
            for b in other.extents:
                if a.first > b.last or b.first > a.last:
                    continue
                low, high = a.start - b.stop, a.stop - b.start
                if a.first == b.last:
                    least = self._least(a.first, one, a, other, b)
                    yield from [(low, high)] if least is None else [(low, min(high, least))]
                elif b.first == a.last:
                    least = self._least(b.first, other, b, one, a)
                    yield from [(low, high)] if least is None else [(max(low, -least), high)]
                else:
                    yield (low, high)

    def _least(self, number: int, written: Item, born: Extent, read: Item, dying: Extent) -> int | None:
        """From which difference on, reader's address less writer's, a call works in place; ``None``: nowhere."""
        here = self._accesses[number]
        at_born = [each for each in here if each.root == written.key and each.holds(born.start, born.stop)]
        at_dying = [each for each in here if each.root == read.key and each.holds(dying.start, dying.stop)]
        if not at_born or not at_dying:
            return None
        least = None
        for write in at_born:
            for access in at_dying:
                ahead = ahead_of(self.module.calls[number], write, access)
                if ahead is None:
                    return None
                distance = write.start - access.start + ahead
                least = distance if least is None else max(least, distance)
        return least


def _extents(touched: Sequence[tuple[int, int, int]]) -> tuple[Extent, ...]:
    """Cut where an access begins or ends; neighbours that live as long are one."""
    edges = sorted({edge for start, stop, _ in touched for edge in (start, stop)})
    found: list[Extent] = []
    for start, stop in pairwise(edges):
        calls = [number for begin, end, number in touched if begin <= start and stop <= end]
        if not calls:
            continue
        first, last = min(calls), max(calls)
        before = found[-1] if found else None
        if before and (before.stop, before.first, before.last) == (start, first, last):
            found[-1] = Extent(before.start, stop, first, last)
        else:
            found.append(Extent(start, stop, first, last))
    return tuple(found)


def _bytes(item: Item, access: Access, first: int | None = None, last: int | None = None) -> int:
    """Bytes of an access whose life begins, or ends, with a call."""
    return sum(
        extent.stop - extent.start
        for extent in item.extents
        if access.holds(extent.start, extent.stop) and first in (None, extent.first) and last in (None, extent.last)
    )


def _joined(intervals: Iterator[Interval]) -> tuple[Interval, ...]:
    """Empty ones left out, overlapping ones as one; two that only touch leave the point between them allowed."""
    found: list[Interval] = []
    for low, high in sorted(each for each in intervals if each[0] + 1 < each[1]):
        if found and low < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)
