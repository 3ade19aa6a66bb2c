"""Engines at their default settings in a report: their rows beside the other plans, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import Any

from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown
from intarsia.report.reasons import Json
from intarsia.search.default_settings import AtDefaults

FAR_OFF = 0.1
"""An error so large is no rounding any more: the answers should be looked at before they are used."""
_MARGIN = 1.3
"""So much more than the error that was found is allowed by the stated `--max-error`: more inputs may show more."""


def rows_json(
    found: Sequence[AtDefaults], latency_ms: float | None, speed: float | None, load: Json | None = None
) -> list[dict[str, Any]]:
    """The rows of a report, their figures normalised to those of the chosen plan.

    Args:
        latency_ms: Milliseconds of the chosen plan.
        speed: How many times as fast as the best single engine it is.
        load: What the chosen plan answers under load, where that is the objective.
    """
    return [_row(each, latency_ms, speed, load) for each in found]


def _row(each: AtDefaults, latency_ms: float | None, speed: float | None, load: Json | None) -> dict[str, Any]:
    gain = each.gain
    return {
        "target": each.target,
        "default_of": each.engine,
        "precision": each.type or "fp32",
        "latency_ms": None if gain is None or latency_ms is None else latency_ms / gain.median,
        "speed": None if gain is None or speed is None else speed * gain.median,
        "speedup_vs_chosen": None if gain is None else {"median": gain.median, "low": gain.low, "high": gain.high},
        "shown_vs_chosen": each.shown.value,
        "error": each.error,
        "inputs": each.inputs,
        "max_error": None if each.error is None else enough(each.error),
        "reason": each.reason,
        **_load(load, gain),
    }


def _load(load: Json | None, gain: Interval | None) -> dict[str, Any]:
    """The requests that it answers on the threads and instances of the chosen plan; nothing of single calls."""
    if load is None:
        return {}
    rate = load["requests_per_second"]
    known = (
        None if gain is None or rate is None else {"median": rate["median"] * gain.median, "low": None, "high": None}
    )
    return {"load": {**load, "requests_per_second": known, "p50_ms": None, "p99_ms": None}}


def enough(error: float) -> float:
    """The error to allow so that a plan with this one ships: rounded up to one digit, with a margin."""
    if error <= 0.0:
        return 0.0
    wanted = _MARGIN * error
    scale = 10.0 ** floor(log10(wanted))
    return float(f"{-(-wanted // scale) * scale:.0e}")


def remark(row: Json) -> str:
    """What stands beside a row's figures in a table."""
    error = "" if row["error"] is None else f", error {percent(row['error'])}"
    return f"default settings: {row['precision']}{error}"


def sentences(report: Json) -> Iterator[str]:
    """For each engine whose default settings are less exact: how fast, with which error, and what to do."""
    for row in report.get("default_settings", ()):
        yield _sentence(row)


def _sentence(row: Json) -> str:
    name = row["default_of"].partition(" ")[0]
    lead = (
        f"{name} computes in {row['precision']} by default here"
        if row["precision"] != "fp32"
        else f"{name} computes less exactly by default"
    )
    gain = row["speedup_vs_chosen"]
    if gain is None:
        return f"{lead}; {row['reason']}"
    how = "as many requests a second" if row.get("load") else "as fast"
    speed = f"{gain['median']:.2f} times {how} as what ships ({gain['low']:.2f} to {gain['high']:.2f})"
    if row["shown_vs_chosen"] == Shown.NOTHING:
        speed += ", but the benchmark is void"
    elif row["shown_vs_chosen"] == Shown.NO_DIFFERENCE:
        speed += ", which shows no difference"
    if row["error"] is None:
        return f"{lead}: {speed}; {row['reason']}"
    said = f"{lead}: {speed}, error {percent(row['error'])}"
    if row["error"] >= FAR_OFF:
        return f"{said}, which is more than rounding explains: check its answers before you use it"
    if row["shown_vs_chosen"] != Shown.FASTER or not row["max_error"]:
        return said
    return f"{said}; --max-error {row['max_error']:g} allows plans in reduced precision"


def percent(error: float) -> str:
    """An error with two significant digits: ``0.6 %``."""
    return f"{100 * error:.2g} %"
