"""The buckets of a model with open dimensions, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from intarsia.cli.console import print_table


def print_buckets(report: Mapping[str, Any]) -> None:
    """A row for each bucket; nothing where every dimension is known. What follows is about the last one."""
    buckets = report.get("buckets", ())
    if not buckets:
        return
    rows = []
    for bucket in buckets:
        sizes = ", ".join(f"{name}={low}..{high}" for name, (low, high) in bucket["ranges"].items())
        at = ", ".join(f"{name}={size}" for name, size in bucket["measured_at"].items())
        latency, gain = bucket["latency_ms"], bucket["speedup_vs_best_single"]
        rows.append(
            (
                sizes,
                at,
                "-" if latency is None else f"{latency['median']:#.3g}".removesuffix("."),
                "-" if gain is None else f"{gain['median']:.2f}",
                " + ".join(dict.fromkeys(part["target"] for part in bucket["partitions"])),
            )
        )
    click.echo("executor vm: each call runs, at its true sizes, the plan of the bucket that they fall into\n")
    print_table(("sizes", "measured at", "ms", "speed", "plan"), rows, numbers=("ms", "speed"))
    click.echo(f"\nThe rest is about {rows[-1][0]}; --json has all.\n")
