"""What an edge of the search costs: measured if it was, else an estimate from its atoms."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.record import Failure, Outcome
from intarsia.cost.sampling import Effort
from intarsia.cost.statistics import median
from intarsia.partition import Capability, Intervals, Partition
from intarsia.partition.partitioning import Places
from intarsia.search.shortest_path import Edge
from intarsia.target import Target

ATOM_EFFORT = Effort(seconds=0.1, min_runs=5, max_runs=60)
PIECE_EFFORT = Effort(seconds=0.3, min_runs=7, max_runs=80)
HOPELESS = 3.0
MAX_FAILURES = 3
"""A target that fails on so many atoms is not asked again; one that hangs is not asked a second time."""


class EdgeCosts:
    """Costs of runs of atoms, in milliseconds; infinite where an engine refuses or fails.

    An estimate is the sum of the atoms' own costs, less what the engine saves by seeing them at once (nothing for one
    atom, what it saves on the whole model for all of them, in proportion between), plus the median of what a switch
    between the two engines was seen to cost.
    """

    def __init__(
        self,
        measurer: Measurer,
        atoms: Sequence[tuple[str, ...]],
        capabilities: Mapping[Target, Capability],
        wholes: Mapping[Target, Outcome],
        settings: RunSettings,
        places: Places | None = None,
    ) -> None:
        self.atoms = tuple(atoms)
        self._measurer = measurer
        self._settings = settings
        self._wholes = {target: outcome.cost_ms for target, outcome in wholes.items()}
        self._runs = {target: Intervals.of(atoms, capability, places) for target, capability in capabilities.items()}
        self._atom_ms = {target: [math.inf] * len(self.atoms) for target in capabilities}
        self._saving = dict.fromkeys(capabilities, 0.0)
        self._edges: dict[Edge[Target], float] = {}
        self._switches: dict[tuple[Target, Target], list[float]] = defaultdict(list)
        self._correction = 0.0
        self._failures: Counter[Target] = Counter()
        for target, outcome in wholes.items():
            self._count_failure(target, outcome)

    def measure_atom(self, index: int) -> None:
        """Measure one atom on every target that takes it, the most promising first."""
        best = math.inf
        for target in sorted(self._atom_ms, key=lambda t: self._wholes[t]):
            if not self._runs[target].accepts(index, index + 1) or self._failures[target] >= MAX_FAILURES:
                continue
            effort = ATOM_EFFORT if best == math.inf else replace(ATOM_EFFORT, hopeless_ms=HOPELESS * best)
            outcome = self._measurer.cost(self._piece(index, index + 1, target), self._settings, effort=effort)
            self._count_failure(target, outcome)
            self._atom_ms[target][index] = outcome.cost_ms
            best = min(best, outcome.cost_ms)

    def calibrate(self) -> None:
        """Learn how much less an engine needs for the whole model than for its atoms one by one."""
        for target, costs in self._atom_ms.items():
            total, whole = sum(costs), self._wholes[target]
            if total < math.inf and whole < math.inf:
                self._saving[target] = max(0.0, 1 - whole / total)

    def cost(self, edge: Edge[Target]) -> float:
        """The best that is known about an edge."""
        if not self._runs[edge.target].accepts(edge.start, edge.end):
            return math.inf
        if self._is_whole(edge):
            return self._wholes[edge.target]
        known = self._edges.get(edge)
        correction = 0.0 if edge.after is None else self._correction
        return (self._estimate(edge) if known is None else known) + correction

    def is_measured(self, edge: Edge[Target]) -> bool:
        """Whether its cost is measured rather than estimated."""
        return edge in self._edges or self._is_whole(edge)

    def measured_ms(self, edge: Edge[Target]) -> float | None:
        """What measuring it gave, without what whole plans taught."""
        return self._edges.get(edge)

    def measured_cost(self, edge: Edge[Target]) -> float:
        """What is known about an edge, infinite if it was not measured."""
        return self.cost(edge) if edge in self._edges else math.inf

    def measure(self, edge: Edge[Target]) -> None:
        """Measure an edge in its place: the atom before it, on the engine before it, runs right ahead."""
        after = None if edge.after is None else self._piece(edge.start - 1, edge.start, edge.after)
        piece = self._piece(edge.start, edge.end, edge.target)
        outcome = self._measurer.cost(piece, self._settings, after=after, effort=PIECE_EFFORT)
        self._edges[edge] = outcome.cost_ms
        if edge.after is not None and not isinstance(outcome, Failure):
            self._switches[edge.after, edge.target].append(max(0.0, outcome.cost_ms - self._alone(edge)))

    def correct(self, predicted_ms: float, measured_ms: float, switches: int) -> None:
        """Spread what a whole plan cost beyond its prediction over its switches, for the next round."""
        self._correction = max(0.0, self._correction + (measured_ms - predicted_ms) / switches)

    def partitions(self, edges: Sequence[Edge[Target]]) -> tuple[Partition, ...]:
        """The pieces of a path."""
        return tuple(self._piece(edge.start, edge.end, edge.target) for edge in edges)

    def _estimate(self, edge: Edge[Target]) -> float:
        seen = [] if edge.after is None else self._switches.get((edge.after, edge.target), [])
        return self._alone(edge) + (median(seen) if seen else 0.0)

    def _alone(self, edge: Edge[Target]) -> float:
        joints = (edge.end - edge.start - 1) / (len(self.atoms) - 1)
        return sum(self._atom_ms[edge.target][edge.start : edge.end]) * (1 - self._saving[edge.target] * joints)

    def _is_whole(self, edge: Edge[Target]) -> bool:
        return edge.end - edge.start == len(self.atoms)

    def _count_failure(self, target: Target, outcome: Outcome) -> None:
        if isinstance(outcome, Failure) and outcome.stage != "capability":
            self._failures[target] += MAX_FAILURES if outcome.stage == "timeout" else 1

    def _piece(self, start: int, end: int, target: Target) -> Partition:
        return Partition(target=target, nodes=tuple(node for atom in self.atoms[start:end] for node in atom))
