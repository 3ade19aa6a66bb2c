"""What the page says around its tables; a figure that a report lacks is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intarsia.report.page.engines import names
from intarsia.report.reasons import decision, figures, larger_needs, opportunity

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an artifact knows beside its report.

    Attributes:
        engines: Version and licence of each engine that it larger_needs, by name.
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
    return [*decision(report, "all are listed below"), *larger_needs(report), *figures(report)]


def error_note(report: Json) -> str:
    """What is known of the largest error: whether the plan was shown to be right, and what was allowed."""
    if not report.get("verified", True):
        return "not verified"
    allowed, why = report.get("allowed_error"), report.get("allowed_reason")
    return "" if allowed is None else f"{allowed:.1e} is allowed{f': {why}' if why else ''}"


def failures(report: Json) -> Iterator[dict[str, Any]]:
    """The engines that could not run the whole model, or took no part."""
    for single in report["singles"]:
        if "failure" in single:
            yield {"target": single["target"], **single["failure"]}
    for absent in report.get("absent", ()):
        yield {"target": absent["target"], "stage": "absent", "reason": absent["reason"], "repro": None}


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
