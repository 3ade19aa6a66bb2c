"""What the page's text, tables and charts say, in the order of the page; a figure that a report lacks is left out."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

from intarsia.report.needs import needs_told
from intarsia.report.page.engines import Engines, names, shares
from intarsia.report.ranking import ranked
from intarsia.report.reasons import decision, figures, ms, opportunity, runner_up

Json = Mapping[str, Any]
HEADINGS: Mapping[str, int] = MappingProxyType(
    {"Every engine alone": 6, "Mixes of engines": 3, "In reduced precision": 3, "The plan that was asked for": 1}
)
"""What plans are listed under, and how many of each the first screen shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an artifact knows beside its report.

    Attributes:
        engines: Version and licence of each engine that it needs, by name.
        plan: The plan file that gives its plan again.
        run_ms: Milliseconds of each part in a run right now; ``None`` where nothing was run.
    """

    engines: Mapping[str, Mapping[str, str]]
    plan: str
    run_ms: Sequence[float] | None = None


def verdict(report: Json) -> str:
    """What ships, in a few words."""
    engines = names(part["target"] for part in report["partitions"])
    if len(engines) == 1:
        return f"{engines[0]} alone"
    return f"{', '.join(engines[:-1])} and {engines[-1]}"


def reasons(report: Json) -> list[str]:
    """The sentences that ``intarsia explain`` prints; what is left out of them stands on the page."""
    return [*decision(report, "all are listed below"), *needs_told(report), *figures(report)]


def error_note(report: Json) -> str:
    """What is known of the largest error: whether the plan was shown to be right, and what was allowed."""
    if not report.get("verified", True):
        return "not verified"
    allowed, why = report.get("allowed_error"), report.get("allowed_reason")
    return "" if allowed is None else f"{allowed:.1e} is allowed{f': {why}' if why else ''}"


def shared(report: Json) -> str:
    """What the legend shares out: the time, where it is known."""
    return "time" if _times(report["partitions"], None) else "nodes"


def legend(report: Json, engines: Engines) -> list[dict[str, Any]]:
    """Each engine of the plan with its share of the time and of the nodes."""
    parts = report["partitions"]
    nodes: dict[str, int] = {}
    for part in parts:
        label = engines.label(part["target"], part.get("device"))
        nodes[label] = nodes.get(label, 0) + len(part["nodes"])
    return [
        {"label": label, "colour": engines.number(label), "share": share, "nodes": nodes[label]}
        for label, share in sorted(shares(report).items(), key=lambda item: -item[1])
    ]


def plans(report: Json, engines: Engines) -> list[dict[str, Any]]:
    """Every plan that was timed, those of the benchmark first, its speed as a bar with its interval."""
    known = (*report["singles"], *report.get("mixes", ()), *report.get("reduced_precision", ()))
    timed = ranked([plan for plan in known if isfinite(plan.get("latency_ms") or inf)])
    if report["latency_ms"] is not None and report["chosen"] not in map(_label, timed):
        timed.append(_given(report))
    longest = max((_most(plan) for plan in timed), default=1.0)
    found = [_plan(plan, report, engines, longest) for plan in ranked(timed)]
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
    alone, mixes, reduced, asked = HEADINGS
    if "transitions" not in plan:
        return alone
    if "precision" in plan:
        return reduced
    return asked if plan.get("asked") else mixes


def _given(report: Json) -> Json:
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
    }


def _plan(plan: Json, report: Json, engines: Engines, longest: float) -> dict[str, Any]:
    is_mix = "transitions" in plan
    targets = plan["targets"] if is_mix else [plan["tuned"]]
    interval, speed = plan.get("speedup_vs_best_single"), plan.get("speed")
    is_best = not is_mix and plan["target"] == report["best_single"]
    return {
        "heading": _heading(plan),
        "name": _name(plan) if is_mix else plan["tuned"],
        "tag": plan["name"] if is_mix else None,
        "transitions": plan["transitions"] if is_mix else 0,
        "is_best": is_best,
        "is_chosen": _label(plan) == report["chosen"],
        "colours": list(dict.fromkeys(engines.number(target) for target in targets)),
        "ms": plan["latency_ms"],
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


def failures(report: Json) -> Iterator[dict[str, Any]]:
    """The engines that could not run the whole model, or took no part."""
    for single in report["singles"]:
        if "failure" in single:
            yield {"target": single["target"], **single["failure"]}
    for absent in report.get("absent", ()):
        yield {"target": absent["target"], "stage": "absent", "reason": absent["reason"], "repro": None}


def parts(report: Json, engines: Engines, run_ms: Sequence[float] | None) -> list[dict[str, Any]]:
    """The parts in running order, with bars for predicted and measured times on one scale."""
    listed = report["partitions"]
    now: Sequence[float | None] = run_ms or [None] * len(listed)
    known = [each for part in listed for each in (part["predicted_ms"], part["measured_ms"]) if each is not None]
    longest = max([*known, *(each for each in now if each is not None)], default=0) or 1
    return [
        {
            "number": number,
            "target": part["target"],
            "label": engines.label(part["target"], part.get("device")),
            "colour": engines.number(part["target"], part.get("device")),
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
        }
        for number, part in enumerate(listed, start=1)
    ]


def _off(predicted: float | None, measured: float | None) -> float | None:
    return predicted / measured - 1 if predicted is not None and measured else None


def timeline(report: Json, engines: Engines, run_ms: Sequence[float] | None) -> dict[str, Any] | None:
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
        _segment(number, part, engines, start, spent, whole)
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


def _segment(number: int, part: Json, engines: Engines, start: float, spent: float, whole: float) -> dict[str, Any]:
    label = engines.label(part["target"], part.get("device"))
    transition = min(part.get("transition_ms") or 0.0, spent)
    to_transition = f", {ms(transition)} ms of it to transition" if transition else ""
    return {
        "number": number,
        "label": label,
        "colour": engines.number(part["target"], part.get("device")),
        "left": 100 * start / whole,
        "width": 100 * spent / whole,
        "transition": 100 * transition / spent if spent else 0,
        "title": f"part {number}: {label}, {ms(spent)} ms from {ms(start) if start else 0} ms on{to_transition}",
    }


def opportunities(report: Json) -> list[str]:
    """Where another engine would be faster than the only one of the plan."""
    return [opportunity(place) for place in report.get("opportunities", ())]


def segments(report: Json) -> dict[str, Any] | None:
    """What each segment of the search costs on each engine, the least marked."""
    rows = report.get("segments")
    if not rows:
        return None
    targets = list(rows[0]["ms"])
    return {
        "targets": targets,
        "rows": [
            {
                "nodes": row["nodes"],
                "first": row["first"],
                "last": row["last"],
                "costs": [row["ms"].get(target) for target in targets],
                "least": min((each for each in row["ms"].values() if each is not None), default=None),
            }
            for row in rows
        ],
    }


def memory(report: Json) -> dict[str, Any] | None:
    """What each plan holds and takes to start, as far as it was measured; a column for each figure that one has."""
    named = [("what ships", report.get("figures") or report)]
    named += [(each.get("tuned", each["target"]), each) for each in report["singles"]]
    named += [(each["name"], each) for each in report.get("mixes", ())]
    sizes = {name: _sizes(each.get("memory")) for name, each in named}
    whats = list(dict.fromkeys(what for held in sizes.values() for what in held))
    rows = [
        {"of": name, "sizes": [sizes[name].get(what) for what in whats], "cold_s": each.get("cold_s")}
        for name, each in named
        if sizes[name] or each.get("cold_s") is not None
    ]
    return {"whats": whats, "rows": rows, "has_start": any(row["cold_s"] is not None for row in rows)} if rows else None


def _sizes(held: Json | None) -> dict[str, float]:
    """The figures of bytes, without the samples that they are from."""
    return {what.removesuffix("_bytes"): size for what, size in (held or {}).items() if isinstance(size, int | float)}


def replay(report: Json) -> str:
    """The commands that build this plan again."""
    artifact, model = report.get("artifact") or "ARTIFACT", report["model"]
    return "\n".join(
        (
            f"{shlex.join(['intarsia', 'explain', artifact, '--plan'])} > plan.yaml",
            shlex.join(
                ["intarsia", "compile", model, *_shapes(report), "--partition", "manual", "--plan", "plan.yaml"]
            ),
        )
    )


def command(report: Json) -> str:
    """The command that searches for this plan again."""
    said = ["intarsia", "compile", report["model"], "--target", report.get("config", "")]
    if not report.get("config"):
        del said[3:]
    stated = {
        "--threads": report.get("threads"),
        "--budget": report.get("budget_s"),
        "--seed": report.get("seed"),
        "--max-memory": report.get("max_memory"),
        "--max-error": (report.get("accuracy") or {}).get("max_error"),
    }
    for flag, value in stated.items():
        if value is not None:
            said += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    said += _shapes(report)
    if report.get("strategy") not in (None, "manual"):
        said += ["--partition", report["strategy"]]
    return shlex.join(said)


def _shapes(report: Json) -> list[str]:
    """The flags that bind sizes, as the compile had them."""
    bound = {name: _size(size) for name, size in report.get("shapes", {}).items()} | _ranges(report)
    return [word for name, size in bound.items() for word in ("--shape", f"{name}={size}")]


def _size(size: Any) -> str:
    """``1x3x224x224`` of a shape, ``8x`` of that of a vector."""
    if not isinstance(size, list):
        return str(size)
    return "x".join(map(str, size)) + "x" * (len(size) == 1)


def _ranges(report: Json) -> dict[str, str]:
    """The ranges of open dimensions, as ``--shape`` takes them: where each bucket ends."""
    buckets = [bucket["ranges"] for bucket in report.get("buckets", ())]
    found = {}
    for name in dict.fromkeys(name for bucket in buckets for name in bucket):
        ends = sorted({bucket[name][1] for bucket in buckets})
        inner = ",".join(map(str, ends[:-1]))
        found[name] = f"{min(bucket[name][0] for bucket in buckets)}..{ends[-1]}{'/' if inner else ''}{inner}"
    return found
