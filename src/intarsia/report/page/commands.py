"""The commands that the page offers: to build the plan again, and to search again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


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
