"""Topological order: each thing behind what it needs, and else where it stood."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Protocol, TypeVar


class Step(Protocol):
    """Something that reads values and yields others, by their names."""

    @property
    def reads(self) -> Sequence[str]:
        """What must be there before."""
        ...

    @property
    def outputs(self) -> Sequence[str]:
        """What is there behind it; names that are empty are of nothing."""
        ...


AnyStep = TypeVar("AnyStep", bound=Step)


def runnable_order(after: Sequence[set[int]]) -> list[int]:
    """Numbered things ordered so that each comes after what it reads, smallest number first; none on or behind a cycle.

    Args:
        after: For each thing those that need it.
    """
    waits = [0] * len(after)
    for successors in after:
        for successor in successors:
            waits[successor] += 1
    ready = [part for part, count in enumerate(waits) if count == 0]
    order = []
    while ready:
        part = heapq.heappop(ready)
        order.append(part)
        for successor in after[part]:
            waits[successor] -= 1
            if waits[successor] == 0:
                heapq.heappush(ready, successor)
    return order


def in_order(steps: Sequence[AnyStep]) -> list[AnyStep]:
    """Steps so that each comes behind those that yield what it reads; none on or behind a cycle."""
    makers = {name: place for place, step in enumerate(steps) for name in step.outputs if name}
    after: list[set[int]] = [set() for _ in steps]
    for place, step in enumerate(steps):
        for name in step.reads:
            if name in makers:
                after[makers[name]].add(place)
    return [steps[place] for place in runnable_order(after)]
