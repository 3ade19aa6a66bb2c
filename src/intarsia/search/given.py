"""A partitioning that is given, by priority (greedy) or by a plan file (manual): predicted, not searched for."""

from __future__ import annotations

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.partition import Partitioning
from intarsia.search.predict import predict
from intarsia.search.problem import Candidate


def given_candidate(name: str, partitioning: Partitioning, settings: RunSettings, measurer: Measurer) -> Candidate:
    """The partitioning as a plan with the predicted cost of each part.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: A partition fails on its target.
    """
    partitions = partitioning.partitions
    costs = predict(measurer, partitions, settings)
    return Candidate(name=name, label=name, partitions=partitions, settings=settings, predicted_ms=costs)
