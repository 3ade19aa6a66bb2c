"""What a report says of other engines: the alternatives of each partition, missed opportunities, costs of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from intarsia.backends import registry
from intarsia.config import config_inside
from intarsia.config.precision import Precision
from intarsia.partitioning import Partition
from intarsia.partitioning.plan_rows import inside_rows, precision_rows
from intarsia.planning.problem import Candidate
from intarsia.planning.request import Compilation
from intarsia.runtime import plan_of
from intarsia.runtime.executors.transfers import plan_transfers
from intarsia.search.decision.decision import Decision
from intarsia.search.single.alternatives import AlternativeCosts, Alternatives
from intarsia.target.device_index import device_text


def partitions_json(job: Compilation, decision: Decision, alternatives: AlternativeCosts) -> list[dict[str, Any]]:
    """The partitions of what ships, each with its times, what part of the whole it is, and its alternatives."""
    chosen = decision.chosen
    steps_ms, _ = decision.verdict.parts_ms(chosen.name)
    measured = steps_ms or (None,) * len(chosen.partitions)
    of_partitions = alternatives.of_partitions(chosen)
    return [
        {
            "target": str(partition.target),
            "device": job.device_of(partition) or device_text(partition.target),
            "config": str(job.config_of(partition)),
            "nodes": list(partition.nodes),
            "precision": None if partition.precision is None else _precision_json(partition.precision),
            **({} if partition.inside is None else {"inside": inside_json(partition)}),
            "predicted_ms": chosen.predicted_ms[place],
            "measured_ms": measured[place],
            "share": _share(measured, place) or _share(chosen.predicted_ms, place),
            **_alternatives_json(of_partitions[place]),
        }
        for place, partition in enumerate(chosen.partitions)
    ]


def _precision_json(precision: Precision) -> dict[str, Any]:
    """Without means, which are thousands of numbers that say nothing to a reader; the plan file has them."""
    return precision_rows(replace(precision, means=()))


def inside_json(partition: Partition) -> dict[str, Any]:
    """How a nested configuration runs a partition: by which executor, on how many threads, and which engine what."""
    config, inside = config_inside(partition.target), partition.inside
    assert config is not None, "only nested configurations have something inside"
    assert inside is not None, "asked of such partitions alone"
    return {"executor": str(config.executor), "runtime": str(config.runtime), **inside_rows(inside)}


def _share(times: Sequence[float | None], place: int) -> float | None:
    known = [ms for ms in times if ms is not None]
    mine = times[place]
    return None if mine is None or len(known) < len(times) or not sum(known) else mine / sum(known)


def _alternatives_json(alternatives: Alternatives) -> dict[str, Any]:
    return {
        "transition_ms": alternatives.transition_ms,
        "runners_up": [
            {
                "target": str(alternative.target),
                "ms": alternative.ms,
                "is_measured": alternative.is_measured,
                "plan_ms": alternative.plan_ms,
            }
            for alternative in alternatives.runners_up
        ],
        "not_chosen": [{"target": str(target), "reason": reason} for target, reason in alternatives.not_chosen.items()],
    }


def opportunities_json(chosen: Candidate, alternatives: AlternativeCosts) -> list[dict[str, Any]]:
    """Where another engine would be faster than the only one of the plan; nothing for a plan of several."""
    engines = {partition.target for partition in chosen.partitions}
    if len(engines) > 1:
        return []
    return [
        {
            "target": str(opportunity.target),
            "segments": [opportunity.start, opportunity.end],
            "gain_ms": opportunity.gain_ms,
            "transitions": opportunity.transitions,
            "transition_ms": opportunity.transition_ms,
        }
        for opportunity in alternatives.opportunities(engines.pop())
    ]


def segments_json(segments: Sequence[Sequence[str]], alternatives: AlternativeCosts) -> list[dict[str, Any]]:
    """Each segment of the search with its cost alone on each engine."""
    return [
        {
            "nodes": len(segment),
            "first": segment[0],
            "last": segment[-1],
            "ms": {str(target): ms for target, ms in alternatives.segment_ms(number).items()},
        }
        for number, segment in enumerate(segments)
    ]


def unmeasured_json(alternatives: AlternativeCosts) -> list[Mapping[str, Any]]:
    """What each engine takes and was not measured on, because the time ended."""
    return [
        {"target": str(target), "segments": list(segments)} for target, segments in alternatives.unmeasured().items()
    ]


def transfers_json(job: Compilation, decision: Decision) -> list[dict[str, Any]]:
    """The transfers of what ships, each with its milliseconds, but for those that an engine makes inside its call."""
    chosen = decision.chosen
    plan = plan_of(job.problem.graph, chosen.partitions, chosen.settings)
    transfers = plan_transfers(plan, [registry.of(step.target).traits for step in plan.steps])
    _, transfers_ms = decision.verdict.parts_ms(chosen.name)
    times = iter(transfers_ms)
    return [transfer.export() | {"ms": None if transfer.is_inside else next(times, None)} for transfer in transfers]
