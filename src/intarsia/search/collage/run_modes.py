"""The ways in which one mix of engines can be run, and what it takes in each; a given plan runs in the fastest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Measurement
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.graph import Graph
from intarsia.partitioning import Partition, Partitioning
from intarsia.planning.problem import Candidate, Problem
from intarsia.runtime import Plan, can_embed, plan_of
from intarsia.runtime.executors.parallel_levels import width
from intarsia.search.decision.prediction import NoTimeError, predict
from intarsia.search.thresholds import COLLAGE


def ways(problem: Problem, partitions: Sequence[Partition]) -> tuple[RunSettings, ...]:
    """Settings that a plan with several engines can run by.

    Called in turn, engines must not spin on each other's cores after a call; neither must they where independent
    partitions run at one time. Inside one engine's session there is one pool of threads, which may.
    """
    apart = map(problem.run, (Spin.CALL, Spin.NEVER))
    beside = replace(problem.run(), parallel=True)
    inside = (replace(problem.run(spin), embed=True) for spin in (Spin.CALL, Spin.FREE))
    return possible_ways(problem.graph, partitions, (*apart, beside, *inside))


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
    measurer: Measurer,
    partitions: Sequence[Partition],
    several: Sequence[RunSettings],
    best_ms: float = math.inf,
    deadline: Deadline = NO_END,
) -> Mapping[RunSettings, float]:
    """Milliseconds of a plan in each of these ways that works; by what the best plan takes a way is given up early.

    Where one way is far behind the best plan, those that differ from it in how engines wait alone are not measured.
    Nor are any but the first behind the deadline.
    """
    found: dict[RunSettings, float] = {}
    behind: set[tuple[bool, bool]] = set()
    for settings in several:
        if (settings.embed, settings.parallel) in behind:
            continue
        if found and deadline.is_over():
            break
        hopeless = COLLAGE.way_behind * min(best_ms, *found.values(), math.inf)
        effort = replace(COLLAGE.plan_effort, hopeless_ms=hopeless if hopeless < math.inf else None)
        outcome = measurer.cost_of_plan(partitions, settings, effort)
        if isinstance(outcome, Measurement):
            found[settings] = outcome.cost_ms
            if outcome.cost_ms > COLLAGE.way_behind * best_ms:
                behind.add((settings.embed, settings.parallel))
    return found


def given_candidate(
    name: str, partitioning: Partitioning, stated: Sequence[RunSettings], measurer: Measurer
) -> Candidate:
    """A partitioning that was given as a plan, run in the fastest of these ways, with the predicted cost of each part.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: A partition fails on its target.
        PlanError: It is to be embedded in any case, and cannot be.
    """
    partitions = partitioning.partitions
    settings = stated[0] if len(stated) == 1 else _fastest(partitions, stated, measurer)
    costs: tuple[float | None, ...]
    try:
        costs = predict(measurer, partitions, settings)
    except NoTimeError:  # the plan ships in any case, and is checked as a whole
        costs = (None,) * len(partitions)
    return Candidate(name=name, label=name, partitions=partitions, settings=settings, predicted_ms=costs)


def _fastest(partitions: Sequence[Partition], stated: Sequence[RunSettings], measurer: Measurer) -> RunSettings:
    possible = possible_ways(measurer.graph, partitions, stated)
    if len(possible) < 2:
        return (possible or stated)[0]
    return min(possible, key=lambda way: measurer.cost_of_plan(partitions, way, COLLAGE.stated_effort).cost_ms)
