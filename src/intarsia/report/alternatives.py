"""The part of a report that says who else could have run what: rivals of each partition, openings, atoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intarsia.partitioning.plan_file import precision_rows
from intarsia.planning.problem import Candidate
from intarsia.planning.request import Compilation
from intarsia.search import Decision
from intarsia.search.single.alternatives import Rivals, Standing


def partitions_json(job: Compilation, decision: Decision, rivals: Rivals) -> list[dict[str, Any]]:
    """The partitions of what ships, each with its times, what part of the whole it is, and its rivals."""
    chosen = decision.chosen
    steps_ms, _ = decision.verdict.parts_ms(chosen.name)
    measured = steps_ms or (None,) * len(chosen.partitions)
    standings = rivals.standings(chosen)
    return [
        {
            "target": str(partition.target),
            "device": job.device_of(partition) or partition.target.device_type,
            "config": str(job.config_of(partition)),
            "nodes": list(partition.nodes),
            "precision": None if partition.precision is None else precision_rows(partition.precision),
            "predicted_ms": chosen.predicted_ms[place],
            "measured_ms": measured[place],
            "share": _share(measured, place) or _share(chosen.predicted_ms, place),
            **_standing(standings[place]),
        }
        for place, partition in enumerate(chosen.partitions)
    ]


def _share(times: Sequence[float | None], place: int) -> float | None:
    known = [ms for ms in times if ms is not None]
    mine = times[place]
    return None if mine is None or len(known) < len(times) or not sum(known) else mine / sum(known)


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "switch_ms": standing.switch_ms,
        "runners_up": [
            {
                "target": str(rival.target),
                "ms": rival.ms,
                "is_measured": rival.is_measured,
                "plan_ms": rival.plan_ms,
            }
            for rival in standing.runners_up
        ],
        "not_chosen": [{"target": str(target), "reason": reason} for target, reason in standing.not_chosen.items()],
    }


def openings_json(chosen: Candidate, rivals: Rivals) -> list[dict[str, Any]]:
    """Where another engine would be faster than the only one of the plan; nothing for a plan of several."""
    engines = {partition.target for partition in chosen.partitions}
    if len(engines) > 1:
        return []
    return [
        {
            "target": str(opening.target),
            "atoms": [opening.start, opening.end],
            "gain_ms": opening.gain_ms,
            "switches": opening.switches,
            "switch_ms": opening.switch_ms,
        }
        for opening in rivals.openings(engines.pop())
    ]


def atoms_json(atoms: Sequence[Sequence[str]], rivals: Rivals) -> list[dict[str, Any]]:
    """Each atom of the search with its cost alone on each engine."""
    return [
        {
            "nodes": len(atom),
            "first": atom[0],
            "last": atom[-1],
            "ms": {str(target): ms for target, ms in rivals.atom_ms(number).items()},
        }
        for number, atom in enumerate(atoms)
    ]


def unmeasured_json(rivals: Rivals) -> list[Mapping[str, Any]]:
    """What each engine takes and was not measured on, because the time ended."""
    return [{"target": str(target), "atoms": list(atoms)} for target, atoms in rivals.unmeasured().items()]
