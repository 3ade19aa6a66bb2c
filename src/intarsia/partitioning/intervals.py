"""Proposes candidates to the search: runs of consecutive segments, from one segment up to the whole model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from intarsia.partitioning.capability import Capability

if TYPE_CHECKING:
    from intarsia.partitioning.partitioning import Places


@dataclass(frozen=True, slots=True)
class Intervals:
    """Answers in constant time which runs of segments a target can run. A run is convex, as segments cut one
    topological order.

    Attributes:
        refused_before: Number of refused nodes before each segment, and at last in all.
        place_until: For each segment the end of the longest run from it that stays at one place; the segment's own
            number if it spans two places itself.
    """

    refused_before: Sequence[int]
    place_until: Sequence[int]

    @classmethod
    def of(cls, segments: Sequence[Sequence[str]], capability: Capability, places: Places | None = None) -> Intervals:
        """Count what a target refuses, segment by segment; with ``places``, no run holds nodes at two of them."""
        refused = (sum(not capability.takes(id_) for id_ in segment) for segment in segments)
        at = [{None if places is None else places[id_] for id_ in segment} for segment in segments]
        until = [len(at)] * (len(at) + 1)
        for index in reversed(range(len(at))):
            joins = index + 1 < len(at) and at[index] == at[index + 1]
            until[index] = index if len(at[index]) > 1 else until[index + 1] if joins else index + 1
        return cls(tuple(accumulate(refused, initial=0)), tuple(until))

    def accepts(self, start: int, end: int) -> bool:
        """Whether the target takes all nodes of the segments ``start`` … ``end - 1``, and they are at one place."""
        return self.refused_before[start] == self.refused_before[end] and end <= self.place_until[start]
