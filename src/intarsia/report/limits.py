"""Limits on a comparison's figures, as ``--fail-if`` takes them: ``p50>+5%``, ``memory>500MB``, ``cold>+0.2s``.

METRIC OP [+|-] NUMBER [UNIT]. With a sign the number is a change against the baseline, a share of it with ``%``;
without, it is the figure itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from intarsia.numbers import BYTES
from intarsia.spec.problems import Problems, Where, nearest
from intarsia.spec.syntax import Piece

_TIME = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
METRICS: Mapping[str, Mapping[str, float]] = {
    "p50": _TIME,
    "p99": _TIME,
    "cold": _TIME,
    "compile": _TIME,
    "memory": {unit: float(count) for unit, count in BYTES.items()},
    "error": {},
}
"""What can be limited, with its units in seconds or bytes, whatever their case; an error has none."""
_SHAPE = re.compile(r"\s*([A-Za-z0-9_]*)\s*([<>]?)\s*([+-]?)\s*([0-9.]*(?:[eE][+-]?[0-9]+)?)\s*(\S*)\s*")


class Against(StrEnum):
    """What the number of a limit is."""

    SHARE = "share"
    """A change against the baseline, as a share of it."""
    CHANGE = "change"
    """A change against the baseline, in the metric's unit."""
    VALUE = "value"
    """The figure itself; no baseline is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a figure must not be.

    Attributes:
        metric: One of `METRICS`.
        is_above: Whether figures above the bound are refused, else those below it.
        bound: Seconds, bytes, a plain number, or a share: 0.05 for ``+5%``.
    """

    text: str
    metric: str
    is_above: bool
    against: Against
    bound: float


def parse_limit(text: str) -> Limit:
    """Read one limit; a `SpecError` says what is wrong with it, where, and what would do."""
    problems = Problems()
    whole = Piece.whole(text)
    match = _SHAPE.fullmatch(text)
    if match is None:
        problems.add(Where(piece=whole), f"{text!r} is no limit; write it as p50>+5% or memory>500MB")
        problems.raise_any()
    assert match is not None
    metric, sign, operator, number, unit = match[1], match[3], match[2], match[4], match[5]

    def at(group: int) -> Where:
        start, stop = match.span(group)
        return Where(piece=whole.cut(start, stop))

    if metric not in METRICS:
        hint = nearest(metric, METRICS, f"there are {', '.join(METRICS)}")
        problems.add(at(1), f"no figure is called {metric!r}{hint}")
    if not operator:
        problems.add(at(2), "behind the figure stands > for what must not be above, or < for what must not be below")
    if not _is_number(number):
        problems.add(at(4), f"{number!r} is no number" if number else "a number is missing")
    units = METRICS.get(metric)
    if units is not None:
        wrong = _unit_fault(unit, sign, metric, units)
        if wrong:
            problems.add(at(5), wrong)
    problems.raise_any()
    scale = 0.01 if unit == "%" else _folded(METRICS[metric]).get(unit.lower(), 1.0)
    return Limit(
        text=text,
        metric=metric,
        is_above=operator == ">",
        against=Against.VALUE if not sign else Against.SHARE if unit == "%" else Against.CHANGE,
        bound=float(number) * scale * (-1.0 if sign == "-" else 1.0),
    )


def _folded(units: Mapping[str, float]) -> dict[str, float]:
    return {unit.lower(): scale for unit, scale in units.items()}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _unit_fault(unit: str, sign: str, metric: str, units: Mapping[str, float]) -> str | None:
    if unit == "%":
        return None if sign else "a share is a change against the baseline, so the number has a sign: +5%"
    if unit.lower() in _folded(units) or (not unit and not units):
        return None
    legal = ", ".join((*units, "%"))
    if not unit:
        return f"{metric} has a unit: one of {legal}"
    return f"{metric} has no unit {unit!r}{nearest(unit, (*units, '%'), f'there are {legal}')}"
