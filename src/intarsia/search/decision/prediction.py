"""What a given plan will cost: each partition measured right behind the one before it, and summed."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.errors import (
    BackendCrashError,
    BackendError,
    BackendTimeoutError,
    CompileError,
    ExecutionError,
    LoadError,
    MismatchError,
)
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.partitioning import Partition
from intarsia.runtime import main_places, plan_of
from intarsia.runtime.executors.parallel_levels import sections, step_settings
from intarsia.search.collage.cost_attribution import shared_out, total_work
from intarsia.search.thresholds import DECISION
from intarsia.wording import counted

_ERRORS: dict[str, type[BackendError]] = {
    error.stage: error for error in (CompileError, LoadError, ExecutionError, BackendTimeoutError, BackendCrashError)
}


class NoTimeError(Exception):
    """There was no time to measure a partition; nothing is wrong with it."""


def predict(measurer: Measurer, partitions: Sequence[Partition], settings: RunSettings) -> tuple[float, ...]:
    """Milliseconds of each partition of a plan that is run as its settings say.

    Raises:
        BackendError: An engine failed on a partition.
        MismatchError: A partition answers wrongly.
        NoTimeError: There was no time for a partition.
    """
    predict = predict_embedded if settings.embed else predict_parallel if settings.parallel else predict_in_turn
    return predict(measurer, partitions, settings)


def predict_in_turn(measurer: Measurer, partitions: Sequence[Partition], settings: RunSettings) -> tuple[float, ...]:
    """`predict` where each partition runs right behind the one before it."""
    return tuple(
        _cost(measurer.cost(partition, settings, after=before, effort=DECISION.step_effort), partition)
        for before, partition in zip((None, *partitions), partitions, strict=False)
    )


def predict_embedded(measurer: Measurer, partitions: Sequence[Partition], settings: RunSettings) -> tuple[float, ...]:
    """`predict` for a plan that one engine embeds.

    What that engine does is measured as one, its partitions answering what was recorded, and normalised to its
    partitions by their work. Of equal partitions one is measured, in its place, while the others answer what was
    recorded.
    """
    graph = measurer.graph
    plan = plan_of(graph, partitions, settings)
    main = main_places(plan)
    whole = _cost(measurer.cost_of_embedded(partitions, None, settings, DECISION.embedded_effort), partitions[main[0]])
    weights = [total_work(graph, partitions[place].nodes) for place in main]
    costs = dict(zip(main, shared_out(whole, weights), strict=True))
    known: dict[tuple[str, str], float] = {}
    for place, partition in enumerate(partitions):
        if place in costs:
            continue
        alike = (partition.target.key, fingerprint_of(graph, partition.nodes))
        if alike not in known:
            cost = measurer.cost_of_embedded(partitions, place, settings, DECISION.embedded_effort)
            known[alike] = _cost(cost, partition)
        costs[place] = known[alike]
    return tuple(costs[place] for place in range(len(partitions)))


def predict_parallel(measurer: Measurer, partitions: Sequence[Partition], settings: RunSettings) -> tuple[float, ...]:
    """`predict` for a plan whose branches run at one time; the sum is the plan's.

    Each is measured on its share of the threads, with nothing beside it. A section takes as long as its branches do,
    given out in order to as many workers as it has; its partitions share that by what each takes.
    """
    plan = plan_of(measurer.graph, partitions, settings)
    alone = [
        _cost(measurer.cost(partition, replace(own, parallel=False), effort=DECISION.step_effort), partition)
        for partition, own in zip(partitions, step_settings(plan), strict=True)
    ]
    costs = list(alone)
    for section in sections(plan):
        ends = [0.0] * min(len(section), settings.threads)
        for branch in section:
            heapq.heapreplace(ends, ends[0] + sum(alone[place] for place in branch))
        places = [place for branch in section for place in branch]
        for place, ms in zip(places, shared_out(max(ends), [alone[place] for place in places]), strict=True):
            costs[place] = ms
    return tuple(costs)


def _cost(outcome: Outcome, partition: Partition) -> float:
    if isinstance(outcome, Failure) and outcome.stage == NO_TIME:
        raise NoTimeError
    if isinstance(outcome, Failure):
        raise failure_error(partition, outcome)
    return outcome.cost_ms


def failure_error(partition: Partition, failure: Failure) -> BackendError | MismatchError:
    """A recorded failure as the error that a plan which insists on it ends with."""
    where = f"{counted(len(partition.nodes), 'node')} from {partition.nodes[0]}"
    repro = f"; see it again with {failure.repro}" if failure.repro else ""
    if failure.cause.is_transient:
        repro += f"; it may work the next time, so nothing of it was kept ({failure.cause.cure})"
    if failure.stage == "verify":
        return MismatchError(f"{partition.target} answers wrongly on {where}: {failure.reason}{repro}")
    error = _ERRORS.get(failure.stage)
    if error is None:
        return ExecutionError(str(partition.target), f"{where}, {failure.stage}: {failure.reason}{repro}")
    return error(str(partition.target), f"{where}: {failure.reason}{repro}")
