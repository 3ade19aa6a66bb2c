"""The cheapest cover of a graph by convex sets of units: a shortest path from the empty ideal to the whole graph.

Pure: it knows no engine and no clock. The state is what the cover reaches to and who ran last. All edges into one
ideal are weighed at once, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from intarsia.partitioning.ideals import Lattice

Floats = NDArray[np.float64]

_PER_STEP = 1e-9
"""What each step is weighed beyond its cost, so that of two covers that cost the same the one with fewer steps wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """A cover by convex sets.

    Attributes:
        cost: Sum of what its steps cost, and of the transitions between them.
        steps: The set and the runner of each, in order.
    """

    cost: float
    steps: tuple[tuple[int, int], ...]


class CoverGraph:
    """The ideals of a lattice, and for each pair the convex set between them.

    Attributes:
        sets: Every convex set, each once; row ``n`` of all costs is that of set ``n``.
        whole: The number of the set that holds all units.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._ideals = lattice.ideals
        self.sets: list[int] = []
        numbers: dict[int, int] = {}
        starts: list[list[int]] = [[] for _ in lattice.ideals]
        held: list[list[int]] = [[] for _ in lattice.ideals]
        for start, end in lattice.pairs:
            mask = lattice.ideals[end] & ~lattice.ideals[start]
            if mask not in numbers:
                numbers[mask] = len(self.sets)
                self.sets.append(mask)
            starts[end].append(start)
            held[end].append(numbers[mask])
        self._into = [(np.array(s, np.intp), np.array(h, np.intp)) for s, h in zip(starts, held, strict=True)]
        self.whole = numbers.get(lattice.ideals[-1], 0)

    def cheapest(self, cost: Floats, transition: Floats) -> Cover | None:
        """The cheapest cover; ``None`` if each one costs infinity. Ties go to fewer steps, then to earlier runners.

        Args:
            cost: Of each set on each runner, by set and runner, at least 0.
            transition: From each runner to each, at least 0; infinite where one may not follow the other.
        """
        count, runners = len(self._ideals), cost.shape[1]
        best = np.full((count, runners), np.inf)
        came: list[tuple[Floats, NDArray[np.intp]] | None] = [None] * count
        # What it costs to get to an ideal and on to each runner, and who ran before.
        onward = np.full((count, runners), np.inf)
        onward[0] = 0.0
        before = np.full((count, runners), -1, np.intp)
        for end in range(1, count):
            starts, held = self._into[end]
            if not len(starts):
                continue
            total = onward[starts] + cost[held] + _PER_STEP
            edge = total.argmin(axis=0)
            best[end] = total[edge, np.arange(runners)]
            came[end] = (best[end], edge)
            behind = best[end][:, None] + transition
            before[end] = behind.argmin(axis=0)
            onward[end] = behind[before[end], np.arange(runners)]
        return self._walked_back(best, came, before, cost, transition)

    def _walked_back(
        self,
        best: Floats,
        came: list[tuple[Floats, NDArray[np.intp]] | None],
        before: NDArray[np.intp],
        cost: Floats,
        transition: Floats,
    ) -> Cover | None:
        end = len(self._ideals) - 1
        runner = int(best[end].argmin())
        if not end or best[end, runner] == np.inf:
            return None
        steps: list[tuple[int, int]] = []
        while end:
            found = came[end]
            assert found is not None
            edge = found[1][runner]
            starts, held = self._into[end]
            steps.append((int(held[edge]), runner))
            end = int(starts[edge])
            runner = int(before[end, runner])
        steps.reverse()
        total = sum(float(cost[step]) for step in steps)
        total += sum(float(transition[one[1], other[1]]) for one, other in pairwise(steps))
        return Cover(cost=total, steps=tuple(steps))
