"""Who else could have run each part of a plan, and what that would have cost, read from what the search measured.

Nothing is measured here, and nothing is chosen; `intarsia.report` tells it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from intarsia.cost.measure import INTERRUPTED
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.partitioning import Intervals, Partition
from intarsia.partitioning.capability import refusal_text
from intarsia.planning.engine_set import is_tuned
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.collage import CollageResult
from intarsia.search.collage.segment_costs import PartitionCosts
from intarsia.search.collage.shortest_path import Edge
from intarsia.search.single.prefilter import STAGE
from intarsia.search.single.pruning import left_out
from intarsia.search.single.single_engine import Single
from intarsia.search.thresholds import SINGLE
from intarsia.target import Target

Span = tuple[int, int]
"""The first segment, and the one behind the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another engine for a part of the plan.

    Attributes:
        target: The engine, with the options that did best.
        ms: What the part would cost on it in this place, the transition into it counted.
        is_measured: Whether that was measured; else it is estimated from smaller partitions, and transitions elsewhere.
        plan_ms: What the whole plan would cost more with it, transitions won and lost counted; ``None`` if nothing
            tells.
    """

    target: Target
    ms: float
    is_measured: bool
    plan_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """A part of the plan among its alternatives.

    Attributes:
        transition_ms: What the transition into it takes of its cost; ``None`` for the first part, or if nothing tells.
        runners_up: Other engines for it, the cheapest first.
        not_chosen: Engines that have no figure for it, with the reason.
    """

    transition_ms: float | None
    runners_up: tuple[Alternative, ...]
    not_chosen: Mapping[Target, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opportunity:
    """Segments of a plan with one engine on which another is faster, before the transitions there and back are paid.

    Attributes:
        end: The segment behind the last.
        gain_ms: By how much it is faster.
        transitions: How many it takes.
        transition_ms: What they cost together; ``None`` if no transition was ever measured.
    """

    target: Target
    start: int
    end: int
    gain_ms: float
    transitions: int
    transition_ms: float | None

    @property
    def net_ms(self) -> float:
        """What is left of the gain."""
        return self.gain_ms - (self.transition_ms or 0.0)


class AlternativeCosts:
    """What the stages before recorded, asked about a plan."""

    def __init__(self, problem: Problem, singles: Sequence[Single], collage: CollageResult | None) -> None:
        self._problem = problem
        self._singles = singles
        self._is_finished = collage is None or collage.is_finished
        self._left_out = left_out(problem, singles)
        self._has_searched = collage is not None
        taken = problem.capabilities.items()
        self._runs = {target: Intervals.of(problem.segments, each, problem.places) for target, each in taken}
        shares, known = ({}, ()) if collage is None else (collage.shares, collage.known)
        self._costs = PartitionCosts(len(problem.segments), _wholes(singles), shares, known)
        self._variants = _variants(singles, self._costs.targets)

    def of_partitions(self, plan: Candidate) -> tuple[Alternatives, ...]:
        """Each part of a plan among its alternatives.

        What is known is how partitions run that are called in turn. For a plan that runs in another way, of an
        alternative only that is listed, and no transition and no change of the plan; and nothing of one in less than
        fp32, in which alternatives were not measured.
        """
        if plan.settings.max_error is not None:
            return (Alternatives(transition_ms=None, runners_up=(), not_chosen={}),) * len(plan.partitions)
        spans = [self._span(partition) for partition in plan.partitions]
        targets = [partition.target for partition in plan.partitions]
        in_turn = not plan.settings.embed and not plan.settings.parallel
        now_ms = self._plan_ms(targets, spans) if in_turn else None
        of_partitions = []
        for place, partition in enumerate(plan.partitions):
            several = sorted(self._alternatives(targets, place, spans, now_ms), key=lambda each: each.ms)
            transition_ms = None
            if in_turn and place:
                transition_ms = self._transition(targets, place, spans[place], plan.predicted_ms[place])
            of_partitions.append(
                Alternatives(
                    transition_ms=transition_ms,
                    runners_up=tuple(several),
                    not_chosen=self._not_chosen(partition, spans[place], several),
                )
            )
        return tuple(of_partitions)

    def opportunities(self, chosen: Target) -> tuple[Opportunity, ...]:
        """Where other engines are faster than the one that runs the whole model, the most promising first."""
        found: list[Opportunity] = []
        for single in self._others(chosen):
            several = [each for target in self._variants[single.target] for each in self._opportunities(chosen, target)]
            best = {(each.start, each.end): each for each in sorted(several, key=lambda each: each.net_ms)}
            found += best.values()
        return tuple(sorted(found, key=lambda each: -each.net_ms))

    def unmeasured(self) -> Mapping[Target, tuple[int, ...]]:
        """The segments that each engine takes and was not measured on, if the search's time ended before its work."""
        if self._is_finished:
            return {}
        missing = {
            single.target: tuple(
                segment
                for segment in range(self._costs.segments)
                if self._accepts(single.target, (segment, segment + 1)) and not self._is_tried(single, segment)
            )
            for single in self._singles
            if single.target not in self._left_out
        }
        return {target: segments for target, segments in missing.items() if segments}

    def segment_ms(self, segment: int) -> Mapping[Target, float | None]:
        """What one segment adds to the whole model on each engine; ``None`` where that is not known."""
        return {single.target: self._share(single, segment) for single in self._singles}

    def _alternatives(
        self, targets: Sequence[Target], place: int, spans: Sequence[Span | None], now_ms: float | None
    ) -> Iterator[Alternative]:
        span, before = spans[place], targets[place - 1] if place else None
        if span is None:
            return
        for single in self._others(targets[place]):
            if not self._accepts(single.target, span):
                continue
            several = []
            for target in self._variants[single.target]:
                figure = self._costs.behind(Edge(*span, target, None if before == target else before))
                if figure is not None:
                    several.append((figure.ms, target, figure.is_measured))
            for ms, target, is_measured in sorted(several, key=lambda each: each[0])[:1]:
                then = [*targets[:place], target, *targets[place + 1 :]]
                then_ms = None if now_ms is None else self._plan_ms(then, spans)
                plan_ms = None if now_ms is None or then_ms is None else then_ms - now_ms
                yield Alternative(target=target, ms=ms, is_measured=is_measured, plan_ms=plan_ms)

    def _not_chosen(
        self, partition: Partition, span: Span | None, alternatives: Sequence[Alternative]
    ) -> Mapping[Target, str]:
        named = {alternative.target for alternative in alternatives}
        return {
            single.target: self._reason(single, partition, span)
            for single in self._others(partition.target)
            if named.isdisjoint(self._variants[single.target])
        }

    def _reason(self, single: Single, partition: Partition, span: Span | None) -> str:
        refusals = self._problem.refused(single.target)
        refused = {id_: refusals[id_] for id_ in partition.nodes if id_ in refusals}
        if refused:
            return f"refused: {refusal_text(refused, len(partition.nodes))}"
        if span is not None and any(self._costs.has_failed(target, *span) for target in self._variants[single.target]):
            return "failed on it"
        outcome = single.outcome
        if isinstance(outcome, Failure) and outcome.stage not in ("capability", STAGE, INTERRUPTED, NO_TIME):
            return f"failed on the whole model at {outcome.stage}: {outcome.reason}"
        if single.target in self._left_out:
            return self._left_out[single.target]
        if not self._has_searched:
            return "not measured: parts were not searched for"
        return "not measured" if self._is_finished else "not measured: the time ended before"

    def _transition(
        self, targets: Sequence[Target], place: int, span: Span | None, predicted_ms: float | None
    ) -> float | None:
        alone = None if span is None else self._costs.alone(targets[place], *span)
        if alone is not None and predicted_ms is not None:
            return max(0.0, predicted_ms - alone.ms)
        return self._costs.transition(targets[place - 1], targets[place])

    def _plan_ms(self, targets: Sequence[Target], spans: Sequence[Span | None]) -> float | None:
        """A plan by its edges: neighbours on one target are one partition, wherever the target takes them as one."""
        edges: list[Edge[Target]] = []
        for target, span in zip(targets, spans, strict=True):
            last = edges[-1] if edges else None
            if span is None or span[0] != (last.end if last else 0):
                return None
            if last and last.target == target and self._accepts(target, (last.start, span[1])):
                edges[-1] = Edge(last.start, span[1], target, last.after)
            else:
                edges.append(Edge(*span, target, last.target if last else None))
        return self._costs.plan(edges)

    def _opportunities(self, chosen: Target, target: Target) -> Iterator[Opportunity]:
        def is_faster(segment: int) -> bool:
            mine, theirs = (self._costs.within(each, segment, segment + 1) for each in (chosen, target))
            return mine is not None and theirs is not None and theirs < mine

        for faster, several in groupby(range(self._costs.segments), is_faster):
            segments = list(several)
            start, end = segments[0], segments[-1] + 1
            mine, theirs = self._costs.within(chosen, start, end), self._costs.alone(target, start, end)
            if not faster or mine is None or theirs is None or end - start == self._costs.segments:
                continue
            if mine - theirs.ms < SINGLE.negligible_gain * (self._costs.within(chosen, 0, self._costs.segments) or 0.0):
                continue
            ways = [(chosen, target)] * (start > 0) + [(target, chosen)] * (end < self._costs.segments)
            known = [ms for ms in (self._costs.transition(*way) for way in ways) if ms is not None]
            yield Opportunity(
                target=target,
                start=start,
                end=end,
                gain_ms=mine - theirs.ms,
                transitions=len(ways),
                transition_ms=sum(known) if len(known) == len(ways) else None,
            )

    def _share(self, single: Single, segment: int) -> float | None:
        shares = [self._costs.within(target, segment, segment + 1) for target in self._variants[single.target]]
        return min((ms for ms in shares if ms is not None), default=None)

    def _is_tried(self, single: Single, segment: int) -> bool:
        failed = any(self._costs.has_failed(each, segment, segment + 1) for each in self._variants[single.target])
        return failed or isinstance(single.outcome, Failure) or self._share(single, segment) is not None

    def _span(self, partition: Partition) -> Span | None:
        """The run of segments that a partition is; ``None`` if it is none."""
        segments, nodes = self._problem.segments, set(partition.nodes)
        held = [number for number, segment in enumerate(segments) if nodes.issuperset(segment)]
        if not held or held[-1] - held[0] + 1 != len(held):
            return None
        return (held[0], held[-1] + 1) if sum(len(segments[number]) for number in held) == len(nodes) else None

    def _others(self, target: Target) -> Iterator[Single]:
        return (single for single in self._singles if target not in self._variants[single.target])

    def _accepts(self, target: Target, span: Span) -> bool:
        return any(self._runs[stated].accepts(*span) for stated, several in self._variants.items() if target in several)


def _wholes(singles: Iterable[Single]) -> Mapping[Target, float]:
    wholes: dict[Target, float] = {}
    for single in singles:
        for candidate in single.candidates:
            target, ms = candidate.partitions[0].target, candidate.total_ms
            wholes[target] = min(wholes.get(target, math.inf), math.inf if ms is None else ms)
    return wholes


def _variants(singles: Sequence[Single], measured: Iterable[Target]) -> Mapping[Target, tuple[Target, ...]]:
    """For each target as it was given, itself and it with every option that it was measured with."""
    found = {
        single.target: [single.target, *(candidate.partitions[0].target for candidate in single.candidates)]
        for single in singles
    }
    covered = {target for several in found.values() for target in several}
    for target in measured:
        if target not in covered and (stated := _stated(target, found)) is not None:
            found[stated].append(target)
    return {stated: tuple(dict.fromkeys(several)) for stated, several in found.items()}


def _stated(target: Target, several: Iterable[Target]) -> Target | None:
    """The given target that one with more options was made of: the one that says most."""
    fitting = (stated for stated in several if is_tuned(target, stated))
    return max(fitting, key=lambda stated: len(stated.options), default=None)
