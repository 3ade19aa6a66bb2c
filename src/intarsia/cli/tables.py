"""A compile's or a comparison's report, as a person reads it. Everything shown is in the JSON report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from intarsia.cli.console import print_table

NOTHING = "-"
Row = tuple[str, str, str]


def print_plans(report: Mapping[str, Any]) -> None:
    """Every plan that was timed, fastest first, then the engines that could not run the whole model, with why."""
    timed = [*report["singles"], *report.get("mixes", ())]
    timed = sorted((plan for plan in timed if "latency_ms" in plan), key=lambda plan: plan["latency_ms"])
    rows = [_mix_row(plan) if "switches" in plan else _single_row(plan, report["best_single"]) for plan in timed]
    print_table(("plan", "ms", ""), [*rows, *_failures(report["singles"])], numbers=("ms",))


def _single_row(single: Mapping[str, Any], best: str | None) -> Row:
    remark = "best single engine" if single["target"] == best else ""
    return single["tuned"], ms(single["latency_ms"]), remark


def _mix_row(mix: Mapping[str, Any]) -> Row:
    return f"{mix['name']}: {' + '.join(mix['targets'])}", ms(mix["latency_ms"]), _switches(mix["switches"])


def _failures(singles: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for single in singles:
        failure = single.get("failure")
        if failure is not None:
            repro = f"; repro: {failure['repro']}" if failure["repro"] else ""
            yield single["target"], NOTHING, f"failed at {failure['stage']}: {failure['reason']}{repro}"


def print_outcome(report: Mapping[str, Any]) -> None:
    """What was timed, the partitions of the plan that was chosen, and what the choice gained."""
    print_plans(report)
    click.echo(f"\nchosen: {report['chosen']}; {report['reason']}\n")
    partitions = [
        (str(number), part["target"], str(len(part["nodes"])), ms(part["predicted_ms"]), ms(part["measured_ms"]))
        for number, part in enumerate(report["partitions"], start=1)
    ]
    header = ("part", "target", "nodes", "predicted ms", "measured ms")
    print_table(header, partitions, numbers=("nodes", "predicted ms", "measured ms"))
    click.echo()
    for line in summary(report):
        click.echo(line)


def summary(report: Mapping[str, Any]) -> Iterator[str]:
    """The figures of the chosen plan, one sentence a line."""
    latency, gain, search = report["latency_ms"], report["speedup_vs_best_single"], report["search"]
    if latency is not None:
        yield f"latency {ms(latency['median'])} ms (min {ms(latency['min'])}, p90 {ms(latency['p90'])})"
    if gain is not None:
        interval = f"95 % interval {gain['low']:.3f} to {gain['high']:.3f}"
        yield f"{gain['median']:.3f} x the speed of {report['best_single']}, the best single engine ({interval})"
    yield f"predicted {ms(report['predicted_ms'])} ms"
    yield f"{_switches(report['switches'])}, threads {report['threads']}, spin {report['spin']}"
    if report["max_rel_error"] is not None:
        yield f"largest relative error {report['max_rel_error']:.2g}"
    yield f"search took {search['seconds']:.1f} s: {search['measured']} measured, {search['cached']} from the store"


def ms(value: float | None) -> str:
    """Three significant digits, or a dash for what was not measured."""
    return NOTHING if value is None else format(value, "#.3g").removesuffix(".")


def _switches(count: int) -> str:
    return f"{count} switch{'' if count == 1 else 'es'}"
