"""What a compile measured and decided, as the one JSON object that users, files and renderers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf, isfinite
from typing import Any

from intarsia import __version__
from intarsia.backends import registry
from intarsia.cost.footprint import Footprint
from intarsia.cost.record import Failure
from intarsia.cost.statistics import Interval, median, percentile
from intarsia.cost.verdict import CONTROL_NAME
from intarsia.graph import Graph
from intarsia.graph.rounding import rounds
from intarsia.report.alternatives import atoms_json, openings_json, partitions_json, unmeasured_json
from intarsia.report.moved import transfers_json
from intarsia.report.plan_figures import plan_figures
from intarsia.runtime import this_machine
from intarsia.runtime.plan import switches
from intarsia.runtime.verify import TOLERANCE
from intarsia.search import Candidate, CollageResult, Compilation, Decision, Mix, Single
from intarsia.search.rivals import Rivals
from intarsia.search.rough import Rough


def compile_report(
    *,
    job: Compilation,
    singles: Sequence[Single],
    collage: CollageResult | None,
    decision: Decision,
    seconds: float,
    measured: int,
    cached: int,
    surveyed: Mapping[str, Footprint] | None = None,
    remarks: Sequence[str] = (),
) -> dict[str, Any]:
    """The object that ``intarsia compile --json`` prints; ``artifact`` is set by whoever saves it.

    ``surveyed`` are the footprints of plans that did not race, ``remarks`` what is to be known of the comparison.
    """
    chosen, verdict = decision.chosen, decision.verdict
    footprints = {**(surveyed or {}), **verdict.footprints}
    times = verdict.rounds_ms.get(chosen.name, ())
    rivals = Rivals(job.problem, singles, collage)
    mixes = [] if collage is None else [_mix(mix, decision) for mix in collage.mixes]
    engines = sorted({registry.engine_of(target) for target in job.problem.targets})
    return {
        "artifact": None,
        "model": str(job.origin.model or "a model in memory"),
        "shapes": {name: list(size) if isinstance(size, tuple) else size for name, size in job.origin.shapes},
        "version": __version__,
        "strategy": job.problem.settings.partition,
        "seed": job.problem.settings.seed,
        "budget_s": job.problem.settings.budget_s,
        "config": str(job.team.config),
        "absent": [{"target": target, "reason": reason} for target, reason in job.absent.items()],
        "devices": None if job.devices is None else job.devices.export(),
        "latency_ms": _latency(times),
        "figures": {
            **plan_figures(chosen.name, verdict, footprints.get(chosen.name)),
            "max_rel_error": _finite(decision.error),
            "allowed_error": decision.allowed,
        },
        "singles": [_single(single, decision, footprints) for single in singles],
        "best_single": None if decision.best_single is None else decision.best_single.label,
        "speedup_vs_best_single": _interval(decision.speedup),
        "chosen": chosen.label,
        "reason": decision.reason,
        "verified": decision.is_verified,
        "remarks": list(remarks),
        "predicted_ms": chosen.total_ms,
        "prediction": _prediction(chosen.total_ms, times),
        "partitions": partitions_json(job, decision, rivals),
        "transfers": transfers_json(job, decision),
        "openings": openings_json(chosen, rivals),
        "switches": switches(chosen.partitions),
        "spin": chosen.settings.spin.value,
        "embed": chosen.settings.embed,
        "parallel": chosen.settings.parallel,
        "max_rel_error": _finite(decision.error),
        "allowed_error": decision.allowed,
        "allowed_reason": _why_allowed(decision.allowed, job.problem.graph),
        "accuracy": None if decision.accuracy is None else asdict(decision.accuracy),
        "rough": [_rough(each, decision) for each in decision.rough.found],
        "rough_dropped": [{"plan": plan, "reason": reason} for plan, reason in decision.rough.dropped],
        "mixes": mixes,
        "atoms": [] if collage is None else atoms_json(job.problem.atoms, rivals),
        "search": {
            "seconds": round(seconds, 3),
            "measured": measured,
            "cached": cached,
            "atoms": 0 if collage is None else collage.atoms,
            "candidates": 0 if collage is None else collage.candidates,
            "finished": not decision.is_interrupted and (collage is None or collage.is_finished),
            "interrupted": decision.is_interrupted,
            "unmeasured": unmeasured_json(rivals),
            "control_void": verdict.is_void,
            "control": _control(decision),
        },
        "threads": chosen.settings.threads,
        "max_memory": job.problem.settings.max_memory,
        "engines": {name: {"version": registry.probe(name).version} for name in engines},
        "machine": {**asdict(this_machine()), "fingerprint": this_machine().fingerprint},
    }


def _latency(times: Sequence[float]) -> dict[str, float] | None:
    if not times:
        return None
    return {"median": median(times), "min": min(times), "p90": percentile(times, 0.9)}


def _single(single: Single, decision: Decision, footprints: Mapping[str, Footprint]) -> dict[str, Any]:
    name, verdict = str(single.target), decision.verdict
    if isinstance(single.outcome, Failure):
        failure = {"stage": single.outcome.stage, "reason": single.outcome.reason, "repro": single.outcome.repro}
        return {"target": name, "failure": failure}
    standing = [candidate for candidate in single.candidates if candidate.name not in verdict.failed]
    if not standing:
        stage, reason = verdict.failed[single.candidates[0].name]
        return {"target": name, "failure": {"stage": stage, "reason": reason, "repro": None}}
    raced = {c.name: verdict.expected_ms(c.name) for c in standing if c.name in verdict.raced}
    best = min(standing, key=lambda candidate: raced.get(candidate.name, inf))
    latency = raced.get(best.name, best.total_ms)
    return {
        "target": name,
        "tuned": str(best.partitions[0].target),
        "spin": best.settings.spin.value,
        "latency_ms": latency,
        "speed": _speed(best, latency, decision),
        "raced": best.name in raced,
        "speedup_vs_best_single": None if best == decision.best_single else _interval(_speedup(best, decision)),
        "max_rel_error": _finite(single.outcome.error),
        "allowed_error": single.outcome.allowed,
        **({} if single.stages is None else {"stages": asdict(single.stages)}),
        "load_s": single.outcome.load_s,
        **plan_figures(best.name, verdict, footprints.get(best.name), single.outcome),
    }


def _mix(mix: Mix, decision: Decision) -> dict[str, Any]:
    plan, verdict = mix.candidate, decision.verdict
    raced = plan.name in verdict.raced
    latency = verdict.expected_ms(plan.name) if raced else mix.measured_ms
    failure = verdict.failed.get(plan.name)
    return {
        "name": plan.name,
        "targets": [str(partition.target) for partition in plan.partitions],
        "switches": switches(plan.partitions),
        "predicted_ms": plan.total_ms,
        "latency_ms": latency,
        "speed": _speed(plan, latency, decision),
        "raced": raced,
        "max_rel_error": _finite(verdict.errors.get(plan.name)),
        "speedup_vs_best_single": _interval(_speedup(plan, decision)),
        "failure": None if failure is None else {"stage": failure[0], "reason": failure[1]},
        **plan_figures(plan.name, verdict, verdict.footprints.get(plan.name)),
    }


def _rough(rough: Rough, decision: Decision) -> dict[str, Any]:
    """A plan in less than fp32, as `_mix`, with its error on the inputs that decided."""
    plan = rough.candidate
    row = _mix(Mix(candidate=plan, measured_ms=plan.total_ms or inf), decision)
    return {**row, "precision": list(plan.precisions), "error": rough.error}


def _speedup(plan: Candidate, decision: Decision) -> Interval | None:
    """Against the best single engine, if both raced."""
    best = decision.best_single
    if best is None or not {best.name, plan.name} <= decision.verdict.raced:
        return None
    return decision.verdict.speedup(plan.name, best.name)


def _speed(plan: Candidate, latency_ms: float | None, decision: Decision) -> float | None:
    """How many times as fast as the best single engine: by the rounds that both ran, else by what was measured."""
    raced, best = _speedup(plan, decision), decision.best_single
    if raced is not None or best is None:
        return None if raced is None else raced.median
    raced_best = best.name in decision.verdict.rounds_ms
    best_ms = decision.verdict.expected_ms(best.name) if raced_best else best.total_ms
    return best_ms / latency_ms if best_ms and latency_ms else None


def _finite(error: float | None) -> float | None:
    """JSON has no number for what cannot be compared."""
    return None if error is None or not isfinite(error) else error


def _why_allowed(allowed: float | None, graph: Graph) -> str | None:
    """Why an output may be further off than fp32 explains."""
    if allowed is None or allowed <= TOLERANCE["float32"] or not rounds(graph):
        return None
    return "the model rounds inside, and two right computations of it may differ by so much"


def _prediction(predicted_ms: float | None, times: Sequence[float]) -> dict[str, float] | None:
    if predicted_ms is None or not times:
        return None
    measured = median(times)
    return {"predicted_ms": predicted_ms, "measured_ms": measured, "predicted_over_measured": predicted_ms / measured}


def _control(decision: Decision) -> dict[str, float] | None:
    """The plan to beat against itself."""
    first = next(iter(decision.verdict.rounds_ms), None)
    if first is None or CONTROL_NAME not in decision.verdict.rounds_ms:
        return None
    return _interval(decision.verdict.speedup(CONTROL_NAME, first))


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)
