"""A partitioning that is given, by priority (greedy) or by a plan file (manual): predicted, not searched for."""

from __future__ import annotations

from dataclasses import replace

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.record import Failure
from intarsia.cost.sampling import Effort
from intarsia.partition import Partitioning
from intarsia.runtime import can_embed, plan_of
from intarsia.search.predict import predict, predict_embedded
from intarsia.search.problem import Candidate

WHOLE_EFFORT = Effort(seconds=1.0, min_runs=7, max_runs=60)


def given_candidate(
    name: str, partitioning: Partitioning, settings: RunSettings, measurer: Measurer, embed: bool | None = None
) -> Candidate:
    """The partitioning as a plan with the predicted cost of each part.

    ``embed`` says whether partitions run inside one engine's session; ``None`` leaves it to a measurement of both.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: A partition fails on its target.
        PlanError: It is to be embedded, and cannot be.
    """
    partitions = partitioning.partitions
    if embed is None:
        embed = _gains_by_embedding(partitioning, settings, measurer)
    settings = replace(settings, embed=embed)
    costs = (predict_embedded if embed else predict)(measurer, partitions, settings)
    return Candidate(name=name, label=name, partitions=partitions, settings=settings, predicted_ms=costs)


def _gains_by_embedding(partitioning: Partitioning, settings: RunSettings, measurer: Measurer) -> bool:
    partitions = partitioning.partitions
    if not can_embed(plan_of(measurer.graph, partitions, settings)):
        return False
    apart, inside = (
        measurer.cost_of_plan(partitions, replace(settings, embed=embed), WHOLE_EFFORT) for embed in (False, True)
    )
    return not isinstance(inside, Failure) and inside.cost_ms < apart.cost_ms
