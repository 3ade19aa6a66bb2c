"""How a nested configuration runs a region that it is given: found by measuring, as the plan around it is.

Each engine inside alone is a candidate, what the priority makes of the region, and the best engine for each run of
segments. Each candidate is measured as the one step that it is to whatever is around. So what is found is never slower
than the best engine inside alone, as far as measuring tells; nothing is decided by an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from intarsia.backends import registry
from intarsia.config import NestedEngine, Pipeline, RunSettings, Spin, target_of
from intarsia.cost.measure import Measurer
from intarsia.errors import NoCoverError
from intarsia.partitioning import Inside, Partition, divided_inside
from intarsia.planning.problem import Problem
from intarsia.runtime import plan_of
from intarsia.runtime.executors.parallel_levels import width
from intarsia.search.collage.cost_attribution import total_work
from intarsia.search.streams import balanced
from intarsia.search.thresholds import INNER
from intarsia.target import Target

_PIPELINE = "pipeline"


@dataclass(frozen=True, slots=True)
class _Region:
    """What one nested configuration was asked to run."""

    nest: NestedEngine
    partition: Partition
    settings: RunSettings
    runs: tuple[tuple[str, ...], ...]
    """Its nodes in runs that the search does not cut, in running order; one where it is no union of these."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.partition.nodes


class InnerSearch:
    """Says how nested configurations of a problem run what they are given, each region once."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._known: dict[tuple[Target, tuple[str, ...], int], Inside] = {}
        self._tuned: dict[Target, Target] = {}

    def __call__(self, measurer: Measurer, partition: Partition, settings: RunSettings) -> Partition:
        """The partition with its inside decided; one that is no nested configuration's, or is decided, as it is."""
        nest = self._problem.nests.get(partition.target)
        if nest is None or partition.inside is not None:
            return partition
        key = (partition.target, partition.nodes, settings.threads)
        if key not in self._known:
            own = replace(settings, spin=Spin.CALL, embed=False, parallel=False, pipeline=None)
            region = _Region(nest, partition, own, self._runs(partition.nodes))
            self._known[key] = self._best(measurer, region)
        return replace(partition, inside=self._known[key])

    def _best(self, measurer: Measurer, region: _Region) -> Inside:
        """The candidate that takes least; the first one where nothing could be measured."""
        best_ms, best = math.inf, None
        for candidate in self._candidates(measurer, region):
            effort = INNER.effort
            if best_ms < math.inf:
                effort = replace(effort, hopeless_ms=INNER.hopeless * best_ms)
            whole = replace(region.partition, inside=candidate)
            ms = measurer.cost(whole, region.settings, effort=effort).cost_ms
            if best is None or ms < best_ms:
                best_ms, best = ms, candidate
            self._learn(region, candidate, is_best=best == candidate)
        assert best is not None, "whoever is asked takes all nodes, so that the priority divides them"
        return best

    def _learn(self, region: _Region, candidate: Inside, *, is_best: bool) -> None:
        """Remember the options with which an engine alone runs the whole model fastest, for its other regions."""
        if is_best and len(candidate.partitions) == 1 and len(region.nodes) == len(self._problem.graph.nodes):
            tuned = candidate.partitions[0].target
            stated = next((each for each in self._leaves(region.nest) if tuned in _variants(each)), None)
            if stated is not None:
                self._tuned[stated] = tuned

    def _candidates(self, measurer: Measurer, region: _Region) -> Iterator[Inside]:
        """What may be inside; for a pipeline only what has several stages, if there is that."""
        found: list[tuple[Partition, ...]] = []
        piped = False
        for partitions in self._divisions(measurer, region):
            if partitions in found:
                continue
            found.append(partitions)
            for inside in self._ways(region, partitions):
                piped |= inside.pipeline is not None
                if inside.pipeline is not None or not self._wants_stages(region):
                    yield inside
        if not piped and self._wants_stages(region):  # one thread, or nothing that can be cut
            for partitions in found:
                yield Inside(partitions=partitions, threads=self._threads(region))

    def _divisions(self, measurer: Measurer, region: _Region) -> Iterator[tuple[Partition, ...]]:
        """The region on each engine that takes it alone, by runs, and by priority, in running order each."""
        takers = [engine for engine in region.nest.engines if self._takes(engine, region.nodes)]
        alone = [part for engine in takers for part in self._alone(measurer, region, engine)]
        for part in alone:
            yield (part,)
        by_runs = self._by_runs(measurer, region)
        if by_runs:
            yield by_runs
        if self._wants_stages(region):
            for part in alone:
                yield from self._halves(measurer, region, part)
        problem, places = self._problem, self._problem.places
        try:
            by_priority = divided_inside(problem.graph, region.nest, region.nodes, problem.inner, places=places)
        except NoCoverError:  # each group of nodes has a taker, but in no order that runs
            return
        yield tuple(self._filled(measurer, self._with_options(part), region.settings) for part in by_priority)

    def _alone(self, measurer: Measurer, region: _Region, engine: Target | NestedEngine) -> Iterator[Partition]:
        is_whole = len(region.nodes) == len(self._problem.graph.nodes)
        target = target_of(engine)
        several = _variants(target) if is_whole else (self._tuned.get(target, target),)
        for variant in several:
            part = Partition(target=variant, nodes=region.nodes)
            yield self._filled(measurer, part, region.settings)

    def _by_runs(self, measurer: Measurer, region: _Region) -> tuple[Partition, ...]:
        """Each run on the engine that runs it fastest by itself, what follows on one engine as one partition."""
        if len(region.runs) < 2 or len(region.nest.engines) < 2:
            return ()
        chosen: list[Target] = []
        for run in region.runs:
            costs: dict[Target, float] = {}
            for engine in region.nest.engines:
                if self._takes(engine, run):
                    part = self._with_options(Partition(target=target_of(engine), nodes=run))
                    filled = self._filled(measurer, part, region.settings)
                    cost = measurer.cost(filled, region.settings, effort=INNER.run_effort)
                    costs[part.target] = cost.cost_ms
            best = min(costs, key=costs.__getitem__, default=None)
            if best is None or costs[best] == math.inf:
                return ()
            chosen.append(best)
        alike = groupby(zip(chosen, region.runs, strict=True), key=lambda pair: pair[0])
        joined = [(target, tuple(id_ for _, run in several for id_ in run)) for target, several in alike]
        parts = (Partition(target=target, nodes=self._ordered(nodes)) for target, nodes in joined)
        return tuple(self._filled(measurer, part, region.settings) for part in parts)

    def _halves(self, measurer: Measurer, region: _Region, part: Partition) -> Iterator[tuple[Partition, ...]]:
        """One engine's region as two partitions of like work, for the stages of a pipeline."""
        if len(region.runs) < 2:
            return
        sizes = balanced([total_work(self._problem.graph, run) for run in region.runs], 2)
        ends = (0, sizes[0], sum(sizes))
        halves = [tuple(id_ for run in region.runs[a:b] for id_ in run) for a, b in pairwise(ends)]
        parts = (Partition(target=part.target, nodes=self._ordered(nodes)) for nodes in halves)
        yield tuple(self._filled(measurer, each, region.settings) for each in parts)

    def _ways(self, region: _Region, partitions: tuple[Partition, ...]) -> Iterator[Inside]:
        """The ways in which the executor of the nested configuration can drive a division."""
        threads = self._threads(region)
        plain = Inside(partitions=partitions, threads=threads)
        if self._wants_stages(region):
            count = min(len(partitions), threads or region.settings.threads)
            if count > 1:
                yield replace(plain, pipeline=self._pipeline(region, partitions, count))
                return
        yield plain
        settings = replace(region.settings, parallel=True)
        if len(partitions) > 2 and width(plan_of(self._problem.graph, partitions, settings)) > 1:
            yield replace(plain, parallel=True)

    def _pipeline(self, region: _Region, partitions: Sequence[Partition], count: int) -> Pipeline:
        work = [total_work(self._problem.graph, part.nodes) for part in partitions]
        share = max(1, (self._threads(region) or region.settings.threads) // count)
        depth = region.nest.config.executor["depth"] or 2 * count
        return Pipeline(stages=balanced(work, count), threads=(share,) * count, depth=depth)

    def _threads(self, region: _Region) -> int | None:
        """Threads of the nested configuration: the most that one of its targets may have, if each states a cap."""
        caps = [leaf.options.get("threads") for leaf in self._leaves(region.nest)]
        stated = [int(cap) for cap in caps if cap is not None]
        return min(max(stated), region.settings.threads) if stated and len(stated) == len(caps) else None

    def _wants_stages(self, region: _Region) -> bool:
        return region.nest.config.executor.kind.name == _PIPELINE

    def _with_options(self, part: Partition) -> Partition:
        return replace(part, target=self._tuned.get(part.target, part.target))

    def _filled(self, measurer: Measurer, part: Partition, settings: RunSettings) -> Partition:
        return self(measurer, replace(part, inside=None), settings)

    def _takes(self, engine: Target | NestedEngine, nodes: Sequence[str]) -> bool:
        capability = self._problem.inner[engine]
        return all(map(capability.takes, nodes))

    def _ordered(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Ids in the order of the graph."""
        return tuple(sorted(nodes, key=lambda id_: self._problem.graph.node(id_).index))

    def _leaves(self, nest: NestedEngine) -> Iterator[Target]:
        for engine in nest.engines:
            if isinstance(engine, NestedEngine):
                yield from self._leaves(engine)
            else:
                yield engine

    def _runs(self, nodes: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The region in at most so many runs of segments; itself where it is no union of segments."""
        inside = frozenset(nodes)
        segments = [segment for segment in self._problem.segments if inside.issuperset(segment)]
        if sum(map(len, segments)) < len(nodes):
            return (tuple(nodes),)
        if len(segments) > INNER.runs:
            sizes = balanced([total_work(self._problem.graph, segment) for segment in segments], INNER.runs)
            ends = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
            return tuple(tuple(id_ for each in segments[a:b] for id_ in each) for a, b in pairwise(ends))
        return tuple(segments)


def _variants(target: Target) -> tuple[Target, ...]:
    return registry.of(target).variants(target)
