"""The plans that were timed, as the page lists them: each with its bar, under its heading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

from intarsia.report.page.engines import colour, names
from intarsia.report.reasons import Json, divided, load_of, ms, per_second, ranked

HEADINGS: Mapping[str, int] = MappingProxyType(
    {
        "Every engine alone": 6,
        "Mixes of engines": 3,
        "In reduced precision": 3,
        "At default settings": 3,
        "The plan that was asked for": 1,
    }
)
"""What plans are listed under, and how many of each the first screen shows."""


def plans(report: Json) -> list[dict[str, Any]]:
    """Every plan that was timed, those of the benchmark first, its speed as a bar with its interval."""
    known = (
        *report["singles"],
        *report.get("mixes", ()),
        *report.get("reduced_precision", ()),
        *report.get("default_settings", ()),
    )
    timed = ranked([plan for plan in known if isfinite(plan.get("latency_ms") or inf)])
    if report["latency_ms"] is not None and report["chosen"] not in map(_label, timed):
        timed.append(_asked_for(report))
    longest = max((_most(plan) for plan in timed), default=1.0)
    found = [_plan(plan, report, longest) for plan in ranked(timed)]
    alike = Counter(plan["name"] for plan in found)
    return [
        {**plan, "unique": f"{plan['name']} ({plan['tag']})" if alike[plan["name"]] > 1 else plan["name"]}
        for plan in found
    ]


def _label(plan: Json) -> Any:
    """What the report's ``chosen`` calls a plan."""
    return plan.get("label", plan.get("name", plan.get("target")))


def groups(plans: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    """The plans under the heading that each belongs to, the order kept: an engine alone is no mix."""
    found = {heading: [plan for plan in plans if plan["heading"] == heading] for heading in HEADINGS}
    return [(heading, held) for heading, held in found.items() if held]


def foremost(plans: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    """As `groups`, the fastest of each and what ships."""
    return [
        (heading, [plan for place, plan in enumerate(held) if plan["is_chosen"] or place < HEADINGS[heading]])
        for heading, held in groups(plans)
    ]


def _heading(plan: Json) -> str:
    alone, mixes, reduced, defaults, asked = HEADINGS
    if "default_of" in plan:
        return defaults
    if "transitions" not in plan:
        return alone
    if "precision" in plan:
        return reduced
    return asked if plan.get("asked") else mixes


def _asked_for(report: Json) -> Json:
    """What ships, where it was asked for or divided by priority: it stands in no list."""
    gain = report["speedup_vs_best_single"]
    return {
        "name": report["chosen"],
        "asked": True,
        "targets": [part["target"] for part in report["partitions"]],
        "transitions": report["transitions"],
        "latency_ms": report["latency_ms"]["median"],
        "speed": None if gain is None else gain["median"],
        "speedup_vs_best_single": gain,
        **({} if (load := load_of(report)) is None else {"load": load}),
    }


def _plan(plan: Json, report: Json, longest: float) -> dict[str, Any]:
    is_mix = "transitions" in plan
    target = plan.get("tuned", plan.get("target"))
    targets = plan["targets"] if is_mix else [target]
    interval, speed, load = plan.get("speedup_vs_best_single"), plan.get("speed"), plan.get("load")
    is_best = not is_mix and "default_of" not in plan and plan["target"] == report["best_single"]
    return {
        "heading": _heading(plan),
        "name": _name(plan) if is_mix else target,
        "tag": plan["name"] if is_mix else None,
        "transitions": plan["transitions"] if is_mix else 0,
        "is_best": is_best,
        "is_chosen": "default_of" not in plan and _label(plan) == report["chosen"],
        "colours": list(dict.fromkeys(colour(target) for target in targets)),
        "figure": ms(plan["latency_ms"]) if load is None else f"{per_second(load)} by {divided(load)}",
        "speed": speed,
        "width": None if speed is None else 100 * speed / longest,
        "one": 100 / longest,
        "interval": interval,
        "whisker": None
        if interval is None or is_best
        else (100 * interval["low"] / longest, 100 * interval["high"] / longest),
        "benchmarked": plan.get("benchmarked", True),
        "error": plan.get("max_rel_error"),
        "failure": plan.get("failure"),
    }


def _name(mix: Json) -> str:
    precisions = mix.get("precision", ())
    return " + ".join(names(mix["targets"])) + (f" in {' + '.join(precisions)}" if precisions else "")


def _most(plan: Json) -> float:
    interval = plan.get("speedup_vs_best_single")
    return max(plan.get("speed") or 0.0, 1.0, interval["high"] if interval else 0.0)
