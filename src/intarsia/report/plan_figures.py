"""What a plan is like, and what it needs: its interval, its slowest calls, its start, its memory, its artifact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.cost.records.record import Measurement
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.statistics import Interval, median
from intarsia.cost.timing.verdict import Verdict
from intarsia.errors import BackendUnavailableError
from intarsia.planning.problem import Candidate
from intarsia.report.reasons import Json


def plan_figures(
    plan: Candidate, verdict: Verdict, footprint: Footprint | None = None, tuned: Measurement | None = None
) -> dict[str, Any]:
    """Figures of one plan; ``None`` for what was not measured.

    Those of the paired benchmark come first; ``tuned`` are of another moment, for a plan that was not benchmarked.
    """
    tail = verdict.tails.get(plan.name)
    p99 = None if tail is None else tail.p99
    compile_s = verdict.compile_s.get(plan.name)
    return {
        **load_json(plan, verdict),
        "interval_ms": _interval(plan, verdict, tuned),
        "p99_ms": None if p99 is None else p99.median,
        "p99_interval_ms": None if p99 is None else _ends(p99),
        "calls": None if tail is None else tail.calls,
        "compile_s": tuned.compile_s if compile_s is None and tuned is not None else compile_s,
        "cold_s": median(footprint.cold_s) if footprint and footprint.cold_s else None,
        "cold_samples_s": list(footprint.cold_s) if footprint else [],
        "memory": _memory(footprint),
    }


def load_json(plan: Candidate, verdict: Verdict) -> dict[str, Any]:
    """Under ``load``, how many instances on how many threads each answer how much; nothing of single calls."""
    if plan.between_ms is None and not verdict.instances:
        return {}
    tail, name = verdict.tails.get(plan.name), plan.name
    rate = asdict(verdict.requests_per_second(name)) if name in verdict.benchmarked else None
    if rate is None and plan.between_ms:
        rate = {"median": 1e3 / plan.between_ms, "low": None, "high": None}
    return {
        "load": {
            "instances": plan.settings.instances,
            "threads": plan.settings.threads,
            "requests_per_second": rate,
            "p50_ms": None if tail is None else tail.p50,
            "p99_ms": None if tail is None else tail.p99_ms,
        }
    }


def call_ms(plan: Candidate, verdict: Verdict) -> float | None:
    """Milliseconds of a call: of the paired benchmark, else those of tuning; under load with all instances at work."""
    if plan.name in verdict.benchmarked:
        return verdict.call_ms(plan.name)
    return plan.total_ms if plan.between_ms is None else plan.settings.instances * plan.between_ms


def _interval(plan: Candidate, verdict: Verdict, tuned: Measurement | None) -> dict[str, float] | None:
    if plan.name in verdict.benchmarked:
        return _ends(verdict.latency(plan.name))
    is_of_call = tuned is not None and tuned.is_complete and plan.between_ms is None
    return _ends(tuned.interval) if tuned is not None and is_of_call else None


def _ends(interval: Interval) -> dict[str, float]:
    return {"low": interval.low, "high": interval.high}


def _memory(footprint: Footprint | None) -> dict[str, Any] | None:
    if footprint is None:
        return None
    return {
        "peak": footprint.peak_bytes,
        "steady": footprint.steady_bytes,
        "peak_samples": [each.peak for each in footprint.memory],
    }


def needs_json(
    chosen: str, figures: Json, singles: Sequence[Json], artifact: Path, model: str | None, weights: int
) -> dict[str, Any]:
    """Both sizes with what each is compared with; ``None`` for what is not known.

    ``chosen`` is the label of what ships; ``weights`` are bytes, which may lie in other files than the model's.
    """
    alternative = _alternative(chosen, singles)
    return {
        "memory": _peak(figures),
        "alternative": None if alternative is None else alternative["target"],
        "alternative_memory": None if alternative is None else _peak(alternative),
        "artifact": _size(artifact),
        "model": max(weights, _size(Path(model)) or 0 if model is not None else 0) or None,
    }


def _alternative(chosen: str, singles: Sequence[Json]) -> Json | None:
    """What would ship without kernels of our own: the engine that ours is made of, or else the fastest other one."""
    known = [single for single in singles if _peak(single) is not None]
    host = _extended(chosen)
    hosts = [single for single in known if host is not None and _engine(single["target"]) == host]
    others = [single for single in known if _extended(single["target"]) is None]
    found = min(hosts or others, key=lambda single: single.get("latency_ms") or inf, default=None)
    return None if found is None or found["target"] == chosen else found


def _extended(target: str) -> str | None:
    try:
        return registry.get(_engine(target)).extends
    except BackendUnavailableError:  # the name of a mix, or an engine of a package that is gone
        return None


def _engine(target: str) -> str:
    return target.split(maxsplit=1)[0]


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None


def _peak(plan: Json) -> int | None:
    memory = plan.get("memory")
    return memory["peak"] if memory else None
