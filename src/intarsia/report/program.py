"""The report of a network that was written as C: what a compile's report has, and what the program takes in memory.

Nothing was timed. Figures of time that every report has are null, and what belongs to a search by time is absent:
instructions are what placement on a board counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from intarsia.backends import registry
from intarsia.graph.reference.rounding import rounds
from intarsia.partitioning import Partition
from intarsia.planning.request import Compilation
from intarsia.report.record import request_json
from intarsia.runtime import this_machine
from intarsia.runtime.plan import transitions
from intarsia.target.device_index import device_text

Json = Mapping[str, Any]


def program_report(
    *,
    job: Compilation,
    partitions: Sequence[Partition],
    program: Json,
    reason: str,
    error: float | None,
    allowed: float | None,
    seconds: float,
    remarks: Sequence[str] = (),
) -> dict[str, Any]:
    """The object that ``intarsia compile --json`` prints; ``artifact`` is set by whoever saves it.

    Args:
        job: What was planned.
        partitions: What ships.
        program: What the program takes in memory, and where it ran.
        reason: Why these partitions.
        error: The largest relative error of an output; ``None`` if nothing could be compared.
        allowed: What was allowed of that output.
        seconds: Of the compile.
        remarks: What is to be known of the comparison, beside what planning remarks.
    """
    kinds = dict.fromkeys(str(partition.target) for partition in partitions)
    return {
        **request_json(job),
        "program": program,
        "latency_ms": None,
        "figures": {"max_rel_error": error, "allowed_error": allowed},
        "singles": [],
        "best_single": None,
        "speedup_vs_best_single": None,
        "chosen": " + ".join(kinds),
        "reason": reason,
        "verified": error is not None,
        "remarks": [*job.remarks, *remarks],
        "conclusion": "single" if len(kinds) == 1 else "mix",
        "predicted_ms": None,
        "partitions": [_partition(job, partition) for partition in partitions],
        "opportunities": [],
        "transitions": transitions(partitions),
        "spin": job.run.spin.value,
        "max_rel_error": error if error is None or isfinite(error) else None,
        "allowed_error": allowed,
        "allowed_reason": "the model's own rounding" if allowed and rounds(job.problem.graph) else None,
        "search": _search(program, seconds),
        "threads": 1,
        "engines": {
            name: {"version": registry.get(name).probe_loading().version}
            for name in sorted({registry.engine_of(partition.target) for partition in partitions})
        },
        "machine": {**asdict(this_machine()), "fingerprint": this_machine().fingerprint},
    }


def _partition(job: Compilation, partition: Partition) -> dict[str, Any]:
    return {
        "target": str(partition.target),
        "device": job.device_of(partition) or device_text(partition.target),
        "config": str(job.config_of(partition)),
        "nodes": list(partition.nodes),
        "predicted_ms": None,
        "measured_ms": None,
        "share": None,
    }


def _search(program: Json, seconds: float) -> dict[str, Any]:
    """What was counted, where something was: programs that ran, instructions, and the kernels for them."""
    counted = program["instructions"] or {"programs_run": 0, "kernels": ()}
    return {
        "seconds": round(seconds, 3),
        "measured": counted["programs_run"],
        "segments": len(counted["kernels"]),
        "candidates": sum(1 + len(each["others"]) for each in counted["kernels"]),
        "finished": True,
        "interrupted": False,
        "unmeasured": [],
    }
