"""The measured optimum over the ways to cut the model: into runs of segments first, from coarse to fine.

The best path on what is known of the partitions is built and measured as a whole, in each way it can be run. That
corrects what the sum of the partitions promised, and the search goes again; and again on smaller regions, while time is
left. Then it goes on with convex partitions that are no runs (`intarsia.search.collage.convex_search`). What greedy
makes of the graph is a candidate in any case.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Outcome
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import BackendError, MismatchError
from intarsia.garbage import collected_later
from intarsia.graph.work import work
from intarsia.partitioning import Capability, Partition, coarser
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.convex_search import ConvexSearch, Plans
from intarsia.search.collage.cost_attribution import shared_out, total_work
from intarsia.search.collage.edge_costs import EdgeCosts, Known
from intarsia.search.collage.lazy_shortest_path import LazyPaths
from intarsia.search.collage.refinement import finer
from intarsia.search.collage.run_modes import measured_ways, ways
from intarsia.search.collage.shortest_path import Edge
from intarsia.search.collage.units import divisions
from intarsia.search.decision.prediction import NoTimeError, predict
from intarsia.search.single.single_engine import profiles
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A mixed plan that was measured as a whole, outside the final decision, in the fastest of its ways."""

    candidate: Candidate
    measured_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollageResult:
    """What the search found.

    Attributes:
        mixes: Mixed plans, the fastest first.
        rounds: How often the shortest path was computed.
        is_finished: Whether it came to its end before its time was over.
        known: Every partition that was measured.
        shares: For each target what each segment adds to the whole model, as far as that is known; else infinite.
        candidates: Number of partitions to choose from: runs of segments, on each target that takes them.
        is_complete: Whether every convex set of the units that it came to was a candidate. A graph with many branches
            has too many: then the runs of several orders were, and all convex sets within each small block.
        is_replayed: Whether an earlier compile searched, and the store tells.
    """

    mixes: tuple[Mix, ...]
    segments: int
    rounds: int
    is_finished: bool
    known: tuple[Known, ...] = ()
    shares: Mapping[Target, tuple[float, ...]] = field(default_factory=lambda: MappingProxyType({}))
    candidates: int = 0
    is_complete: bool = False
    is_replayed: bool = False


class CollageSearch:
    """One search. All costs come from ``measurer``, so the same store gives the same plans."""

    @collected_later()
    def __init__(
        self,
        problem: Problem,
        measurer: Measurer,
        capabilities: Mapping[Target, Capability],
        wholes: Mapping[Target, Outcome],
        watch: Watcher,
    ) -> None:
        prune = problem.settings.prune
        self._problem = problem
        self._measurer = measurer
        self._watch = watch
        self._best_single = min((outcome.cost_ms for outcome in wholes.values()), default=math.inf)
        self._settings = problem.run()
        self._costs = EdgeCosts(
            measurer,
            problem.segments,
            capabilities,
            wholes,
            self._settings,
            problem.places,
            weights=[total_work(problem.graph, segment) for segment in problem.segments],
            profiles=profiles(problem, measurer, wholes, self._settings),
            hopeless=COLLAGE.hopeless if prune else None,
        )
        self._wholes = {target: outcome.cost_ms for target, outcome in wholes.items()}
        self._paths = LazyPaths(
            self._costs,
            tuple(capabilities),
            _seams(problem),
            most=COLLAGE.worth_building * self._best_single if prune else math.inf,
            measure=self._measure,
        )
        self._levels = _levels(problem)
        self._stops = self._levels[0 if prune else -1]
        self._refusals = {target: capability.refusals for target, capability in capabilities.items()}
        self._divisions = divisions(problem, capabilities)
        self._divisions_left = [*self._divisions]
        self._mixes: dict[tuple[Partition, ...], Mix] = {}
        self._tried: set[tuple[Target | None, tuple[Partition, ...]]] = set()
        self._transitions: set[int] = set()
        self._is_complete = False
        self._until = NO_END
        self._is_disappointed = False
        """Whether the last mix that was built was far slower than the best plan: the next must promise to be faster."""

    def run(self, deadline: Deadline) -> CollageResult:
        """Search until no region is worth splitting and the best mix is measured throughout, or the time is over.

        Along one running order first, then over all that is convex. After a mix that lost there is less time.
        """
        self._until = deadline.part(deadline.left)
        self._search(self._until)
        return self._result(is_finished=not deadline.is_over())

    def _search(self, deadline: Deadline) -> None:
        while True:
            # First on what engines tell themselves, before anything is measured of the others.
            self._solve_all(deadline.part(COLLAGE.before_regions * deadline.left))
            if self._measure_regions(deadline):
                self._solve_all(deadline)
            self._measure_divisions(deadline)
            stops = self._finer()
            if stops == self._stops or deadline.is_over():
                break
            self._stops = stops
        if not deadline.is_over():
            self._widen(deadline)

    def _measure_divisions(self, deadline: Deadline) -> None:
        """Measure what greedy makes of the graph, which is a candidate whatever its partitions promise."""
        while self._divisions_left and not deadline.is_over():
            division = self._divisions_left.pop(0)
            self._measure_plan(division.partitions, (None,) * len(division.partitions), None)

    def _widen(self, deadline: Deadline) -> None:
        """Go on with the convex partitions that are no runs of segments."""
        wider = ConvexSearch(
            self._problem,
            self._measurer,
            self._costs,
            self._refusals,
            self._settings,
            self._stops,
            self._divisions,
            self._transitions,
        )

        def build(partitions: tuple[Partition, ...], predicted: tuple[float, ...]) -> float | None:
            known = self._mixes.get(partitions)
            return known.measured_ms if known else self._measure_plan(partitions, predicted, None)

        self._is_complete = wider.is_complete
        if not wider.is_complete:
            log.info("too many orders to try all: partitions are runs of some, or lie within one block")
        if wider.is_wider:
            wider.run(Plans(best_ms=lambda: self._best_ms, build=build), deadline)

    def _measure_regions(self, deadline: Deadline) -> bool:
        """Measure regions alone that were not yet, the most costly first, while there is time; whether any was."""
        before = self._costs.regions
        bounds = list(pairwise((*self._stops, len(self._problem.segments))))
        bounds.sort(key=lambda region: (-min(self._costs.shares_ms(*region), default=0.0), region))
        for number, (start, end) in enumerate(bounds):
            if deadline.is_over():
                break
            self._costs.measure_region(start, end)
            self._tell("segments", number + 1, len(bounds), f"segments {start}-{end - 1}")
        self._costs.calibrate(self._stops)
        return self._costs.regions > before

    def _hosts(self) -> list[Target]:
        """Targets that can hold partitions of others in their session, and whose share of each segment is known."""
        near = (target for target in self._wholes if self._wholes[target] <= COLLAGE.host_behind * self._best_single)
        return [t for t in near if t in self._costs.profiled and registry.of(t).embedding() is not None]

    def _solve_all(self, deadline: Deadline) -> None:
        for host in (None, *self._hosts()):
            if not deadline.is_over() or host is None:
                self._solve(host, deadline)

    def _solve(self, host: Target | None, deadline: Deadline) -> None:
        """Build the best plans as wholes, called in turn or inside the session of ``host``, and learn from each."""
        for _ in range(COLLAGE.corrections):
            path = self._paths.best(self._stops, deadline, host)
            if path is None or (self._is_disappointed and path.cost >= self._best_ms):
                return
            partitions = self._costs.partitions(path.edges)
            if (host, partitions) in self._tried:
                return
            self._tried.add((host, partitions))
            self._transitions.update(edge.start for edge in path.edges[1:])
            predicted = tuple(self._costs.measured_ms(edge) for edge in path.edges)
            found = self._measure_plan(partitions, predicted, host)
            if found is None or deadline.is_over():
                return
            self._costs.correct(path.cost, found, len(path.edges) - 1, host)
            if self._problem.settings.prune:
                self._is_disappointed = found > COLLAGE.mix_behind * self._best_ms
                if self._is_disappointed:
                    self._until.shorten(COLLAGE.after_loss * self._problem.settings.budget_s)

    def _measure_plan(
        self, partitions: tuple[Partition, ...], predicted: tuple[float | None, ...], host: Target | None
    ) -> float | None:
        """What the plan takes in the best of the ways of this kind; the best of all ways is kept as a mix."""
        known = self._mixes.get(partitions)
        several = ways(self._problem, partitions)
        if host is not None:
            several = tuple(way for way in several if way.embed)
        found = measured_ways(self._measurer, partitions, several, self._best_ms, self._until)
        if not found:
            return None
        fastest = min(found, key=found.__getitem__)
        if known is None or found[fastest] < known.measured_ms:
            candidate = Candidate(
                name="collage", label="collage", partitions=partitions, settings=fastest, predicted_ms=predicted
            )
            self._mixes[partitions] = Mix(candidate=candidate, measured_ms=found[fastest])
        return min((ms for way, ms in found.items() if way.embed == (host is not None)), default=None)

    @property
    def _best_ms(self) -> float:
        return min([self._best_single, *(mix.measured_ms for mix in self._mixes.values())])

    def _measure(self, edge: Edge[Target]) -> None:
        self._costs.measure(edge)
        note = f"segments {edge.start}-{edge.end - 1} on {edge.target.kind.name}"
        self._tell("partitions", self._measurer.measured, None, note)

    def _finer(self) -> tuple[int, ...]:
        segments = len(self._problem.segments)
        return finer(self._stops, self._levels, segments, self._costs.shares_ms, self._transitions, self._best_ms)

    def _tell(self, stage: str, done: int, total: int | None, note: str) -> None:
        self._watch(Progress(stage=stage, done=done, total=total, best_ms=self._best_single, note=note))

    def _result(self, *, is_finished: bool) -> CollageResult:
        ranked = sorted(self._mixes.values(), key=lambda mix: mix.measured_ms)
        mixes = []
        for rank, mix in enumerate(ranked, start=1):
            candidate = self._predicted(mix) if rank <= COLLAGE.predicted else mix.candidate
            name = "collage" if rank == 1 else f"collage-{rank}"
            mixes.append(replace(mix, candidate=replace(candidate, name=name, label=name)))
        return CollageResult(
            mixes=tuple(mixes),
            segments=len(self._problem.segments),
            rounds=self._paths.rounds,
            is_finished=is_finished,
            known=self._costs.known,
            shares=self._costs.shares,
            candidates=self._costs.candidates(self._stops),
            is_complete=self._is_complete,
        )

    def _predicted(self, mix: Mix) -> Candidate:
        """With what its parts cost as they run in it, corrected by what all of them took together."""
        candidate, settings = mix.candidate, mix.candidate.settings
        costs = candidate.predicted_ms
        if settings.embed or settings.parallel:
            # If a partition fails alone: it ran in the whole, so it stays, predicted as it runs in turn.
            with suppress(BackendError, MismatchError, NoTimeError):
                costs = predict(self._measurer, candidate.partitions, settings)
        known = [ms for ms in costs if ms is not None]
        if len(known) < len(costs):
            return candidate
        return replace(candidate, predicted_ms=shared_out(mix.measured_ms, known))


def _levels(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Segments at which regions may begin, from coarse to fine."""
    weights = partial(work, problem.graph)
    coarse = coarser(problem.graph, problem.segments, COLLAGE.levels, weights)
    seams = _seams(problem)
    found = (*(tuple(sorted({*stops, *seams})) for stops in coarse), tuple(range(len(problem.segments))))
    return tuple(dict.fromkeys(found))


def _seams(problem: Problem) -> frozenset[int]:
    """The segments that are on another device than the one before them."""
    places, segments = problem.places, problem.segments
    if places is None:
        return frozenset()
    return frozenset(
        number for number in range(1, len(segments)) if places[segments[number][0]] != places[segments[number - 1][-1]]
    )
