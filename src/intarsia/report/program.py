"""The report of a network that was written as C: what a compile's report has, and what the program takes in memory.

Nothing was timed, so figures of time are absent: instructions are what placement on a board counts.
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
        remarks: What is to be known of the comparison.
    """
    kinds = dict.fromkeys(str(partition.target) for partition in partitions)
    weights = sum(weight.nbytes for weight in job.problem.graph.weights.values())
    return {
        **request_json(job),
        "program": program,
        "latency_ms": None,
        "figures": {"max_rel_error": error, "allowed_error": allowed},
        "needs": {"memory": None, "alternative": None, "alternative_memory": None, "artifact": None, "model": weights},
        "singles": [],
        "best_single": None,
        "speedup_vs_best_single": None,
        "chosen": " + ".join(kinds),
        "shown_vs_best_single": None,
        "reason": reason,
        "verified": error is not None,
        "remarks": list(remarks),
        "left_out": [],
        "conclusion": "single" if len(kinds) == 1 else "mix",
        "predicted_ms": None,
        "prediction": None,
        "partitions": [_partition(job, partition) for partition in partitions],
        "transfers": [],
        "opportunities": [],
        "transitions": transitions(partitions),
        "spin": job.run.spin.value,
        "embed": False,
        "parallel": False,
        "max_rel_error": error if error is None or isfinite(error) else None,
        "allowed_error": allowed,
        "allowed_reason": "the model's own rounding" if allowed and rounds(job.problem.graph) else None,
        "accuracy": None,
        "reduced_precision": [],
        "reduced_precision_dropped": [],
        "mixes": [],
        "segments": [],
        "search": _no_search(seconds),
        "threads": 1,
        "max_memory": None,
        "engines": {
            name: {"version": registry.get(name).probe_loading().version}
            for name in sorted({registry.engine_of(partition.target) for partition in partitions})
        },
        "machine": {**asdict(this_machine()), "fingerprint": this_machine().fingerprint},
    }


def _partition(job: Compilation, partition: Partition) -> dict[str, Any]:
    return {
        "target": str(partition.target),
        "device": job.device_of(partition) or partition.target.device_type,
        "config": str(job.config_of(partition)),
        "nodes": list(partition.nodes),
        "precision": None,
        "predicted_ms": None,
        "measured_ms": None,
        "share": None,
        "transition_ms": None,
        "runners_up": [],
        "not_chosen": [],
    }


def _no_search(seconds: float) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 3),
        "announced_s": None,
        "announced_because": None,
        "measured": 0,
        "cached": 0,
        "segments": 0,
        "candidates": 0,
        "finished": True,
        "interrupted": False,
        "replayed": False,
        "unmeasured": [],
        "control_void": False,
        "void_reason": None,
        "control": None,
        "benchmark_replayed": False,
    }
