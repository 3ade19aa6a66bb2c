"""A comparison as a person reads it: a row for each plan, what could not run, and the recommendation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from intarsia.cli.console import print_table, print_text
from intarsia.cli.tables import MOST_MIXES, failed, speed
from intarsia.report.reasons import (
    NOTHING,
    Json,
    divided,
    here,
    joined,
    load_of,
    ms,
    per_second,
    ranked,
    void,
    was_benchmarked,
)
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.report.baseline import Finding, Judgement

PLAIN = "fp32"
"""The precision of which nothing is said as long as there is no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its header, and how it shows a plan."""

    header: str
    show: Callable[[Json], str]
    is_number: bool = True


def print_comparison(report: Json, *, verbose: bool = False) -> None:
    """Every plan with what it costs beside time: those of the benchmark, those timed apart, and why others did not run.

    Fits 100 columns; ``verbose`` adds columns and the mixes that were left out.
    """
    mixes = report.get("mixes", ())
    shown = mixes if verbose else mixes[:MOST_MIXES]
    timed = ranked((*report["singles"], *shown, *report.get("default_settings", ())))
    load = load_of(report)
    usual, more = (_COLUMNS, _MORE) if load is None else (_LOADED, _MORE_LOADED)
    columns = [*usual, *(more if verbose else ())]
    if any(plan.get("precision", PLAIN) != PLAIN for plan in timed):
        columns.insert(1, Column(header="type", show=lambda plan: plan.get("precision", PLAIN), is_number=False))
    rows = [tuple(column.show(plan) for column in columns) for plan in timed]
    columns = [replace(each, header=each.header + here(report)) if each.header == "ms" else each for each in columns]
    numbers = [column.header for column in columns if column.is_number]
    print_table([column.header for column in columns], rows, numbers=numbers)
    print_text(_legend(timed, here(report), is_loaded=load is not None))
    for line in void(report):
        print_text(line)
    if len(mixes) > len(shown):
        click.echo(f"{counted(len(mixes) - len(shown), 'more mix', 'more mixes')} (--verbose)")
    if failures := [*_failures(report)]:
        click.echo()
        print_table(("not timed", ""), failures)


def _legend(timed: Sequence[Json], where: str, *, is_loaded: bool) -> str:
    """Units, and what the figures stand on; two lines, or three."""
    notes = []
    calls = [plan["calls"] for plan in timed if plan.get("calls") and plan.get("p99_ms") is not None]
    if calls:
        fewest, most = min(calls), max(calls)
        notes.append(f"p99 of {fewest} to {most} calls" if most > fewest else f"p99 of {counted(fewest, 'call')}")
    if not all(map(was_benchmarked, timed)):
        notes.append("~ timed apart, at another moment than the rest")
    loaded = "instances x threads of each; p50, p99: with all of them at work" if is_loaded else ""
    said = f"ms a call{where}; cold, compile: s{where}; peak, steady: MB that the plan adds to its process"
    return "\n".join(filter(None, (said, loaded, "; ".join(notes))))


def _failures(report: Json) -> Iterator[tuple[str, str]]:
    for plan in (*report["singles"], *report.get("mixes", ())):
        if plan.get("failure") is not None:
            yield plan.get("target") or plan["name"], failed(plan["failure"])
    for absent in report.get("absent", ()):
        yield absent["target"], f"absent: {absent['reason']}"


def _name(plan: Json) -> str:
    if "default_of" in plan:
        return f"{plan['target']}, default settings"
    if "tuned" not in plan:
        return f"{plan['name']}: {joined(plan['targets'])}"
    return plan["tuned"] if plan.get("spin", "call") == "call" else f"{plan['tuned']}, spin {plan['spin']}"


def _ms(value: float | None) -> str:
    """Three digits, or all before the point."""
    return ms(value) if value is None or value < 1000.0 else f"{value:.0f}"


def _interval(plan: Json) -> str:
    found = plan.get("interval_ms")
    return NOTHING if not found else f"{_ms(found['low'])}-{_ms(found['high'])}"


def _of_load(plan: Json, show: Callable[[Json], str]) -> str:
    load = plan.get("load")
    return NOTHING if load is None else show(load)


def _rate_interval(load: Json) -> str:
    rate = load["requests_per_second"]
    return NOTHING if rate is None or rate["low"] is None else f"{_ms(rate['low'])}-{_ms(rate['high'])}"


def _seconds(name: str) -> Callable[[Json], str]:
    return lambda plan: NOTHING if plan.get(name) is None else f"{plan[name]:.2f}"


def _megabytes(name: str) -> Callable[[Json], str]:
    return lambda plan: f"{plan['memory'][name] / 1e6:.0f}" if plan.get("memory") else NOTHING


def _error(plan: Json) -> str:
    error = plan.get("max_rel_error")
    return NOTHING if error is None else f"{error:.0e}"


_COLUMNS = (
    Column(header="plan", show=_name, is_number=False),
    Column(header="ms", show=lambda plan: f"{'' if was_benchmarked(plan) else '~'}{_ms(plan['latency_ms'])}"),
    Column(header="95 %", show=_interval),
    Column(header="p99", show=lambda plan: _ms(plan.get("p99_ms"))),
    Column(header="speed", show=speed),
    Column(header="cold", show=_seconds("cold_s")),
    Column(header="compile", show=_seconds("compile_s")),
    Column(header="peak", show=_megabytes("peak")),
    Column(header="steady", show=_megabytes("steady")),
    Column(header="error", show=_error),
)
_LOADED = (
    _COLUMNS[0],
    Column(header="instances", show=lambda plan: _of_load(plan, divided)),
    Column(header="requests/s", show=lambda plan: ("" if was_benchmarked(plan) else "~") + _of_load(plan, per_second)),
    Column(header="95 %", show=lambda plan: _of_load(plan, _rate_interval)),
    Column(header="p50", show=lambda plan: _of_load(plan, lambda load: _ms(load["p50_ms"]))),
    Column(header="p99", show=lambda plan: _of_load(plan, lambda load: _ms(load["p99_ms"]))),
    *(column for column in _COLUMNS[4:] if column.header not in ("compile", "steady")),
)
"""Of plans under load; what does not fit beside that is among `_MORE_LOADED`."""
_MORE = (
    Column(header="load", show=_seconds("load_s")),
    Column(header="calls", show=lambda plan: str(plan.get("calls") or NOTHING)),
    Column(header="predicted", show=lambda plan: ms(plan.get("predicted_ms"))),
    Column(header="transitions", show=lambda plan: str(plan.get("transitions", 0))),
)


_MORE_LOADED = (*(column for column in _COLUMNS if column.header in ("compile", "steady")), *_MORE)


def print_judgement(judgement: Judgement, baseline: Path | None) -> None:
    """What came of each limit; nothing where there are none."""
    if judgement.differences:
        print_text(f"\n{baseline} cannot be compared with:")
        for difference in judgement.differences:
            print_text(difference, indent="  ")
        return
    if not judgement.findings:
        return
    click.echo()
    rows = [
        (
            finding.limit,
            _amount(finding.limit, finding.then),
            _amount(finding.limit, finding.now),
            _held(finding),
            finding.outcome.value + (f": {finding.why}" if finding.why else ""),
        )
        for finding in judgement.findings
    ]
    print_table(("fail if", "then", "now", "found", ""), rows, numbers=("then", "now"))


def _held(finding: Finding) -> str:
    """What was held against the limit, with the interval that must lie on one side of it."""
    found = finding.found
    if found is None:
        return NOTHING
    if finding.limit.endswith("%"):
        return f"{100 * found.median:+.1f} % ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
    low, high = (_amount(finding.limit, end) for end in (found.low, found.high))
    return f"{_amount(finding.limit, found.median)} ({low} to {high})"


def _amount(limit: str, value: float | None) -> str:
    """A figure in the unit that people read it in."""
    if value is None:
        return NOTHING
    if limit.lstrip().startswith("memory"):
        return f"{value / 1e6:.0f} MB"
    if limit.lstrip().startswith("error"):
        return f"{value:.1e}"
    return f"{ms(1e3 * value)} ms" if abs(value) < 1.0 else f"{value:.2f} s"
