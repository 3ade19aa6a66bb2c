"""The measured optimum over all ways to cut the model into runs of atoms.

There are too many edges to measure, so they are measured lazily: the shortest path is found on estimates, its edges
are measured, and it is found again, until the best path is measured throughout (LazySP; Dellin & Srinivasa, "A Unifying
Formalism for Shortest Path Problems with Expensive Edge Evaluations", ICAPS 2016). Whole plans that were measured then
correct what the sum of the pieces promised, and the search goes again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.record import Measurement, Outcome
from intarsia.cost.sampling import Effort
from intarsia.partition import Capability, Partition
from intarsia.search.edge_costs import EdgeCosts
from intarsia.search.problem import Candidate, Deadline, Problem
from intarsia.search.shortest_path import Edge, Path, shortest_path
from intarsia.target import Target

PLAN_EFFORT = Effort(seconds=0.6, min_runs=9, max_runs=60)
CORRECTIONS = 3
WORTH_BUILDING = 1.03
"""A mix is built and measured as a whole if its prediction is at most this many times the best single engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A mixed plan that was measured as a whole, outside the final decision."""

    candidate: Candidate
    measured_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollageResult:
    """What the search found.

    Attributes:
        mixes: Mixed plans, the fastest first.
        atoms: Number of atoms.
        rounds: How often the shortest path was computed.
        is_finished: Whether it came to its end before its time was over.
    """

    mixes: tuple[Mix, ...]
    atoms: int
    rounds: int
    is_finished: bool


class CollageSearch:
    """One search. All costs come from ``measurer``, so the same store gives the same plans."""

    def __init__(
        self,
        problem: Problem,
        measurer: Measurer,
        capabilities: Mapping[Target, Capability],
        wholes: Mapping[Target, Outcome],
        watch: Watcher,
    ) -> None:
        self._problem = problem
        self._measurer = measurer
        self._targets = tuple(capabilities)
        self._best_single = min((outcome.cost_ms for outcome in wholes.values()), default=math.inf)
        self._settings = RunSettings(threads=problem.threads, spin=Spin.CALL)
        self._costs = EdgeCosts(measurer, problem.atoms, capabilities, wholes, self._settings, problem.places)
        self._seams = _seams(problem)
        self._watch = watch
        self._rounds = 0

    def run(self, deadline: Deadline) -> CollageResult:
        """Search until the best mix is measured throughout, or the time is over."""
        atoms = len(self._problem.atoms)
        for index in range(atoms):
            if deadline.is_over():
                return self._result([], is_finished=False)
            self._costs.measure_atom(index)
            self._watch(
                Progress(stage="atoms", done=index + 1, total=atoms, best_ms=self._best_single, note=f"atom {index}")
            )
        self._costs.calibrate()
        mixes: dict[tuple[Partition, ...], Mix] = {}
        for _ in range(CORRECTIONS):
            path = self._lazy_path(deadline)
            if path is None or path.cost > WORTH_BUILDING * self._best_single:
                return self._result(list(mixes.values()), is_finished=not deadline.is_over())
            partitions = self._costs.partitions(path.edges)
            if partitions in mixes:
                break
            mix = self._measure_whole(path, partitions)
            if mix is None:
                break
            mixes[partitions] = mix
            self._costs.correct(path.cost, mix.measured_ms, len(path.edges) - 1)
        return self._result(list(mixes.values()), is_finished=not deadline.is_over())

    def _lazy_path(self, deadline: Deadline) -> Path[Target] | None:
        """The best mixed path, measured throughout; when the time is over, the best of those that are."""
        atoms = len(self._problem.atoms)
        while True:
            self._rounds += 1
            path = shortest_path(atoms, self._targets, self._mixed_cost, self._seams)
            if path is None or path.cost > WORTH_BUILDING * self._best_single:
                return path
            unmeasured = [edge for edge in path.edges if not self._costs.is_measured(edge)]
            if not unmeasured:
                return path
            for edge in unmeasured:
                if deadline.is_over():
                    return shortest_path(atoms, self._targets, self._costs.measured_cost, self._seams)
                self._costs.measure(edge)
                note = f"atoms {edge.start}-{edge.end - 1} on {edge.target.kind.name}"
                done = self._measurer.measured
                self._watch(Progress(stage="pieces", done=done, best_ms=self._best_single, note=note))

    def _mixed_cost(self, edge: Edge[Target]) -> float:
        return math.inf if edge.end - edge.start == len(self._problem.atoms) else self._costs.cost(edge)

    def _measure_whole(self, path: Path[Target], partitions: tuple[Partition, ...]) -> Mix | None:
        predicted = tuple(self._costs.measured_ms(edge) for edge in path.edges)
        found: list[Mix] = []
        for spin in (Spin.CALL, Spin.NEVER):
            settings = RunSettings(threads=self._problem.threads, spin=spin)
            outcome = self._measurer.cost_of_plan(partitions, settings, PLAN_EFFORT)
            if isinstance(outcome, Measurement):
                candidate = Candidate(
                    name="collage", label="collage", partitions=partitions, settings=settings, predicted_ms=predicted
                )
                found.append(Mix(candidate=candidate, measured_ms=outcome.cost_ms))
        return min(found, key=lambda mix: mix.measured_ms, default=None)

    def _result(self, mixes: list[Mix], *, is_finished: bool) -> CollageResult:
        ranked = sorted(mixes, key=lambda mix: mix.measured_ms)
        names = ["collage", *(f"collage-{rank}" for rank in range(2, len(ranked) + 1))]
        return CollageResult(
            mixes=tuple(
                replace(mix, candidate=replace(mix.candidate, name=name, label=name))
                for mix, name in zip(ranked, names, strict=False)
            ),
            atoms=len(self._problem.atoms),
            rounds=self._rounds,
            is_finished=is_finished,
        )


def _seams(problem: Problem) -> frozenset[int]:
    """The atoms that are on another device than the one before them."""
    places, atoms = problem.places, problem.atoms
    if places is None:
        return frozenset()
    return frozenset(
        number for number in range(1, len(atoms)) if places[atoms[number][0]] != places[atoms[number - 1][-1]]
    )
