"""What a compile measured and decided, as the one JSON object that users, files and renderers share.

Each plan has one figure of milliseconds, whoever shows it. The figures of one benchmark belong together, and speeds are
their ratios. A plan that was not benchmarked has what it took when it was tuned, at another moment, and no speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import inf, isfinite
from typing import Any

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.statistics import Interval, percentile
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict, out_by
from intarsia.graph import Graph
from intarsia.graph.reference.rounding import rounds
from intarsia.planning.bodies import RUNS_BODIES
from intarsia.planning.problem import Candidate
from intarsia.planning.request import Compilation
from intarsia.report.alternatives import (
    opportunities_json,
    partitions_json,
    segments_json,
    transfers_json,
    unmeasured_json,
)
from intarsia.report.default_settings import rows_json
from intarsia.report.described import marked
from intarsia.report.layers import layers_json
from intarsia.report.plan_figures import call_ms, needs_json, plan_figures
from intarsia.runtime import Bucket, this_machine
from intarsia.runtime.plan import transitions
from intarsia.runtime.verify import TOLERANCE
from intarsia.search.collage.collage import CollageResult, Mix
from intarsia.search.decision.decision import Decision
from intarsia.search.default_settings import AtDefaults
from intarsia.search.precision.trials import ReducedPrecision
from intarsia.search.single.alternatives import AlternativeCosts
from intarsia.search.single.single_engine import Single
from intarsia.version import __version__

_SUMMED = ("seconds", "measured", "cached")


def request_json(job: Compilation) -> dict[str, Any]:
    """What was asked for; ``artifact`` is set by whoever saves the report."""
    return {
        "artifact": None,
        "model": str(job.origin.model or "a model in memory"),
        "shapes": {name: list(size) if isinstance(size, tuple) else size for name, size in job.origin.shapes},
        "version": __version__,
        "objective": job.problem.settings.objective,
        "max_latency_ms": job.problem.settings.max_latency_ms,
        "max_error": job.problem.settings.max_error,
        "strategy": job.problem.settings.partition,
        "seed": job.problem.settings.seed,
        "budget_s": job.problem.settings.budget_s,
        "config": str(job.engine_set.config),
        "described": None if job.difference is None else job.difference.export(),
        "absent": [{"target": target, "reason": reason} for target, reason in job.absent.items()],
        "devices": None if job.devices is None else job.devices.export(),
    }


def compile_report(
    *,
    job: Compilation,
    singles: Sequence[Single],
    tuned: Sequence[Single],
    collage: CollageResult | None,
    decision: Decision,
    seconds: float,
    measured: int,
    cached: int,
    others: Mapping[str, Footprint] | None = None,
    remarks: Sequence[str] = (),
    announced: tuple[float, str] | None = None,
    left_out: Mapping[str, Failure] | None = None,
    defaults: Sequence[AtDefaults] = (),
    told: Mapping[str, Mapping[str, float]] | None = None,
    kernels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The object that ``intarsia compile --json`` prints; ``artifact`` is set by whoever saves it.

    ``tuned`` are the engines as the search for mixes knew them.
    ``others`` are the footprints of plans that were not benchmarked, ``remarks`` what is to be known of the comparison,
    beside what planning remarks;
    ``announced`` is how many seconds were announced that it would take, where those of the budget do not do, and why.
    ``left_out`` are failures that no engine is to blame for, by the targets that ran: they are kept nowhere but here.
    ``defaults`` are engines at default settings that are less exact.
    ``told`` are milliseconds of nodes as engines report them, by the targets that ran the whole model,
    ``kernels`` the kernels of ours that compute nodes of what ships.
    """
    chosen, verdict = decision.chosen, decision.verdict
    footprints = {**(others or {}), **verdict.footprints}
    latency = _latency(chosen.name, verdict)
    alternatives = AlternativeCosts(job.problem, tuned, collage)
    mixes = [_mix(mix, decision) for mix in (*(() if collage is None else collage.mixes), *_inside_mixes(singles))]
    figures = plan_figures(chosen, verdict, footprints.get(chosen.name))
    alone = [_single(single, decision, footprints) for single in singles if single.target != RUNS_BODIES]
    engines = sorted({registry.engine_of(target) for target in job.problem.leaves})
    found = {
        **request_json(job),
        "latency_ms": latency,
        "figures": {**figures, "max_rel_error": _finite(decision.error), "allowed_error": decision.allowed},
        "needs": needs_json(
            chosen.label, figures, alone, decision.artifact, job.origin.model, job.problem.graph.weight_bytes
        ),
        "singles": alone,
        "best_single": None if decision.best_single is None else decision.best_single.label,
        "speedup_vs_best_single": _interval(decision.speedup),
        "chosen": chosen.label,
        "shown_vs_best_single": _shown(chosen, decision),
        "reason": decision.reason,
        "verified": decision.is_verified,
        "remarks": [*job.remarks, *remarks, *(_left_out_remark(name, each) for name, each in (left_out or {}).items())],
        "left_out": [
            {"target": name, "stage": each.stage, "reason": each.reason, "cause": each.cause.value}
            for name, each in (left_out or {}).items()
        ],
        "conclusion": decision.conclusion.value,
        "predicted_ms": chosen.total_ms,
        "prediction": None if verdict.instances else _prediction(chosen.total_ms, latency),
        "partitions": partitions_json(job, decision, alternatives),
        "transfers": transfers_json(job, decision),
        "opportunities": opportunities_json(chosen, alternatives),
        "transitions": transitions(chosen.partitions),
        "spin": chosen.settings.spin.value,
        "embed": chosen.settings.embed,
        "parallel": chosen.settings.parallel,
        "max_rel_error": _finite(decision.error),
        "allowed_error": decision.allowed,
        "allowed_reason": _why_allowed(decision.allowed, job.problem.graph),
        "accuracy": None if decision.accuracy is None else asdict(decision.accuracy),
        "reduced_precision": [_reduced(each, decision) for each in decision.reduced.found],
        "reduced_precision_dropped": [{"plan": plan, "reason": reason} for plan, reason in decision.reduced.dropped],
        "mixes": mixes,
        "default_settings": rows_json(
            defaults, None if latency is None else latency["median"], _speed(chosen, decision), figures.get("load")
        ),
        "segments": [] if collage is None else segments_json(job.problem.segments, alternatives),
        "layers": layers_json(job.problem.graph, chosen.partitions, told or {}, kernels or {}),
        "search": {
            "seconds": round(seconds, 3),
            "announced_s": None if announced is None else announced[0],
            "announced_because": None if announced is None else announced[1],
            "measured": measured,
            "cached": cached,
            "segments": 0 if collage is None else collage.segments,
            "candidates": 0 if collage is None else collage.candidates,
            "finished": not decision.is_interrupted and (collage is None or collage.is_finished),
            "interrupted": decision.is_interrupted,
            "replayed": collage is not None and collage.is_replayed,
            "unmeasured": unmeasured_json(alternatives),
            "control_void": verdict.is_void,
            "void_reason": _void_reason(verdict),
            "control": _control(decision),
            "benchmark_replayed": verdict.is_replayed,
        },
        "threads": chosen.settings.threads,
        "instances": chosen.settings.instances,
        "max_memory": job.problem.settings.max_memory,
        "engines": {name: {"version": registry.probe(name).version} for name in engines},
        "machine": {**asdict(this_machine()), "fingerprint": this_machine().fingerprint},
    }
    return marked(found)


def _left_out_remark(target: str, failure: Failure) -> str:
    cure = f" ({failure.cause.cure})" if failure.cause.cure else ""
    return (
        f"{target} failed at {failure.stage} by no fault of its own: {failure.reason}{cure}; "
        "that is not kept, and the next compile tries it again"
    )


def _latency(name: str, verdict: Verdict) -> dict[str, float] | None:
    times = verdict.rounds_ms.get(name)
    if not times:
        return None
    ms, count = verdict.call_ms(name), verdict.instances.get(name, 1)
    return {
        "median": ms,
        "min": min(ms, *(count * each for each in times)),
        "p90": max(ms, count * percentile(times, 0.9)),
    }


def _single(single: Single, decision: Decision, footprints: Mapping[str, Footprint]) -> dict[str, Any]:
    name, verdict = str(single.target), decision.verdict
    if isinstance(single.outcome, Failure):
        failure = {
            "stage": single.outcome.stage,
            "reason": single.outcome.reason,
            "cause": single.outcome.cause.value,
            "repro": single.outcome.repro,
        }
        return {"target": name, "failure": failure}
    working = [candidate for candidate in single.candidates if candidate.name not in verdict.failed]
    if not working:
        stage, reason = verdict.failed[single.candidates[0].name]
        cause = verdict.causes.get(single.candidates[0].name, Cause.ENGINE).value
        return {"target": name, "failure": {"stage": stage, "reason": reason, "cause": cause, "repro": None}}
    benchmarked = {c.name: verdict.expected_ms(c.name) for c in working if c.name in verdict.benchmarked}
    best = min(working, key=lambda candidate: benchmarked.get(candidate.name, inf))
    return {
        "target": name,
        "tuned": str(best.partitions[0].target),
        "spin": best.settings.spin.value,
        "latency_ms": call_ms(best, verdict),
        "speed": _speed(best, decision),
        "benchmarked": best.name in benchmarked,
        "speedup_vs_best_single": None if best == decision.best_single else _interval(_speedup(best, decision)),
        "shown_vs_best_single": _shown(best, decision),
        "max_rel_error": _finite(single.outcome.error),
        "allowed_error": single.outcome.allowed,
        **({} if single.stages is None else {"stages": asdict(single.stages)}),
        "load_s": single.outcome.load_s,
        **plan_figures(best, verdict, footprints.get(best.name), single.outcome),
    }


def _inside_mixes(singles: Sequence[Single]) -> Iterator[Mix]:
    """The best plan of a model that is control flow as a whole, which several engines may run inside."""
    for single in singles:
        if single.target == RUNS_BODIES and single.candidates:
            yield Mix(candidate=single.candidates[0], measured_ms=single.outcome.cost_ms)


def _mix(mix: Mix, decision: Decision) -> dict[str, Any]:
    plan, verdict = mix.candidate, decision.verdict
    benchmarked = plan.name in verdict.benchmarked
    latency = verdict.call_ms(plan.name) if benchmarked else mix.measured_ms
    failure = verdict.failed.get(plan.name)
    return {
        "name": plan.name,
        "targets": [str(partition.target) for partition in plan.partitions],
        "transitions": transitions(plan.partitions),
        "predicted_ms": plan.total_ms,
        "latency_ms": latency,
        "speed": _speed(plan, decision),
        "benchmarked": benchmarked,
        "max_rel_error": _finite(verdict.errors.get(plan.name)),
        "speedup_vs_best_single": _interval(_speedup(plan, decision)),
        "shown_vs_best_single": _shown(plan, decision),
        "failure": None if failure is None else {"stage": failure[0], "reason": failure[1]},
        **plan_figures(plan, verdict, verdict.footprints.get(plan.name)),
    }


def _reduced(reduced: ReducedPrecision, decision: Decision) -> dict[str, Any]:
    """A plan in less than fp32, as `_mix`, with its error on the inputs that decided."""
    plan = reduced.candidate
    row = _mix(Mix(candidate=plan, measured_ms=plan.total_ms or inf), decision)
    return {**row, "label": plan.label, "precision": list(plan.precisions), "error": reduced.error}


def _speedup(plan: Candidate, decision: Decision) -> Interval | None:
    """Against the best single engine, if both were benchmarked."""
    best = decision.best_single
    if best is None or not {best.name, plan.name} <= decision.verdict.benchmarked:
        return None
    return decision.verdict.speedup(plan.name, best.name)


def _speed(plan: Candidate, decision: Decision) -> float | None:
    """How many times as fast as the best single engine, if both were benchmarked together."""
    gain = _speedup(plan, decision)
    return None if gain is None else gain.median


def _finite(error: float | None) -> float | None:
    """JSON has no number for what cannot be compared."""
    return None if error is None or not isfinite(error) else error


def _why_allowed(allowed: float | None, graph: Graph) -> str | None:
    """Why an output may be further off than fp32 explains."""
    if allowed is None or allowed <= TOLERANCE["float32"] or not rounds(graph):
        return None
    return "the model rounds inside, and two right computations of it may differ by so much"


def _shown(plan: Candidate, decision: Decision) -> str | None:
    """What the benchmark shows of it against the best single engine; ``None`` for that engine, and without one."""
    best = decision.best_single
    if best is None or best.name == plan.name or _speedup(plan, decision) is None:
        return None
    return decision.verdict.compared(plan.name, best.name).value


def _prediction(predicted_ms: float | None, latency: Mapping[str, float] | None) -> dict[str, float] | None:
    if predicted_ms is None or latency is None:
        return None
    measured = latency["median"]
    return {"predicted_ms": predicted_ms, "measured_ms": measured, "predicted_over_measured": predicted_ms / measured}


def _void_reason(verdict: Verdict) -> str | None:
    """Why the benchmark shows nothing."""
    if not verdict.is_void:
        return None
    is_noise = CONTROL_NAME in verdict.rounds_ms and not verdict.control_holds
    return out_by(verdict.control) if is_noise else "the benchmark did not come to its end"


def _control(decision: Decision) -> dict[str, float] | None:
    """The plan to beat against itself."""
    return _interval(decision.verdict.control) if CONTROL_NAME in decision.verdict.rounds_ms else None


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)


def report_of_sizes(reports: Sequence[tuple[Bucket, Mapping[str, Any]]]) -> dict[str, Any]:
    """The report of the largest sizes, and under ``buckets`` all of them with the sizes that each is for."""
    last = reports[-1][1]
    search = {name: sum(report["search"][name] for _, report in reports) for name in _SUMMED}
    buckets = [
        {
            "ranges": {name: [range_.low, range_.high] for name, range_ in bucket.ranges.items()},
            "measured_at": dict(bucket.sizes),
            **report,
        }
        for bucket, report in reports
    ]
    unverified = next((report for _, report in reports if not report.get("verified", True)), None)
    if unverified is not None:
        last = {**last, "verified": False, "reason": unverified["reason"]}
    together = {
        "left_out": [each for _, report in reports for each in report.get("left_out", ())],
        "remarks": list(dict.fromkeys(each for _, report in reports for each in report.get("remarks", ()))),
    }
    return {**last, **together, "search": {**last["search"], **search}, "buckets": buckets}
