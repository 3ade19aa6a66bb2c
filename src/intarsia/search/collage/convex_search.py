"""Mixes that no single running order holds: of a small graph all convex partitions, of a large one the runs of several
orders, and all convex sets within each small block.

The search along one order comes first, and what it learnt is used here. Of a small graph the best mix is found for
certain: it ends when no cover is left that could cost less by the bounds of what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.worker.deadline import Deadline
from intarsia.graph.work import works
from intarsia.partitioning import Partition, Partitioning
from intarsia.partitioning.ideals import Lattice, clustered, depth_first, lattice, units_in
from intarsia.planning.problem import Problem
from intarsia.search.collage.convex_costs import ConvexCosts
from intarsia.search.collage.convex_path import Cover, CoverGraph
from intarsia.search.collage.edge_costs import EdgeCosts
from intarsia.search.collage.units import Units, cut_units, order_of, readers, single_nodes
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target

_ROUNDING = 1e-9
"""Of two costs that differ by less than this share, neither is less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """The plans of the search, as they are built and measured.

    Attributes:
        best_ms: What the best plan so far takes.
        build: Measures a plan as a whole, given what its partitions cost; ``None`` if it fails.
    """

    best_ms: Callable[[], float]
    build: Callable[[tuple[Partition, ...], tuple[float, ...]], float | None]


class ConvexSearch:
    """One search on one set of units.

    Attributes:
        is_complete: Whether every convex set of units is a candidate.
        is_exact: Whether every convex set of nodes is a candidate, so that the best mix is found for certain.
        is_wider: Whether it has candidates that are no runs of the one order.
    """

    def __init__(
        self,
        problem: Problem,
        measurer: Measurer,
        known: EdgeCosts,
        refusals: Mapping[Target, Mapping[str, str]],
        settings: RunSettings,
        stops: Sequence[int],
        several: Sequence[Partitioning],
        transitions: Collection[int],
    ) -> None:
        """Take over what the search along one order learnt.

        Args:
            known: What that search learnt.
            refusals: The nodes that each target refuses.
            stops: Segments at which its regions begin: the units, where there are too many segments.
            several: What greedy makes of the graph.
            transitions: Segments at which one engine hands over to another in the plans that were built.
        """
        self._known = known
        self._transitions = transitions
        self._wholes = known.wholes
        self._work = works(problem.graph)
        targets = [target for target in refusals if target not in known.given_up]
        single = single_nodes(problem.graph, COLLAGE.exact_units)
        starts = stops if len(known.segments) > COLLAGE.units else range(len(known.segments))
        regions = tuple(_nodes(known.segments[start:end]) for start, end in pairwise((*starts, len(known.segments))))
        units, kept = cut_units(problem.graph, regions, several, COLLAGE.units) if single is None else (single, several)
        self._units: Units = units
        self._shares = {target: self._shares_of(target) for target in targets}
        self._divisions = kept
        found = self._lattice_of(readers(problem.graph, units), targets)
        self._graph = CoverGraph(found)
        self.is_complete = found.is_complete
        self.is_exact = single is not None and found.is_complete
        self.is_wider = self.is_exact or units != regions or len(found.ideals) > len(units) + 1
        best = min(self._wholes.values(), default=math.inf)
        hopeless = COLLAGE.hopeless * best if problem.settings.prune and best < math.inf else None
        self._costs = ConvexCosts(measurer, problem, units, self._graph.sets, targets, refusals, settings, hopeless)

    def run(self, plans: Plans, deadline: Deadline) -> None:
        """Build the covers that promise to be faster than the best plan, until none is left or the time is over."""
        self._take_over()
        if self.is_exact:
            self._measure_units(deadline)
        else:
            self._measure_cut(deadline)
            self._measure_largest(deadline)
        for _ in range(COLLAGE.corrections):
            cover = self._measured_throughout(plans, deadline)
            if cover is None:
                return
            partitions = tuple(self._costs.partition(*step) for step in self._steps(cover))
            found = plans.build(partitions, tuple(self._costs.known_ms(*step) for step in self._steps(cover)))
            if found is None or deadline.is_over():
                return
            beyond = (found - cover.cost) / (len(partitions) - 1)
            self._costs.correction = max(0.0, self._costs.correction + beyond)

    def _measured_throughout(self, plans: Plans, deadline: Deadline) -> Cover | None:
        """The best cover, measured throughout; ``None`` if none promises enough, or the time is over."""
        while True:
            cover = self._cheapest()
            if cover is None or len(cover.steps) < 2 or not self._is_promising(cover.cost, plans.best_ms()):
                return None
            steps = list(self._steps(cover))
            missing = [step for step in steps if not self._costs.is_known(*step)]
            unknown = [] if missing else [pair for pair in pairwise(steps) if not self._has_seen(*pair)]
            if not missing and not unknown:
                return cover
            for step in missing:
                if self._is_over(deadline):
                    return None
                self._costs.measure(*step)
            for before, step in unknown[:1]:
                if self._is_over(deadline):
                    return None
                self._costs.measure(*step, after=before)

    def _cheapest(self) -> Cover | None:
        if self.is_exact:
            return self._graph.cheapest(self._costs.bounds(), self._costs.transitions(min))
        estimates = self._costs.estimates()
        estimates[self._graph.whole] = math.inf
        return self._graph.cheapest(estimates, self._costs.transitions())

    def _is_promising(self, cost: float, best_ms: float) -> bool:
        """Estimates must promise something; what bounds allow is tried."""
        return cost < best_ms * (1.0 - _ROUNDING if self.is_exact else 1.0 - COLLAGE.worth_splitting)

    def _steps(self, cover: Cover) -> Iterator[tuple[int, int]]:
        return ((self._graph.sets[number], runner) for number, runner in cover.steps)

    def _has_seen(self, before: tuple[int, int], step: tuple[int, int]) -> bool:
        one, other = (self._costs.runners[runner].target for _, runner in (before, step))
        return self._costs.has_seen(one, other)

    def _is_over(self, deadline: Deadline) -> bool:
        return deadline.is_over() or self._costs.is_out_of_time

    def _take_over(self) -> None:
        """State what is known: shares, borders, transitions, and each run of segments that was measured."""
        costs, known = self._costs, self._known
        if not self.is_exact:  # these figures rest on estimates
            costs.correction = known.correction_ms()
            for (after, target), seen in known.transitions_ms.items():
                for ms in seen:
                    costs.saw_transition(after, target, ms)
        unit_of = {id_: number for number, unit in enumerate(self._units) for id_ in unit}
        for runner, target in enumerate(each.target for each in costs.runners):
            costs.set_shares(runner, self._shares[target], known.borders_ms[target])
            for start, end, ms in known.runs_ms(target, only_alone=self.is_exact):
                nodes = _nodes(known.segments[start:end])
                held = {unit_of[id_] for id_ in nodes}
                if sum(len(self._units[unit]) for unit in held) == len(nodes):
                    costs.set_known(sum(1 << unit for unit in held), runner, ms)

    def _measure_units(self, deadline: Deadline) -> None:
        """Measure each unit on each engine, and state what the whole costs: bounds of all between rest on both."""
        for unit in range(len(self._units)):
            for runner in range(len(self._costs.runners)):
                if self._is_over(deadline):
                    return
                if not self._costs.is_known(1 << unit, runner):
                    self._costs.measure(1 << unit, runner)
        whole = (1 << len(self._units)) - 1
        for runner, target in enumerate(each.target for each in self._costs.runners):
            if target in self._wholes:
                self._costs.set_known(whole, runner, self._wholes[target])

    def _measure_cut(self, deadline: Deadline) -> None:
        """Measure the units of segments beside a transition that were cut, since work alone parts a segment's cost."""
        held = {self._units[unit][0]: unit for unit in range(len(self._units))}
        found = (
            [held[id_] for id_ in segment if id_ in held]
            for number, segment in enumerate(self._known.segments)
            if number in self._transitions or number + 1 in self._transitions
        )
        several = [units for units in found if len(units) > 1]
        for runner, target in enumerate(each.target for each in self._costs.runners):
            if target in self._known.profiled:
                continue
            for units in several[: COLLAGE.splits]:
                for unit in units:
                    if not self._costs.is_known(1 << unit, runner) and not self._is_over(deadline):
                        self._costs.measure(1 << unit, runner)
                alone = [self._costs.known_ms(1 << unit, runner) for unit in units]
                if 0.0 < sum(alone) < math.inf:  # none is missing
                    kept = sum(self._shares[target][unit] for unit in units) / sum(alone)
                    for unit, ms in zip(units, alone, strict=True):
                        self._shares[target][unit] = ms * min(kept, 1.0)
            self._costs.set_shares(runner, self._shares[target], self._known.borders_ms[target])

    def _measure_largest(self, deadline: Deadline) -> None:
        """Measure the largest partitions that greedy gives to engines that cannot run the model, to estimate others by.

        Such an engine has no whole to which its shares could be normalised.
        """
        number = {id_: unit for unit, ids in enumerate(self._units) for id_ in ids}
        usual = self._usual_ms()
        for runner, target in enumerate(each.target for each in self._costs.runners):
            if self._wholes.get(target, math.inf) < math.inf:
                continue
            parts = (part for each in self._divisions for part in each.partitions if part.target == target)
            masks = dict.fromkeys(sum(1 << unit for unit in {number[id_] for id_ in part.nodes}) for part in parts)
            found: dict[int, float] = {}
            by_size = sorted(masks, key=lambda mask: -sum(usual[unit] for unit in units_in(mask)))
            for mask in by_size[: COLLAGE.largest]:
                if self._is_over(deadline):
                    return
                if not self._costs.is_known(mask, runner):
                    self._costs.measure(mask, runner)
                if self._costs.is_known(mask, runner) and self._costs.takes(mask, runner):
                    found[mask] = self._costs.known_ms(mask, runner)
            self._costs.set_shares(runner, _scaled(self._shares[target], usual, found), 0.0)

    def _usual_ms(self) -> list[float]:
        """What each unit takes on the engine that is best on it; by its work where none is known."""
        best = [min(column) for column in zip(*self._shares.values(), strict=True)]
        weights = [sum(map(self._work.__getitem__, unit)) for unit in self._units]
        known = [number for number, ms in enumerate(best) if ms < math.inf]
        rate = sum(best[number] for number in known) / (sum(weights[number] for number in known) or 1.0) or 1.0
        return [ms if ms < math.inf else rate * weight for ms, weight in zip(best, weights, strict=True)]

    def _shares_of(self, target: Target) -> list[float]:
        """What each unit adds to the whole model on a target, infinite where that is not known."""
        shares, node_share = self._known.shares[target], {}
        for segment, ms in zip(self._known.segments, shares, strict=True):
            total = sum(map(self._work.__getitem__, segment))
            for id_ in segment:
                part = self._work[id_] / total if total else 1.0 / len(segment)
                node_share[id_] = ms * part if ms < math.inf else ms
        return [sum(map(node_share.__getitem__, unit)) for unit in self._units]

    def _lattice_of(self, after: Sequence[set[int]], targets: Sequence[Target]) -> Lattice:
        count = len(self._units)
        kinds = [min(range(len(targets)), key=lambda t: self._shares[targets[t]][unit]) for unit in range(count)]
        orders = [
            list(range(count)),
            depth_first(after),
            *(order_of(division, self._units) for division in self._divisions),
            *(clustered(after, kinds, kind) for kind in sorted(set(kinds))),
        ]
        return lattice(after, orders, most=COLLAGE.convex_pairs, most_local=COLLAGE.block_ideals)


def _nodes(segments: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(id_ for segment in segments for id_ in segment)


def _scaled(shares: Sequence[float], usual: Sequence[float], found: Mapping[int, float]) -> list[float]:
    """Shares by what sets of units were measured to take together; of other units, where unknown, at the same rate."""
    several = {mask: ms for mask, ms in found.items() if ms < math.inf}
    weight = {mask: sum(usual[unit] for unit in units_in(mask)) for mask in several}
    if not several or not sum(weight.values()):
        return list(shares)
    rate = sum(several.values()) / sum(weight.values())
    scaled = [ms if ms < math.inf else rate * own for ms, own in zip(shares, usual, strict=True)]
    for mask, ms in several.items():
        for unit in units_in(mask):
            scaled[unit] = ms * usual[unit] / weight[mask] if weight[mask] else 0.0
    return scaled
