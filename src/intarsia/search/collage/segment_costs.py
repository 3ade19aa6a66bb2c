"""What runs of segments cost, read from all that a search learnt: the figure that was measured, or an estimate.

Nothing is measured here; the estimates are those of `intarsia.search.collage.edge_costs`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from intarsia.cost.timing.statistics import median
from intarsia.search.collage.edge_costs import Known
from intarsia.search.collage.shortest_path import Edge
from intarsia.target import Target


@dataclass(frozen=True, slots=True)
class Figure:
    """Milliseconds, and whether they were measured as they stand."""

    ms: float
    is_measured: bool


class PartitionCosts:
    """Costs of runs of segments, as far as they can be told.

    Args:
        wholes: What the whole model costs on each target that runs it.
        shares: For each target what each segment adds to the whole model; infinite where that is not known.
        known: Every partition that was measured; infinite where the target failed.
    """

    def __init__(
        self,
        segments: int,
        wholes: Mapping[Target, float],
        shares: Mapping[Target, Sequence[float]],
        known: Iterable[Known],
    ) -> None:
        self.segments = segments
        self._wholes = wholes
        self._shares = shares
        self._known = {(each.target, each.start, each.end, each.after): each.ms for each in known}
        self._borders = self._seen_borders()
        self._transitions = self._seen_transitions()

    @property
    def targets(self) -> tuple[Target, ...]:
        """Every target that anything is known of."""
        return tuple(dict.fromkeys([*self._wholes, *self._shares, *(target for target, *_ in self._known)]))

    def has_failed(self, target: Target, start: int, end: int) -> bool:
        """Whether the target was tried on some of these segments and failed."""
        return any(
            who == target and first < end and start < last and ms == math.inf
            for (who, first, last, _), ms in self._known.items()
        )

    def within(self, target: Target, start: int, end: int) -> float | None:
        """What a run of segments adds to the whole model on a target; ``None`` if that is not known."""
        shares = self._shares.get(target)
        total = math.inf if shares is None else sum(shares[start:end])
        return None if total == math.inf else total

    def alone(self, target: Target, start: int, end: int) -> Figure | None:
        """A run of segments as a partition, without a transition into it; ``None`` where nothing tells it."""
        whole = self._wholes.get(target, math.inf) if end - start == self.segments else math.inf
        measured = min(whole, self._known.get((target, start, end, None), math.inf))
        if measured < math.inf:
            return Figure(measured, True)
        own = None if self.has_failed(target, start, end) else self.within(target, start, end)
        return None if own is None else Figure(own + self._borders.get(target, 0.0), False)

    def transition(self, before: Target, target: Target) -> float | None:
        """What a transition between two targets was seen to cost, or any transition, if never between these."""
        seen = self._transitions.get((before, target)) or [ms for each in self._transitions.values() for ms in each]
        return median(seen) if seen else None

    def behind(self, edge: Edge[Target]) -> Figure | None:
        """A run of segments in its place, the transition into it counted."""
        known = self._known.get((edge.target, edge.start, edge.end, edge.after), math.inf)
        if known < math.inf:
            return Figure(known, True)
        alone = self.alone(edge.target, edge.start, edge.end)
        if alone is None or edge.after is None:
            return alone
        transition = self.transition(edge.after, edge.target)
        return None if transition is None else Figure(alone.ms + transition, False)

    def plan(self, edges: Iterable[Edge[Target]]) -> float | None:
        """Milliseconds of a whole plan."""
        figures = [self.behind(edge) for edge in edges]
        known = [figure.ms for figure in figures if figure is not None]
        return sum(known) if len(known) == len(figures) else None

    def _seen_borders(self) -> Mapping[Target, float]:
        """What partitions of a target take beyond their shares: a border ends layouts and fusions."""
        seen: dict[Target, list[float]] = defaultdict(list)
        for (target, start, end, after), ms in self._known.items():
            own = self.within(target, start, end)
            if after is None and own is not None and ms < math.inf:
                seen[target].append(max(0.0, ms - own))
        return {target: median(beyond) for target, beyond in seen.items()}

    def _seen_transitions(self) -> Mapping[tuple[Target, Target], Sequence[float]]:
        seen: dict[tuple[Target, Target], list[float]] = defaultdict(list)
        for (target, start, end, after), ms in self._known.items():
            alone = self.alone(target, start, end)
            if after is not None and alone is not None and ms < math.inf:
                seen[after, target].append(max(0.0, ms - alone.ms))
        return dict(seen)
