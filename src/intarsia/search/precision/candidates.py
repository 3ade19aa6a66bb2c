"""Engines that compute in a reduced type: a whole plan, or one end of the model where that is too much."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from math import sqrt

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.config.precision import Precision, Scheme
from intarsia.cost.records.record import Failure
from intarsia.graph import Graph
from intarsia.graph.quantise import Layer
from intarsia.partitioning import Partition, Partitioning
from intarsia.planning.problem import Candidate
from intarsia.runtime.artifact.machine import this_machine
from intarsia.search.collage.cost_attribution import total_work
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from intarsia.target.reduced_precision import reduced_targets

_GOLDEN = (sqrt(5.0) - 1.0) / 2.0
"""Its multiples are spread the most evenly, whole numbers taken off."""


def in_reduced_types(
    graph: Graph, partitions: Sequence[Partition], *, fine: bool = False
) -> Iterator[tuple[Partition, ...]]:
    """The plan with each engine in reduced precision that has such a type here; with several types, in each of them.

    Args:
        graph: What the partitions are of.
        partitions: In fp32.
        fine: Whether only types count that err little.
    """
    isa = this_machine().isa
    choices = [_in_less(graph, reduced_targets(partition.target, isa, fine=fine)) for partition in partitions]
    for place in range(max(map(len, choices), default=0)):
        yield tuple(
            replace(partition, target=own[min(place, len(own) - 1)]) if own else partition
            for partition, own in zip(partitions, choices, strict=True)
        )


def _in_less(graph: Graph, targets: Iterable[Target]) -> list[Target]:
    found = (registry.of(target).in_less(target, graph) for target in targets)
    return [target for target in found if target is not None]


def on_extensions(plan: Candidate, targets: Iterable[Target]) -> Iterator[Candidate]:
    """A plan of one engine on each of these that add kernels of their own to that one's.

    In fp32 such an engine may take nothing of a model for which it has no kernels. It may have some for few bits.
    """
    if len(plan.partitions) > 1:
        return
    (partition,) = plan.partitions
    for target in targets:
        if registry.of(target).extends == partition.target.kind.name:
            moved = replace(partition, target=target)
            yield replace(plan, name=f"{target}, {plan.name}", label=str(target), partitions=(moved,))


def packs_12_bits(partitions: Iterable[Partition]) -> bool:
    """Whether all engines of a plan read weights in 12 bits as fast as that allows."""
    return all(registry.of(partition.target).packs_12_bits for partition in partitions)


def with_rest(precision: Precision, layers: Iterable[Layer], way: Scheme) -> Precision:
    """With those of these layers whose weights are in fp32 yet in another way."""
    schemes = dict.fromkeys((layer.node.id for layer in layers), way)
    return Precision.of({**schemes, **dict(precision.schemes)}, dict(precision.ranges), dict(precision.means))


def spread(layers: Sequence[Layer], share: float) -> list[Layer]:
    """This share of some layers, with no period: networks repeat theirs."""
    return [layer for number, layer in enumerate(layers) if (number + 1) * _GOLDEN % 1.0 < share]


def speed_settings(plan: Candidate, allowed: float) -> RunSettings:
    """Those by which the speed of a smaller type is measured, with weights rounded to the nearest.

    A larger error counts as right there, as that of the plan which comes of it is smaller.
    """
    return replace(plan.settings, embed=False, max_error=PRECISION.lead_error * allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A model of which one end computes in reduced precision.

    Attributes:
        rounded: What becomes of partitions whose weights are rounded.
    """

    graph: Graph
    segments: Sequence[Sequence[str]]
    exact: Target
    reduced: Target
    rounded: Callable[[tuple[Partition, ...]], tuple[Partition, ...]]

    def parts(self, count: int, *, is_head: bool) -> tuple[Partition, ...]:
        """So many segments from the beginning, or from the end, in reduced precision."""
        at = count if is_head else len(self.segments) - count
        targets = (self.reduced, self.exact) if is_head else (self.exact, self.reduced)
        ends = zip(targets, (self.segments[:at], self.segments[at:]), strict=True)
        partitions = [(target, tuple(chain.from_iterable(segments))) for target, segments in ends if segments]
        return self.rounded(Partitioning.of(self.graph, partitions).partitions)

    def within(self, share: float, *, is_head: bool) -> int:
        """How many segments from that end have this share of the model's work, at most."""
        segments = self.segments if is_head else self.segments[::-1]
        done = list(accumulate(total_work(self.graph, segment) for segment in segments))
        return bisect_right(done, share * done[-1])


def most_that_fits(
    cut: Cut, error: float, allowed: float, error_of: Callable[[tuple[Partition, ...]], float | Failure]
) -> tuple[Partition, ...] | Failure | None:
    """The plan with the longest end in reduced precision that stays within an error.

    Errors of layers are about independent, so the square of the error goes with the share of the work; both ends are
    tried there, and the one with the smaller error is cut again. ``None`` if no end was found to fit.

    Args:
        error: Of all of it in reduced precision.
        allowed: The error that an end may have.
    """
    ends: list[tuple[float, bool, int]] = []
    for is_head in (True, False):
        count = cut.within((allowed / error) ** 2, is_head=is_head)
        if not 0 < count < len(cut.segments):
            continue
        found = error_of(cut.parts(count, is_head=is_head))
        if isinstance(found, Failure):
            return found
        ends.append((found, is_head, count))
    if not ends:
        return None
    found, is_head, count = min(ends)
    fits, fails = (count, len(cut.segments)) if found <= allowed else (0, count)
    share = (allowed / error) ** 2
    for _ in range(PRECISION.cut_tries):
        share = min(1.0, share * (min(allowed / found, PRECISION.cut_change) if found else PRECISION.cut_change) ** 2)
        count = min(max(cut.within(share, is_head=is_head), fits + 1), fails - 1)
        if not fits < count < fails:
            break
        again = error_of(cut.parts(count, is_head=is_head))
        if isinstance(again, Failure):
            return again
        found = again
        fits, fails = (count, fails) if found <= allowed else (fits, count)
    return cut.parts(fits, is_head=is_head) if fits else None
