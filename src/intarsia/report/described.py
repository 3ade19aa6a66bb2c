"""Marks of figures that were measured here for a machine that is described and is not this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK, HERE = "where", "measured here, not there"
"""The entry that stands beside each figure of such a report, and what it says."""


def marked(report: dict[str, Any]) -> dict[str, Any]:
    """The report, in which every object that holds milliseconds says that they are not the described machine's."""
    if report.get("described") is None:
        return report
    return {**_marked(report), "described": report["described"]}


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        found = {name: _marked(each) for name, each in value.items()}
        has_figures = any(name == "ms" or name.endswith("_ms") for name in value) and MARK not in value
        return found | {MARK: HERE} if has_figures else found
    return [_marked(each) for each in value] if isinstance(value, list | tuple) else value
