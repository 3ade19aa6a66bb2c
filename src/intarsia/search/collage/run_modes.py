"""The ways in which one mix of engines can be run, and what it takes in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Measurement
from intarsia.graph import Graph
from intarsia.partitioning import Partition
from intarsia.runtime import Plan, can_embed, plan_of
from intarsia.runtime.executors.parallel_levels import width
from intarsia.search.thresholds import COLLAGE


def ways(graph: Graph, partitions: Sequence[Partition], threads: int) -> tuple[RunSettings, ...]:
    """Settings that a plan with several engines can run by.

    Called in turn, engines must not spin on each other's cores after a call; neither must they where independent
    partitions run at one time. Inside one engine's session there is one pool of threads, which may.
    """
    apart = (RunSettings(threads=threads, spin=spin) for spin in (Spin.CALL, Spin.NEVER))
    beside = RunSettings(threads=threads, spin=Spin.CALL, parallel=True)
    inside = (RunSettings(threads=threads, spin=spin, embed=True) for spin in (Spin.CALL, Spin.FREE))
    return possible_ways(graph, partitions, (*apart, beside, *inside))


def possible_ways(
    graph: Graph, partitions: Sequence[Partition], several: Sequence[RunSettings]
) -> tuple[RunSettings, ...]:
    """Those of several ways that are ways for this plan."""
    plan = plan_of(graph, partitions, several[0])
    return tuple(way for way in several if _is_possible(replace(plan, settings=way)))


def _is_possible(plan: Plan) -> bool:
    if plan.settings.embed:
        return can_embed(plan)
    return not plan.settings.parallel or width(plan) > 1


def measured_ways(
    measurer: Measurer, partitions: Sequence[Partition], several: Sequence[RunSettings], best_ms: float = math.inf
) -> Mapping[RunSettings, float]:
    """Milliseconds of a plan in each of these ways that works.

    Args:
        measurer: Who measures.
        partitions: The plan, in running order.
        several: The ways.
        best_ms: What the best plan so far takes: by it a way is given up early.
    """
    found: dict[RunSettings, float] = {}
    for settings in several:
        hopeless = COLLAGE.way_behind * min(best_ms, *found.values(), math.inf)
        effort = replace(COLLAGE.plan_effort, hopeless_ms=hopeless if hopeless < math.inf else None)
        outcome = measurer.cost_of_plan(partitions, settings, effort)
        if isinstance(outcome, Measurement):
            found[settings] = outcome.cost_ms
    return found
