"""A partitioning that is given, by priority (greedy) or by a plan file (manual): predicted, not searched for."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.partitioning import Partition, Partitioning
from intarsia.planning.problem import Candidate
from intarsia.search.collage.run_modes import possible_ways
from intarsia.search.decision.prediction import NoTimeError, predict
from intarsia.search.thresholds import COLLAGE


def given_candidate(
    name: str, partitioning: Partitioning, ways: Sequence[RunSettings], measurer: Measurer
) -> Candidate:
    """The partitioning as a plan with the predicted cost of each part, run in the fastest of these ways.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: A partition fails on its target.
        PlanError: It is to be embedded in any case, and cannot be.
    """
    partitions = partitioning.partitions
    settings = ways[0] if len(ways) == 1 else _fastest(partitions, ways, measurer)
    costs: tuple[float | None, ...]
    try:
        costs = predict(measurer, partitions, settings)
    except NoTimeError:  # the plan ships in any case, and is checked as a whole
        costs = (None,) * len(partitions)
    return Candidate(name=name, label=name, partitions=partitions, settings=settings, predicted_ms=costs)


def _fastest(partitions: Sequence[Partition], ways: Sequence[RunSettings], measurer: Measurer) -> RunSettings:
    possible = possible_ways(measurer.graph, partitions, ways)
    if len(possible) < 2:
        return (possible or ways)[0]
    return min(possible, key=lambda way: measurer.cost_of_plan(partitions, way, COLLAGE.stated_effort).cost_ms)
