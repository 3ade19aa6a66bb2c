"""The report of a model with open dimensions, from those of its buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intarsia.runtime import Bucket

_SUMMED = ("seconds", "measured", "cached")


def report_of_sizes(reports: Sequence[tuple[Bucket, Mapping[str, Any]]]) -> dict[str, Any]:
    """The report of the largest sizes, and under ``buckets`` all of them with the sizes that each is for."""
    last = reports[-1][1]
    search = {name: sum(report["search"][name] for _, report in reports) for name in _SUMMED}
    buckets = [
        {
            "ranges": {name: [range_.low, range_.high] for name, range_ in bucket.ranges.items()},
            "measured_at": dict(bucket.sizes),
            **report,
        }
        for bucket, report in reports
    ]
    unverified = next((report for _, report in reports if not report.get("verified", True)), None)
    if unverified is not None:
        last = {**last, "verified": False, "reason": unverified["reason"]}
    together = {
        "left_out": [each for _, report in reports for each in report.get("left_out", ())],
        "remarks": list(dict.fromkeys(each for _, report in reports for each in report.get("remarks", ()))),
    }
    return {**last, **together, "search": {**last["search"], **search}, "buckets": buckets}
