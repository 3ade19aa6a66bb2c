"""In what order plans are listed: by the one race that they were in, and behind it what was timed apart from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = Mapping[str, Any]


def ranked(plans: Iterable[Json]) -> list[Json]:
    """The plans that have a time: first those that raced, then those timed at other moments; each the fastest first."""
    timed = [plan for plan in plans if plan.get("latency_ms") is not None]
    return sorted(timed, key=lambda plan: (not has_raced(plan), plan["latency_ms"]))


def has_raced(plan: Json) -> bool:
    """Whether its time is of the race; of what older reports do not tell, it is."""
    return bool(plan.get("raced", True))
