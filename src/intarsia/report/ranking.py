"""In what order plans are listed: those of the one benchmark, and behind them those timed apart from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = Mapping[str, Any]


def ranked(plans: Iterable[Json]) -> list[Json]:
    """The plans that have a time: first those of the benchmark, then those timed apart; each the fastest first."""
    timed = [plan for plan in plans if plan.get("latency_ms") is not None]
    return sorted(timed, key=lambda plan: (not was_benchmarked(plan), plan["latency_ms"]))


def was_benchmarked(plan: Json) -> bool:
    """Whether its time is of the benchmark; of what older reports do not tell, it is."""
    return bool(plan.get("benchmarked", True))
