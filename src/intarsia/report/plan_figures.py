"""The part of a report that says what a plan is like: its interval, its slowest calls, its start, its memory."""

from __future__ import annotations

from typing import Any

from intarsia.cost.records.record import Measurement
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.statistics import Interval, median
from intarsia.cost.timing.verdict import Verdict


def plan_figures(
    name: str, verdict: Verdict, footprint: Footprint | None = None, tuned: Measurement | None = None
) -> dict[str, Any]:
    """Figures of one plan; ``None`` for what was not measured.

    Args:
        name: The plan's.
        verdict: The paired benchmark's figures; they come first.
        footprint: What processes found that loaded the plan.
        tuned: Times of another moment, for a plan that was not benchmarked.
    """
    tail = verdict.tails.get(name)
    p99 = None if tail is None else tail.p99
    compile_s = verdict.compile_s.get(name)
    return {
        "interval_ms": _interval(name, verdict, tuned),
        "p99_ms": None if p99 is None else p99.median,
        "p99_interval_ms": None if p99 is None else _ends(p99),
        "calls": None if tail is None else tail.calls,
        "compile_s": tuned.compile_s if compile_s is None and tuned is not None else compile_s,
        "cold_s": median(footprint.cold_s) if footprint and footprint.cold_s else None,
        "cold_samples_s": list(footprint.cold_s) if footprint else [],
        "memory": _memory(footprint),
    }


def _interval(name: str, verdict: Verdict, tuned: Measurement | None) -> dict[str, float] | None:
    if name in verdict.benchmarked:
        return _ends(verdict.latency(name))
    return _ends(tuned.interval) if tuned is not None and tuned.is_complete else None


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
