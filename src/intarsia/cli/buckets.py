"""The buckets of a model with open dimensions, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from intarsia.cli.console import echo, print_table
from intarsia.report.reasons import NOTHING

Json = Mapping[str, Any]
_HEADER = ("sizes of a call", "measured at", "runs on", "ms", "best single engine", "its ms", "times as fast")
_NUMBERS = ("ms", "its ms")


def print_buckets(report: Json) -> None:
    """A row for each bucket; nothing where every dimension is known. What follows is about the last one."""
    buckets = report.get("buckets", ())
    if not buckets:
        return
    rows = [_row(bucket) for bucket in buckets]
    click.echo("A call runs at its true sizes, never padded, on the plan of its row (executor vm):\n")
    print_table(_HEADER, rows, numbers=_NUMBERS)
    click.echo("\nIn brackets: the 95 % interval.")
    stated = [part["target"] for bucket in buckets for part in bucket["partitions"]]
    for target in dict.fromkeys(target for target in stated if " " in target):
        echo(f"{_engine(target)} runs as: {target}")
    echo(f"The rest is about {rows[-1][0]}; --json has all.\n")


def _row(bucket: Json) -> tuple[str, ...]:
    engines = list(dict.fromkeys(_engine(part["target"]) for part in bucket["partitions"]))
    latency, gain, single = bucket["latency_ms"], bucket["speedup_vs_best_single"], bucket["best_single"]
    ms = None if latency is None else latency["median"]
    cells = (_sizes(bucket["ranges"]), _at(bucket["measured_at"]), " + ".join(engines), _ms(ms))
    if single is None:
        return (*cells, NOTHING, NOTHING, NOTHING)
    if len(bucket["partitions"]) == 1 and engines == [_engine(single)]:
        return (*cells, "the same", _ms(ms), NOTHING)
    if gain is None or ms is None:
        return (*cells, _engine(single), NOTHING, NOTHING)
    interval = f"{gain['median']:.2f} ({gain['low']:.2f} to {gain['high']:.2f})"
    return (*cells, _engine(single), _ms(ms * gain["median"]), interval)


def _sizes(ranges: Mapping[str, tuple[int, int]]) -> str:
    each = (f"{name} {low}" + (f" to {high}" if high > low else "") for name, (low, high) in ranges.items())
    return ", ".join(each)


def _at(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in sizes.items())


def _engine(target: str) -> str:
    return target.partition(" ")[0]


def _ms(value: float | None) -> str:
    return NOTHING if value is None else f"{value:#.3g}".removesuffix(".")
