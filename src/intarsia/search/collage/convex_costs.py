"""What convex sets of units cost on each engine: measured, estimated, or at least how much.

A set is estimated as a run of segments is (`intarsia.search.collage.edge_costs`): by the shares of its units, and a
border. The least that it may cost follows from two laws: nodes in one partition do not cost more than in two, since
engines fuse what is in one partition; and a partition does not cost less than the cheapest of its units alone, since
something in it is fused into nothing before it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.statistics import median
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.partitioning import Partition
from intarsia.partitioning.ideals import units_in
from intarsia.planning.problem import Problem
from intarsia.search.collage.convex_path import Floats
from intarsia.search.collage.units import Units
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target

Typical = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Runner:
    """An engine at a place, which no partition leaves."""

    target: Target
    place: object


class ConvexCosts:
    """Costs of sets on runners, in milliseconds; infinite where an engine refuses a node, or failed.

    Attributes:
        correction: What a transition costs beyond what was seen of it, as whole plans showed.
        is_out_of_time: Whether there was no time any more for something that was to be measured.
    """

    def __init__(
        self,
        measurer: Measurer,
        problem: Problem,
        units: Units,
        sets: Sequence[int],
        targets: Sequence[Target],
        refusals: Mapping[Target, Mapping[str, str]],
        settings: RunSettings,
        hopeless_ms: float | None,
    ) -> None:
        """Nothing is known at first.

        Args:
            sets: The sets that may be partitions.
            refusals: The nodes that each target refuses.
            hopeless_ms: A partition is given up that takes so long.
        """
        self.correction = 0.0
        self.is_out_of_time = False
        self._measurer = measurer
        self._settings = settings
        self._units = units
        self._sets = tuple(sets)
        self._number = {mask: number for number, mask in enumerate(sets)}
        self._effort = replace(COLLAGE.partition_effort, hopeless_ms=hopeless_ms)
        at = dict.fromkeys([None] if problem.places is None else problem.places.values())
        self.runners = [Runner(target, place) for target in targets for place in at]

        def refuses(runner: Runner, id_: str) -> bool:
            elsewhere = problem.places is not None and problem.places[id_] != runner.place
            return elsewhere or id_ in refusals[runner.target]

        self._holds = np.array([[bool(mask >> unit & 1) for unit in range(len(units))] for mask in sets])
        refused = np.array([[any(refuses(runner, id_) for id_ in unit) for runner in self.runners] for unit in units])
        self._takes: NDArray[np.bool_] = ~(self._holds @ refused)
        self._known = np.full(self._takes.shape, np.nan)
        self._least = np.zeros(self._takes.shape)
        self._alone = np.full((len(units), len(self.runners)), np.nan)
        self._shares = np.full((len(units), len(self.runners)), np.inf)
        self._borders = np.zeros(len(self.runners))
        self._transitions: dict[tuple[Target, Target], list[float]] = defaultdict(list)
        self._failures: Counter[Target] = Counter()

    def takes(self, mask: int, runner: int) -> bool:
        """Whether a runner takes a set."""
        return bool(self._takes[self._number[mask], runner])

    def is_known(self, mask: int, runner: int) -> bool:
        """Whether that was measured, or cannot be."""
        row = self._number[mask], runner
        return not self._takes[row] or not math.isnan(self._known[row])

    def known_ms(self, mask: int, runner: int) -> float:
        """What was measured."""
        return float(self._known[self._number[mask], runner])

    def partition(self, mask: int, runner: int) -> Partition:
        """The nodes of a set on the engine of a runner."""
        nodes = [id_ for unit in units_in(mask) for id_ in self._units[unit]]
        return Partition(target=self.runners[runner].target, nodes=tuple(nodes))

    def set_shares(self, runner: int, shares: Sequence[float], border_ms: float) -> None:
        """State what each unit adds to the whole model, infinite where that is not known, and a partition beside."""
        self._shares[:, runner] = shares
        self._borders[runner] = border_ms

    def set_known(self, mask: int, runner: int, ms: float) -> None:
        """State what a set costs; nothing if the set is none of those that may be partitions."""
        number = self._number.get(mask)
        if number is not None and self._takes[number, runner]:
            self._known[number, runner] = ms
            if mask.bit_count() == 1:
                self._bound_by_unit(mask.bit_length() - 1, runner, ms)
            self._bound(mask, runner, ms)

    def saw_transition(self, after: Target, target: Target, ms: float) -> None:
        """Note what a transition between two targets cost beside the partition."""
        self._transitions[after, target].append(ms)

    def has_seen(self, after: Target, target: Target) -> bool:
        """Whether a transition between two targets was ever measured."""
        return (after, target) in self._transitions

    def measure(self, mask: int, runner: int, after: tuple[int, int] | None = None) -> None:
        """Measure a set alone; or right behind the last unit of another step, for the transition between them."""
        target = self.runners[runner].target
        if self._failures[target] >= COLLAGE.failures:
            self.set_known(mask, runner, math.inf)
            return
        before = None
        if after is not None:
            before = self.partition(1 << after[0].bit_length() - 1, after[1])
        partition = self.partition(mask, runner)
        outcome = self._measurer.cost(partition, self._settings, after=before, effort=self._effort)
        if isinstance(outcome, Failure):
            if outcome.stage == NO_TIME:
                self.is_out_of_time = True
                return
            self._failures[target] += COLLAGE.failures if outcome.stage == "timeout" else 1
        if before is None:
            self.set_known(mask, runner, outcome.cost_ms)
        else:
            beyond = outcome.cost_ms - self.known_ms(mask, runner)
            self.saw_transition(before.target, target, max(0.0, beyond))

    def estimates(self) -> Floats:
        """By set and runner, what was measured, or what shares and borders tell."""
        unknown = np.isinf(self._shares)
        own = self._holds @ np.where(unknown, 0.0, self._shares) + self._borders
        return self._completed(np.where(self._holds @ unknown, np.inf, own))

    def bounds(self) -> Floats:
        """By set and runner, what was measured, or the least that it may be."""
        return self._completed(self._least)

    def transitions(self, typical: Typical = median) -> Floats:
        """From each runner to each; those of all pairs while one was never seen, or nothing if the least is asked for.

        Args:
            typical: What stands for several figures: their median, or the least.
        """
        every = [ms for seen in self._transitions.values() for ms in seen]
        otherwise = typical(every) if every and typical is not min else 0.0

        def cost(one: Runner, other: Runner) -> float:
            if one == other:
                return math.inf
            seen = self._transitions.get((one.target, other.target))
            return (typical(seen) if seen else otherwise) + self.correction

        return np.array([[cost(one, other) for other in self.runners] for one in self.runners])

    def _completed(self, otherwise: Floats) -> Floats:
        costs = np.where(np.isnan(self._known), otherwise, self._known)
        return np.where(self._takes, costs, np.inf)

    def _bound(self, mask: int, runner: int, ms: float) -> None:
        """Raise the least that smaller sets may cost: with the other units, each apart, they are no cheaper."""
        units = list(units_in(mask))
        alone = self._alone[units, runner]
        if ms == math.inf or not np.isfinite(alone).all():  # a failure says nothing of other sets
            return
        smaller = ~np.delete(self._holds, units, axis=1).any(axis=1)
        rest = ~self._holds[smaller][:, units] @ alone
        self._least[smaller, runner] = np.maximum(self._least[smaller, runner], ms - rest)

    def _bound_by_unit(self, unit: int, runner: int, ms: float) -> None:
        """Note what a unit costs alone, and raise the least that sets may cost which are all of such units."""
        self._alone[unit, runner] = ms
        dearer = np.where(self._holds, self._alone[:, runner], np.inf).min(axis=1)
        self._least[:, runner] = np.maximum(self._least[:, runner], np.nan_to_num(dearer, nan=0.0, posinf=0.0))
