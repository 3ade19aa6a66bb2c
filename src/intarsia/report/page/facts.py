"""What the page says around its tables; a figure that a report lacks is left out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intarsia.report.default_settings import sentences
from intarsia.report.layers import engines_of, how, own_kernels, rows_of
from intarsia.report.page.engines import names
from intarsia.report.reasons import Json, decision, figures, larger_needs, opportunity


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
    return [*decision(report, "all are listed below"), *larger_needs(report), *sentences(report), *figures(report)]


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


def layers(report: Json) -> dict[str, Any] | None:
    """What layers take on each engine that tells; ``None`` where none does."""
    rows = rows_of(report)
    if not rows:
        return None
    return {
        "engines": engines_of(report),
        "rows": rows,
        "how": how(report),
        "own": own_kernels(report),
        "is_mixed": any(row.target for row in rows),
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
        "--threads": report.get("threads", 1) * report.get("instances", 1) if "threads" in report else None,
        "--budget": report.get("budget_s"),
        "--seed": report.get("seed"),
        "--objective": report["objective"] if report.get("objective") == "throughput" else None,
        "--max-latency": report.get("max_latency_ms"),
        "--max-memory": report.get("max_memory"),
        "--max-error": report.get("max_error"),
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
