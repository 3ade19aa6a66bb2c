"""What an edge of the search costs: measured if it was, else an estimate from its atoms that errs on the low side."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.record import Measurement, Outcome
from intarsia.cost.sampling import Effort
from intarsia.partition import Capability, Partition
from intarsia.search.shortest_path import Edge
from intarsia.target import Target

ATOM_EFFORT = Effort(seconds=0.15, min_runs=5, max_runs=60)
PIECE_EFFORT = Effort(seconds=0.3, min_runs=7, max_runs=80)
HOPELESS = 3.0


class EdgeCosts:
    """Costs of runs of atoms, in milliseconds; infinite where an engine refuses or fails.

    An estimate is the sum of the atoms' own costs, scaled by what the engine saves when it sees the whole model at
    once, plus what a switch between the two engines was seen to cost at least.
    """

    def __init__(
        self,
        measurer: Measurer,
        atoms: Sequence[tuple[str, ...]],
        capabilities: Mapping[Target, Capability],
        wholes: Mapping[Target, float],
        settings: RunSettings,
    ) -> None:
        self.atoms = tuple(atoms)
        self._measurer = measurer
        self._settings = settings
        self._wholes = wholes
        self._atom_ms: dict[Target, list[float]] = {
            target: [math.nan if all(map(taken.takes, atom)) else math.inf for atom in atoms]
            for target, taken in capabilities.items()
        }
        self._scale: dict[Target, float] = dict.fromkeys(capabilities, 1.0)
        self._edges: dict[Edge[Target], float] = {}
        self._alone: dict[tuple[int, int, Target], float] = {}
        self._switch: dict[tuple[Target, Target], float] = defaultdict(float)
        self._penalty = 0.0

    def measure_atom(self, index: int) -> None:
        """Measure one atom on every target that takes it, the most promising first."""
        best = math.inf
        for target in sorted(self._atom_ms, key=lambda t: self._wholes.get(t, math.inf)):
            if self._atom_ms[target][index] == math.inf:
                continue
            effort = ATOM_EFFORT if best == math.inf else _with_hopeless(ATOM_EFFORT, HOPELESS * best)
            outcome = self._measurer.cost(self._piece(index, index + 1, target), self._settings, effort=effort)
            self._atom_ms[target][index] = outcome.cost_ms
            best = min(best, outcome.cost_ms)

    def calibrate(self) -> None:
        """Learn how much less an engine needs for the whole model than for its atoms one by one."""
        for target, costs in self._atom_ms.items():
            total, whole = sum(costs), self._wholes.get(target, math.inf)
            if total < math.inf and whole < math.inf:
                self._scale[target] = min(1.0, whole / total)

    def cost(self, edge: Edge[Target]) -> float:
        """The best that is known about an edge."""
        if edge.start == 0 and edge.end == len(self.atoms):
            return self._wholes.get(edge.target, math.inf)
        penalty = self._penalty if edge.after is not None else 0.0
        if edge in self._edges:
            return self._edges[edge] + penalty
        return self._estimate(edge) + penalty

    def is_measured(self, edge: Edge[Target]) -> bool:
        """Whether its cost is measured rather than estimated."""
        return edge in self._edges or (edge.start == 0 and edge.end == len(self.atoms))

    def measured_ms(self, edge: Edge[Target]) -> float | None:
        """What measuring it gave, without what whole plans taught."""
        return self._edges.get(edge)

    def measure(self, edge: Edge[Target]) -> Outcome:
        """Measure an edge in its place: the atom before it, on the engine before it, runs right ahead."""
        after = None if edge.after is None else self._piece(edge.start - 1, edge.start, edge.after)
        piece = self._piece(edge.start, edge.end, edge.target)
        outcome = self._measurer.cost(piece, self._settings, after=after, effort=PIECE_EFFORT)
        low = self._low(edge)
        self._edges[edge] = outcome.cost_ms
        if edge.after is not None and isinstance(outcome, Measurement):
            extra = max(0.0, outcome.cost_ms - low)
            pair = (edge.after, edge.target)
            self._switch[pair] = min(self._switch[pair], extra) if pair in self._switch else extra
        return outcome

    def correct(self, predicted_ms: float, measured_ms: float, switches: int) -> None:
        """Spread what a whole plan cost beyond its prediction over its switches, for the next round."""
        if switches:
            self._penalty = max(0.0, self._penalty + (measured_ms - predicted_ms) / switches)

    def partitions(self, edges: Sequence[Edge[Target]]) -> tuple[Partition, ...]:
        """The pieces of a path."""
        return tuple(self._piece(edge.start, edge.end, edge.target) for edge in edges)

    def _estimate(self, edge: Edge[Target]) -> float:
        switch = 0.0 if edge.after is None else self._switch.get((edge.after, edge.target), 0.0)
        return self._low(edge) + switch

    def _low(self, edge: Edge[Target]) -> float:
        span = (edge.start, edge.end, edge.target)
        if span not in self._alone:
            costs = self._atom_ms[edge.target][edge.start : edge.end]
            self._alone[span] = sum(costs) * self._scale[edge.target]
        return self._alone[span]

    def _piece(self, start: int, end: int, target: Target) -> Partition:
        return Partition(target=target, nodes=tuple(node for atom in self.atoms[start:end] for node in atom))


def _with_hopeless(effort: Effort, hopeless_ms: float) -> Effort:
    return Effort(
        seconds=effort.seconds, min_runs=effort.min_runs, max_runs=effort.max_runs, hopeless_ms=hopeless_ms
    )
