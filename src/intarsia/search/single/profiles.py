"""Engines' own timing of each node: one instrumented run of each engine instead of a build of each partition."""

from __future__ import annotations

from collections.abc import Mapping

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.planning.problem import Problem
from intarsia.target import Target


def profiles(
    problem: Problem, measurer: Measurer, wholes: Mapping[Target, Outcome], settings: RunSettings
) -> Mapping[Target, Mapping[str, float]]:
    """Milliseconds of each node by id, for the targets that run the whole model and whose engine tells."""
    found: dict[Target, Mapping[str, float]] = {}
    for target, outcome in wholes.items():
        partitions = problem.whole(target)
        if isinstance(outcome, Failure) or len(partitions) > 1:
            continue
        times = measurer.node_times(partitions[0], settings)
        if times:
            found[target] = times
    return found
