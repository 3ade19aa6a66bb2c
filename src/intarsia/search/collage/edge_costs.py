"""What an edge of the search costs: measured if it was, else an estimate from what is known of its segments."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from types import MappingProxyType

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.timing.statistics import Interval, median
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.partitioning import Capability, Intervals, Partition
from intarsia.partitioning.partitioning import Places
from intarsia.search.collage.shortest_path import Edge
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target

_Typical = Callable[[Sequence[float]], float]
_NEVER = Interval(median=math.inf, low=math.inf, high=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A partition that was measured: segments ``start`` … ``end - 1`` on ``target``, right behind ``after``.

    Attributes:
        after: Who ran right ahead of it; ``None`` if nobody did.
        ms: What it took, infinite if it failed.
    """

    start: int
    end: int
    target: Target
    after: Target | None
    ms: float


class EdgeCosts:
    """Costs of runs of segments, in milliseconds; infinite where an engine refuses or fails.

    Each segment has a share of what its engine needs for the whole model: by the engine's own profile of a run, or else
    by measuring regions (short runs of segments) alone. An estimate is the sum of the shares, plus the median of what
    partitions of this engine were seen to cost beyond theirs, since a border ends layouts and fusions, plus the median
    of what a transition between the two engines (or, at first, between any two) was seen to cost.

    Attributes:
        profiled: Targets whose shares are known without measuring regions.
        is_out_of_time: Whether there was no time any more for something that was to be measured.
    """

    def __init__(
        self,
        measurer: Measurer,
        segments: Sequence[tuple[str, ...]],
        capabilities: Mapping[Target, Capability],
        wholes: Mapping[Target, Outcome],
        settings: RunSettings,
        places: Places | None = None,
        *,
        weights: Sequence[float] | None = None,
        profiles: Mapping[Target, Mapping[str, float]] | None = None,
        hopeless: float | None = COLLAGE.hopeless,
    ) -> None:
        """Start from the whole models.

        Args:
            segments: In linear order.
            capabilities: What each target takes.
            wholes: What the whole model costs on each target.
            places: The device of each node, where devices were planned.
            weights: Work of each segment, by which a region's cost is normalised to its segments; equal if left out.
            profiles: Milliseconds of nodes by id, for targets whose engine told; scaled to the whole model's cost.
            hopeless: A region is given up at so many times the best that is known of it; ``None`` for never.
        """
        self.segments = tuple(segments)
        self._measurer = measurer
        self._settings = settings
        self._hopeless = hopeless
        self._weights = list(weights or [1.0] * len(self.segments))
        self._wholes = {target: outcome.cost_ms for target, outcome in wholes.items()}
        self._runs = {target: Intervals.of(segments, capability, places) for target, capability in capabilities.items()}
        self._shares = {target: [math.inf] * len(self.segments) for target in capabilities}
        self.profiled = self._learned(profiles or {})
        self._sums: dict[Target, list[float]] = {}
        self._borders: dict[Target, list[float]] = {target: [] for target in capabilities}
        self._edges: dict[Edge[Target], Interval] = {}
        self._alone: dict[tuple[int, int, Target], Interval] = {}
        self._transitions: dict[tuple[Target, Target], list[float]] = defaultdict(list)
        self._correction: dict[Target | None, float] = defaultdict(float)
        self._failures: Counter[Target] = Counter()
        self.is_out_of_time = False
        for target, outcome in wholes.items():
            self._count_failure(target, outcome)
        self._sum_up()

    @property
    def regions(self) -> int:
        """How many partitions were measured alone."""
        return len(self._alone)

    @property
    def shares(self) -> Mapping[Target, tuple[float, ...]]:
        """For each target what each segment adds to the whole model; infinite where that is not known."""
        return MappingProxyType({target: tuple(shares) for target, shares in self._shares.items()})

    @property
    def known(self) -> tuple[Known, ...]:
        """Every partition that was measured, in order."""
        alone = [Known(start=s, end=e, target=t, after=None, ms=i.median) for (s, e, t), i in self._alone.items()]
        behind = [
            Known(start=edge.start, end=edge.end, target=edge.target, after=edge.after, ms=interval.median)
            for edge, interval in self._edges.items()
            if edge.after is not None
        ]
        return tuple(sorted((*alone, *behind), key=lambda k: (k.start, k.end, str(k.target), str(k.after or ""))))

    @property
    def borders_ms(self) -> Mapping[Target, float]:
        """What partitions of each target were seen to cost beyond their shares, typically."""
        return {target: median(seen) if seen else 0.0 for target, seen in self._borders.items()}

    @property
    def transitions_ms(self) -> Mapping[tuple[Target, Target], Sequence[float]]:
        """What each transition between two targets cost that was measured."""
        return MappingProxyType(self._transitions)

    @property
    def wholes(self) -> Mapping[Target, float]:
        """What the whole model costs on each target, infinite where it failed."""
        return MappingProxyType(self._wholes)

    def runs_ms(self, target: Target, *, only_alone: bool) -> Iterator[tuple[int, int, float]]:
        """Start, end and milliseconds of the runs of segments that were measured on a target.

        Args:
            only_alone: Leave out those that were measured behind others, of which a typical transition is taken off.
        """
        seen = {pair: median(several) for pair, several in self._transitions.items()}
        for edge, interval in self._edges.items():
            if edge.target == target and edge.after is not None and not only_alone:
                yield edge.start, edge.end, max(0.0, interval.median - seen.get((edge.after, target), 0.0))
        for (start, end, other), interval in self._alone.items():
            if other == target:
                yield start, end, interval.median

    @property
    def given_up(self) -> frozenset[Target]:
        """The targets that failed so often that they are not asked again."""
        return frozenset(target for target, count in self._failures.items() if count >= COLLAGE.failures)

    def correction_ms(self, host: Target | None = None) -> float:
        """What a transition costs beyond what was seen of it, as whole plans showed."""
        return self._correction[host]

    def candidates(self, stops: Sequence[int]) -> int:
        """How many partitions there are to choose from: runs between these segments, on each target that takes them."""
        bounds = (*stops, len(self.segments))
        return sum(
            runs.accepts(start, end)
            for runs in self._runs.values()
            for place, start in enumerate(bounds)
            for end in bounds[place + 1 :]
        )

    def measure_region(self, start: int, end: int) -> None:
        """Measure a short run of segments alone on targets that take it and gave no profile, best promise first."""
        best = min((self._own(start, end, target) for target in self.profiled), default=math.inf)
        for target in sorted(self._runs, key=lambda t: self._wholes[t]):
            region = (start, end, target)
            if target in self.profiled or region in self._alone or self._failures[target] >= COLLAGE.failures:
                continue
            if not self._runs[target].accepts(start, end):
                continue
            hopeless = None if best == math.inf or self._hopeless is None else self._hopeless * best
            effort = replace(COLLAGE.region_effort, hopeless_ms=hopeless)
            outcome = self._measurer.cost(self._partition(start, end, target), self._settings, effort=effort)
            if self._is_refused(outcome):
                continue
            self._count_failure(target, outcome)
            self._alone[region] = _interval(outcome)
            best = min(best, outcome.cost_ms)

    def calibrate(self, stops: Sequence[int]) -> None:
        """Learn shares from the regions between these segments, and from them what borders cost."""
        bounds = list(pairwise((*stops, len(self.segments))))
        for target in self._runs.keys() - self.profiled:
            regions = [self._alone.get((*region, target), _NEVER).median for region in bounds]
            total, whole = sum(regions), self._wholes[target]
            kept = min(1.0, whole / total) if total < math.inf and whole < math.inf and total > 0 else 1.0
            for (start, end), ms in zip(bounds, regions, strict=True):
                weight = sum(self._weights[start:end]) or 1.0
                self._shares[target][start:end] = [ms * kept * part / weight for part in self._weights[start:end]]
        self._sum_up()
        self._learn_borders()

    def cost(self, edge: Edge[Target], host: Target | None = None) -> float:
        """The best that is known about an edge.

        Args:
            edge: The edge.
            host: The target that holds the other partitions in its session, so that its own have no borders; ``None``
                if partitions are called in turn.
        """
        if not self._runs[edge.target].accepts(edge.start, edge.end):
            return math.inf
        if self._is_whole(edge):
            return self._wholes[edge.target]
        correction = 0.0 if edge.after is None else self._correction[host]
        if host is not None and edge.target == host:
            return self._own(edge.start, edge.end, host) + correction
        known = self._edges.get(edge)
        return (self._estimate(edge) if known is None else known.median) + correction

    def low(self, edge: Edge[Target], host: Target | None = None) -> float:
        """The least an edge may cost: by its samples, or for an estimate by the least borders and transitions seen."""
        if edge.target == host:
            return self._own(edge.start, edge.end, host)
        known = self._edges.get(edge)
        return min(self._estimate(edge, min) if known is None else known.low, self.cost(edge, host))

    def shares_ms(self, start: int, end: int) -> list[float]:
        """What a run of segments adds to the whole model on each target; infinite where it refuses or it is unknown."""
        accepted = ((target, runs.accepts(start, end)) for target, runs in self._runs.items())
        return [self._own(start, end, target) if is_accepted else math.inf for target, is_accepted in accepted]

    def is_measured(self, edge: Edge[Target], host: Target | None = None) -> bool:
        """Whether its cost is measured rather than estimated; what a host does is only measured with its whole plan."""
        return edge in self._edges or self._is_whole(edge) or edge.target == host

    def measured_ms(self, edge: Edge[Target]) -> float | None:
        """What measuring it gave, without what whole plans taught."""
        known = self._edges.get(edge)
        return None if known is None else known.median

    def measured_cost(self, edge: Edge[Target], host: Target | None = None) -> float:
        """What is known about an edge, infinite if it was not measured."""
        return self.cost(edge, host) if edge in self._edges or edge.target == host else math.inf

    def measure(self, edge: Edge[Target]) -> None:
        """Measure an edge in its place: the segment before it, on the engine before it, runs right ahead."""
        after = None if edge.after is None else self._partition(edge.start - 1, edge.start, edge.after)
        partition = self._partition(edge.start, edge.end, edge.target)
        outcome = self._measurer.cost(partition, self._settings, after=after, effort=COLLAGE.partition_effort)
        if self._is_refused(outcome):
            return
        found = _interval(outcome)
        if edge.after is None:
            self._alone[edge.start, edge.end, edge.target] = found
            self._learn_borders()
        elif not isinstance(outcome, Failure):
            beyond = found.median - self._apart(edge.start, edge.end, edge.target)
            self._transitions[edge.after, edge.target].append(max(0.0, beyond))
        self._edges[edge] = found

    def correct(self, predicted_ms: float, measured_ms: float, transitions: int, host: Target | None = None) -> None:
        """Spread what a whole plan cost beyond its prediction over its transitions, for the next round."""
        self._correction[host] = max(0.0, self._correction[host] + (measured_ms - predicted_ms) / max(transitions, 1))

    def partitions(self, edges: Sequence[Edge[Target]]) -> tuple[Partition, ...]:
        """The partitions of a path."""
        return tuple(self._partition(edge.start, edge.end, edge.target) for edge in edges)

    def _learned(self, profiles: Mapping[Target, Mapping[str, float]]) -> frozenset[Target]:
        """Fill in the shares of targets that gave a profile, and return these."""
        found = []
        for target, nodes in profiles.items():
            profiled = [sum(nodes.get(id_, 0.0) for id_ in segment) for segment in self.segments]
            if sum(profiled) > 0 and self._wholes[target] < math.inf:
                self._shares[target] = [self._wholes[target] * ms / sum(profiled) for ms in profiled]
                found.append(target)
        return frozenset(found)

    def _sum_up(self) -> None:
        self._sums = {target: list(accumulate(shares, initial=0.0)) for target, shares in self._shares.items()}

    def _learn_borders(self) -> None:
        for target in self._runs:
            self._borders[target] = [
                max(0.0, interval.median - self._own(start, end, target))
                for (start, end, partition_target), interval in self._alone.items()
                if partition_target == target and interval.median < math.inf
            ]

    def _own(self, start: int, end: int, target: Target) -> float:
        sums = self._sums[target]
        if sums[end] < math.inf:
            return sums[end] - sums[start]
        return sum(self._shares[target][start:end])

    def _apart(self, start: int, end: int, target: Target, typical: _Typical = median) -> float:
        """What a partition costs by itself: measured, or its share and a typical border."""
        alone = self._alone.get((start, end, target))
        if alone is not None:
            return alone.low if typical is min else alone.median
        borders = self._borders[target]
        return self._own(start, end, target) + (typical(borders) if borders else 0.0)

    def _estimate(self, edge: Edge[Target], typical: _Typical = median) -> float:
        seen = [] if edge.after is None else self._seen_transitions(edge.after, edge.target)
        return self._apart(edge.start, edge.end, edge.target, typical) + (typical(seen) if seen else 0.0)

    def _seen_transitions(self, after: Target, target: Target) -> list[float]:
        """What transitions of this pair were seen to cost; those of all pairs, while this one was never seen."""
        return self._transitions.get((after, target)) or [ms for seen in self._transitions.values() for ms in seen]

    def _is_whole(self, edge: Edge[Target]) -> bool:
        return edge.end - edge.start == len(self.segments)

    def _is_refused(self, outcome: Outcome) -> bool:
        """Whether there was no time to measure something; nothing is known of it then."""
        is_refused = isinstance(outcome, Failure) and outcome.stage == NO_TIME
        self.is_out_of_time |= is_refused
        return is_refused

    def _count_failure(self, target: Target, outcome: Outcome) -> None:
        if isinstance(outcome, Failure) and outcome.stage != "capability":
            self._failures[target] += COLLAGE.failures if outcome.stage == "timeout" else 1

    def _partition(self, start: int, end: int, target: Target) -> Partition:
        return Partition(target=target, nodes=tuple(node for segment in self.segments[start:end] for node in segment))


def _interval(outcome: Outcome) -> Interval:
    return _NEVER if isinstance(outcome, Failure) else outcome.interval
