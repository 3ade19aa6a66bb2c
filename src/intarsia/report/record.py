"""What a compile measured and decided, as the one JSON object that users, files and renderers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from typing import Any

from intarsia.cost.record import Failure
from intarsia.cost.statistics import Interval, median, percentile
from intarsia.runtime import this_machine
from intarsia.runtime.plan import switches
from intarsia.search import Candidate, CollageResult, Compilation, Decision, Single


def compile_report(
    *,
    job: Compilation,
    singles: Sequence[Single],
    collage: CollageResult | None,
    decision: Decision,
    seconds: float,
    measured: int,
    cached: int,
) -> dict[str, Any]:
    """The object that ``intarsia compile --json`` prints; ``artifact`` is set by whoever saves it."""
    chosen, verdict = decision.chosen, decision.verdict
    times = verdict.rounds_ms.get(chosen.name, ())
    profile = verdict.profile_ms.get(chosen.name, (None,) * len(chosen.partitions))
    return {
        "artifact": None,
        "model": str(job.origin.model or "a model in memory"),
        "strategy": job.problem.settings.partition,
        "config": str(job.team.config),
        "absent": [{"target": target, "reason": reason} for target, reason in job.absent.items()],
        "devices": None if job.devices is None else job.devices.export(),
        "latency_ms": _latency(times),
        "singles": [_single(single, decision) for single in singles],
        "best_single": None if decision.best_single is None else decision.best_single.label,
        "speedup_vs_best_single": _interval(decision.speedup),
        "chosen": chosen.label,
        "reason": decision.reason,
        "predicted_ms": chosen.total_ms,
        "partitions": [
            {
                "target": str(partition.target),
                "device": job.device_of(partition),
                "config": str(job.config_of(partition)),
                "nodes": list(partition.nodes),
                "predicted_ms": predicted,
                "measured_ms": measured_ms,
            }
            for partition, predicted, measured_ms in zip(chosen.partitions, chosen.predicted_ms, profile, strict=True)
        ],
        "switches": switches(chosen.partitions),
        "spin": chosen.settings.spin.value,
        "max_rel_error": decision.error,
        "mixes": [] if collage is None else [_mix(mix.candidate, mix.measured_ms, decision) for mix in collage.mixes],
        "search": {
            "seconds": round(seconds, 3),
            "measured": measured,
            "cached": cached,
            "atoms": 0 if collage is None else collage.atoms,
            "finished": collage is None or collage.is_finished,
            "control_void": verdict.is_void,
        },
        "threads": chosen.settings.threads,
        "machine": {**asdict(this_machine()), "fingerprint": this_machine().fingerprint},
    }


def _latency(times: Sequence[float]) -> dict[str, float] | None:
    if not times:
        return None
    return {"median": median(times), "min": min(times), "p90": percentile(times, 0.9)}


def _single(single: Single, decision: Decision) -> dict[str, Any]:
    name, verdict = str(single.target), decision.verdict
    if isinstance(single.outcome, Failure):
        failure = {"stage": single.outcome.stage, "reason": single.outcome.reason, "repro": single.outcome.repro}
        return {"target": name, "failure": failure}
    standing = [candidate for candidate in single.candidates if candidate.name not in verdict.failed]
    if not standing:
        stage, reason = verdict.failed[single.candidates[0].name]
        return {"target": name, "failure": {"stage": stage, "reason": reason, "repro": None}}
    raced = {c.name: verdict.expected_ms(c.name) for c in standing if c.name in verdict.rounds_ms}
    best = min(standing, key=lambda candidate: raced.get(candidate.name, inf))
    return {
        "target": name,
        "tuned": str(best.partitions[0].target),
        "spin": best.settings.spin.value,
        "latency_ms": raced.get(best.name, best.total_ms),
        "max_rel_error": single.outcome.error,
        "compile_s": single.outcome.compile_s,
        "load_s": single.outcome.load_s,
    }


def _mix(mix: Candidate, measured_ms: float, decision: Decision) -> dict[str, Any]:
    times = decision.verdict.rounds_ms.get(mix.name)
    return {
        "name": mix.name,
        "targets": [str(partition.target) for partition in mix.partitions],
        "switches": switches(mix.partitions),
        "predicted_ms": mix.total_ms,
        "latency_ms": median(times) if times else measured_ms,
    }


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)
