"""Merges neighbouring regions of a line of nodes until few different ones are left; equal pairs merge together.

It knows nothing of graphs: `intarsia.partitioning.segments` says how regions compare and what crosses between them.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.partitioning.linear import Cut

CHANGE_WEIGHT = 32.0
"""How many times more a boundary between unlike segments is worth."""
WIDEST = 4
"""More crossing values than this make a boundary no worse, so that wide graphs are divided evenly too."""
SMALL = 16.0
"""A boundary is kept for its worth alone if the regions on its two sides have a quarter of the mean work each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A run of consecutive nodes.

    Attributes:
        work: How much they have to do, above 0.
        by_character: Work of each kind of kernel.
        likeness: Equal for regions that compute the same.
    """

    work: float
    by_character: Mapping[str, float]
    likeness: Hashable


class Chain:
    """Merges the two neighbours whose boundary is worth least, and all pairs equal to them, again and again.

    A boundary is worth the product of the work on its two sides, by which merging them raises the sum of squares
    (Ward's measure of balance, 1963); times `CHANGE_WEIGHT` if the sides differ in character; over the square of the
    number of values that cross it, counted up to `WIDEST`. Merging equal pairs together is Re-Pair (Larsson and
    Moffat, "Offline Dictionary-Based Compression", 1999), which finds what a network repeats.
    """

    def __init__(self, regions: Sequence[Region], boundaries: Sequence[Cut]) -> None:
        count = len(regions)
        numbers: dict[Hashable, int] = {}
        self._kind: list[int] = [numbers.setdefault(region.likeness, len(numbers)) for region in regions]
        self._numbers = numbers
        self._alike = Counter(self._kind)
        self._work = [region.work for region in regions]
        self._by_character = [dict(region.by_character) for region in regions]
        self._cut = list(boundaries)
        self._end = list(range(1, count + 1))
        self._next: list[int] = [*range(1, count), -1]
        self._previous = list(range(-1, count - 1))
        self._pairs: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        self._heap: list[tuple[float, int, int]] = []
        for region in range(count - 1):
            self._link(region)

    def coalesced(self, unlike: int, most: int) -> list[int]:
        """For each region that is left, how many of the original regions lie before its end.

        Merges until at most ``unlike`` different regions and ``most`` in all are left, and then goes on at boundaries
        that have a small region on a side.
        """
        left = len(self._end)
        small = (sum(self._work) / unlike) ** 2 / SMALL
        while self._heap:
            weighed = heapq.heappop(self._heap)
            region = weighed[-1]
            if not self._is_linked(region) or self._weighed(region) != weighed:
                continue
            few = left <= most
            if few and weighed[0] > small:
                if len(self._alike) <= unlike:
                    break
                if len(set(self._pair(region))) == 1:
                    continue  # two equal neighbours cost no more than one
            left -= self._merge_all(region)
        return self._ends()

    def _ends(self) -> list[int]:
        ends = []
        region = 0
        while region >= 0:
            ends.append(self._end[region])
            region = self._next[region]
        return ends

    def _is_linked(self, region: int) -> bool:
        return self._next[region] >= 0 and region in self._pairs[self._pair(region)]

    def _pair(self, region: int) -> tuple[int, int]:
        return self._kind[region], self._kind[self._next[region]]

    def _weighed(self, region: int) -> tuple[float, int, int]:
        """Worth of the boundary behind a region; among equals the one that most bytes cross merges first."""
        cut = self._cut[self._end[region] - 1]
        worth = self._work[region] * self._work[self._next[region]]
        worth *= CHANGE_WEIGHT if self._changes(region) else 1.0
        worth /= min(max(len(cut.crossing), 1), WIDEST) ** 2
        return worth, -cut.nbytes, region

    def _changes(self, region: int) -> bool:
        here, there = (_dominant(self._by_character[index]) for index in (region, self._next[region]))
        return None not in (here, there) and here != there

    def _link(self, region: int) -> None:
        self._pairs[self._pair(region)].add(region)
        heapq.heappush(self._heap, self._weighed(region))

    def _unlink(self, region: int) -> None:
        if region >= 0 and self._next[region] >= 0:
            self._pairs[self._pair(region)].discard(region)

    def _merge_all(self, region: int) -> int:
        """Merge this pair wherever it occurs, from the left; returns how many were merged."""
        pair = self._pair(region)
        kind = self._numbers.setdefault(("pair", *pair), len(self._numbers))
        merged = 0
        for place in sorted(self._pairs[pair]):
            if place in self._pairs[pair]:  # else it has just become part of the pair before it
                self._merge(place, kind)
                merged += 1
        return merged

    def _merge(self, region: int, kind: int) -> None:
        gone, before = self._next[region], self._previous[region]
        for linked in (before, region, gone):
            self._unlink(linked)
        self._end[region] = self._end[gone]
        self._work[region] += self._work[gone]
        for name, work in self._by_character[gone].items():
            self._by_character[region][name] = self._by_character[region].get(name, 0.0) + work
        self._count(region, gone, kind)
        self._next[region] = self._next[gone]
        self._next[gone] = -1
        if self._next[region] >= 0:
            self._previous[self._next[region]] = region
            self._link(region)
        if before >= 0:
            self._link(before)

    def _count(self, region: int, gone: int, kind: int) -> None:
        self._alike.subtract((self._kind[region], self._kind[gone]))
        self._alike[kind] += 1
        for number in {self._kind[region], self._kind[gone]}:
            if not self._alike[number]:
                del self._alike[number]
        self._kind[region] = kind


def _dominant(work: Mapping[str, float]) -> str | None:
    """The kind of kernel that has the most work; ``None`` if there is none."""
    return max(work, key=work.__getitem__) if work else None
