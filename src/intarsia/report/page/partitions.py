"""The partitions of what ships, as the page shows them: legend, table, and one run from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from intarsia.report.bodies import parts_of_bodies
from intarsia.report.page.engines import colour, label, shares
from intarsia.report.reasons import Json, ms, runner_up


def shared(report: Json) -> str:
    """What the legend shares out: the time, where it is known."""
    return "time" if _times(report["partitions"], None) else "nodes"


def legend(report: Json) -> list[dict[str, Any]]:
    """Each engine of the plan with its share of the time and of the nodes."""
    parts = report["partitions"]
    nodes: dict[str, int] = {}
    for part in parts:
        name = label(part["target"], part.get("device"))
        nodes[name] = nodes.get(name, 0) + len(part["nodes"])
    return [
        {"label": name, "colour": colour(name), "share": share, "nodes": nodes[name]}
        for name, share in sorted(shares(report).items(), key=lambda item: -item[1])
    ]


def parts(report: Json, run_ms: Sequence[float] | None) -> list[dict[str, Any]]:
    """The parts in running order, with bars for predicted and measured times on one scale."""
    listed = report["partitions"]
    now: Sequence[float | None] = run_ms or [None] * len(listed)
    known = [each for part in listed for each in (part["predicted_ms"], part["measured_ms"]) if each is not None]
    longest = max([*known, *(each for each in now if each is not None)], default=0) or 1
    return [
        {
            "number": number,
            "target": part["target"],
            "label": label(part["target"], part.get("device")),
            "colour": colour(part["target"], part.get("device")),
            "nodes": len(part["nodes"]),
            "share": part.get("share"),
            "transition_ms": part.get("transition_ms"),
            "bars": [
                (name, each, 100 * each / longest)
                for name, each in (
                    ("predicted", part["predicted_ms"]),
                    ("measured", part["measured_ms"]),
                    ("now", now[number - 1]),
                )
                if each is not None
            ],
            "off": _off(part["predicted_ms"], part["measured_ms"]),
            "runner_up": runner_up(part),
            "config": part.get("config"),
            "inner": list(parts_of_bodies(part, report.get("bodies", ()))),
        }
        for number, part in enumerate(listed, start=1)
    ]


def _off(predicted: float | None, measured: float | None) -> float | None:
    return predicted / measured - 1 if predicted is not None and measured else None


def timeline(report: Json, run_ms: Sequence[float] | None) -> dict[str, Any] | None:
    """One run from left to right, a lane for each engine.

    ``None`` where not every part has a time, and of one part, of which it would say nothing.
    """
    listed = report["partitions"]
    found = _times(listed, run_ms)
    if found is None or len(listed) == 1:
        return None
    source, times = found
    whole = sum(times)
    order = [
        _segment(number, part, start, spent, whole)
        for number, (part, start, spent) in enumerate(
            zip(listed, accumulate([0.0, *times]), times, strict=False), start=1
        )
    ]
    lanes: dict[str, list[dict[str, Any]]] = {}
    for segment in order:
        lanes.setdefault(segment["label"], []).append(segment)
    return {
        "source": source,
        "whole_ms": whole,
        "order": order,
        "lanes": lanes,
        "ticks": [{"left": 25 * quarter, "ms": whole * quarter / 4} for quarter in range(5)],
        "parallel": report.get("parallel", False),
    }


def _times(listed: Sequence[Json], run_ms: Sequence[float] | None) -> tuple[str, list[float]] | None:
    """The best times that there are, and where they are from."""
    for source, times in (
        ("measured just now", run_ms),
        ("measured in the finished plan", [part["measured_ms"] for part in listed]),
        ("predicted", [part["predicted_ms"] for part in listed]),
    ):
        known: list[float] = [spent for spent in times or () if spent is not None]
        if len(known) == len(listed) and any(known):
            return source, known
    return None


def _segment(number: int, part: Json, start: float, spent: float, whole: float) -> dict[str, Any]:
    name = label(part["target"], part.get("device"))
    transition = min(part.get("transition_ms") or 0.0, spent)
    to_transition = f", {ms(transition)} ms of it to transition" if transition else ""
    return {
        "number": number,
        "label": name,
        "colour": colour(part["target"], part.get("device")),
        "left": 100 * start / whole,
        "width": 100 * spent / whole,
        "transition": 100 * transition / spent if spent else 0,
        "title": f"partition {number}: {name}, {ms(spent)} ms from {ms(start) if start else 0} ms on{to_transition}",
    }
