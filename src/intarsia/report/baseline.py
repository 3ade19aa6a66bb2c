"""A comparison against one of another day: whether a limit is broken beyond the noise, kept, or nobody can tell.

Nothing is measured here: both sides are what ``intarsia compare --json`` printed, and judged is what each would ship.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from intarsia.cost.timing.statistics import Interval, median
from intarsia.cost.timing.verdict import out_by, reach
from intarsia.errors import ConfigError
from intarsia.numbers import shown
from intarsia.report.limits import METRICS, Against, Limit
from intarsia.report.reasons import Json

TIMES = frozenset({"p50", "p99", "cold", "compile"})
"""Figures that a noisy machine makes worthless."""
_MACHINE = ("architecture", "cpu", "cores", "system", "isa")


class Outcome(StrEnum):
    """What came of a limit, or of all of them."""

    KEPT = "kept"
    BROKEN = "broken"
    """The whole interval lies beyond the limit."""
    UNDECIDED = "undecided"
    """The limit lies inside the interval, or a figure is missing."""
    ELSEWHERE = "elsewhere"
    """The baseline is of another machine, or of other engines or threads: the two cannot be compared."""

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return {"kept": 0, "broken": 6, "undecided": 7, "elsewhere": 8}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of one limit.

    Attributes:
        limit: As the user wrote it.
        then: The baseline's figure; seconds, bytes or a plain number.
        found: What was held against the bound: a share, a difference, or the figure, with its 95 % interval.
        why: Why it is undecided, where that is not for the interval.
    """

    limit: str
    outcome: Outcome
    then: float | None = None
    now: float | None = None
    found: Interval | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of all limits.

    Attributes:
        findings: One for each limit; none where the two cannot be compared.
        differences: What keeps the two from being compared, one sentence each.
    """

    findings: tuple[Finding, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The gravest."""
        if self.differences:
            return Outcome.ELSEWHERE
        found = {each.outcome for each in self.findings}
        return next((each for each in (Outcome.BROKEN, Outcome.UNDECIDED) if each in found), Outcome.KEPT)

    def json(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        return {**asdict(self), "outcome": self.outcome.value, "exit_code": self.outcome.exit_code}


def read_baseline(path: Path) -> Json:
    """The comparison that ``--save`` wrote; a `ConfigError` if there is none, or it is something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read as a comparison ({error}); write one with compare --save") from error
    if not isinstance(found, dict) or not {"figures", "machine", "engines", "threads"} <= found.keys():
        raise ConfigError(f"{path}: is no comparison; write one with compare --save")
    try:
        _try_out(found)
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {shown(str(error))}"
        raise ConfigError(f"{path}: is damaged ({what}); write one with compare --save") from error
    return found


def _try_out(comparison: Json) -> None:
    """Read all that a judgement reads, so that a poor baseline is refused before anything is measured."""
    list(_differences(comparison, comparison))
    _unrest(comparison)
    for metric in METRICS:
        found = figure(comparison, metric)
        if found is not None and not all(map(math.isfinite, (found.low, found.median, found.high))):
            raise ValueError(f"{metric} is not finite")
        if found is not None and found.low > 0.0:
            ratio(found, found)


def judge(now: Json, then: Json | None, limits: Sequence[Limit]) -> Judgement:
    """Hold each limit against both comparisons; ``then`` may be missing if no limit is a change."""
    differences = () if then is None else tuple(_differences(now, then))
    if differences:
        return Judgement(differences=differences)
    return Judgement(findings=tuple(_finding(limit, now, then) for limit in limits))


def ratio(now: Interval, then: Interval) -> Interval:
    """Of two medians that were measured apart, with its 95 % interval.

    The distances of the ends are added as squares, on the scale of logarithms (Zou and Donner, Statistics in Medicine
    27, 2008: "variance estimates recovery", for the ratio). All of ``then`` is above 0.
    """
    if now.low <= 0.0:  # no logarithm: the widest that the ends allow
        return Interval(median=now.median / then.median, low=now.low / then.high, high=now.high / then.low)
    down = math.hypot(math.log(now.median / now.low), math.log(then.high / then.median))
    up = math.hypot(math.log(now.high / now.median), math.log(then.median / then.low))
    middle = now.median / then.median
    return Interval(median=middle, low=middle * math.exp(-down), high=middle * math.exp(up))


def difference(now: Interval, then: Interval) -> Interval:
    """As `ratio`, of now less then."""
    down = math.hypot(now.median - now.low, then.high - then.median)
    up = math.hypot(now.high - now.median, then.median - then.low)
    middle = now.median - then.median
    return Interval(median=middle, low=middle - down, high=middle + up)


def figure(comparison: Json, metric: str) -> Interval | None:
    """One figure of what a comparison would ship, in seconds, bytes or as a plain number; ``None`` if it has none.

    What was measured once has no width. Where the control did not hold, times are less certain by twice what its median
    was out, or as far as its interval reached.
    """
    found = _plain_figure(comparison, metric)
    control = comparison["search"].get("control")
    if found is None or metric not in TIMES or control is None or not comparison["search"].get("control_void"):
        return found
    slack = max(1.0 + 2.0 * abs(control["median"] - 1.0), reach(_whole(control)))
    return Interval(median=found.median, low=found.low / slack, high=found.high * slack)


def _plain_figure(comparison: Json, metric: str) -> Interval | None:
    figures = comparison["figures"]
    match metric:
        case "p50":
            latency = comparison["latency_ms"]
            return _seconds(latency and latency["median"], figures["interval_ms"])
        case "p99":
            return _seconds(figures["p99_ms"], figures["p99_interval_ms"])
        case "memory":
            memory = figures["memory"]
            return _of_samples(memory["peak_samples"]) if memory else None
        case "cold":
            return _of_samples(figures["cold_samples_s"])
        case _:
            value = figures["compile_s" if metric == "compile" else "max_rel_error"]
            return _of_samples([] if value is None else [value])


def _seconds(ms: float | None, ends: Mapping[str, float] | None) -> Interval | None:
    if ms is None:
        return None
    low, high = (ms, ms) if ends is None else (ends["low"], ends["high"])
    return Interval(median=ms / 1e3, low=min(low, ms) / 1e3, high=max(high, ms) / 1e3)


def _of_samples(samples: Sequence[float]) -> Interval | None:
    """The median of a few samples, and all that they span."""
    return Interval(median=median(samples), low=min(samples), high=max(samples)) if samples else None


def _finding(limit: Limit, now: Json, then: Json | None) -> Finding:
    mine = figure(now, limit.metric)
    theirs = None if then is None else figure(then, limit.metric)
    found, why = _held(limit, mine, theirs)
    if found is not None and limit.metric in TIMES:
        why = next(filter(None, (_unrest(each) for each in (now, then) if each is not None)), "")
    return Finding(
        limit=limit.text,
        outcome=_outcome(limit, found) if found is not None and not why else Outcome.UNDECIDED,
        then=None if theirs is None else theirs.median,
        now=None if mine is None else mine.median,
        found=found,
        why=why,
    )


def _held(limit: Limit, mine: Interval | None, theirs: Interval | None) -> tuple[Interval | None, str]:
    """What is held against the bound, or why there is nothing."""
    if mine is None:
        return None, f"{limit.metric} was not measured"
    if limit.against is Against.VALUE:
        return mine, ""
    if theirs is None:
        return None, f"the baseline has no {limit.metric}"
    if limit.against is Against.CHANGE:
        return difference(mine, theirs), ""
    if theirs.low <= 0.0:
        return None, "the baseline's figure is 0, of which there are no shares"
    found = ratio(mine, theirs)
    return Interval(median=found.median - 1.0, low=found.low - 1.0, high=found.high - 1.0), ""


def _unrest(comparison: Json) -> str:
    """Why its times say nothing: the paired benchmark did not end. A control that does not hold only widens them."""
    search = comparison["search"]
    control = search.get("control")
    is_out = control is not None and out_by(_whole(control)) != ""
    return "the paired benchmark did not come to its end" if search.get("control_void") and not is_out else ""


def _whole(control: Mapping[str, float]) -> Interval:
    """A control as it was, or with what an old report kept of it."""
    middle = control["median"]
    return Interval(median=middle, low=control.get("low", middle), high=control.get("high", middle))


def _outcome(limit: Limit, found: Interval) -> Outcome:
    """Beyond the limit with the whole interval, within it with the whole interval, or neither."""
    if limit.is_above:
        return Outcome.BROKEN if found.low > limit.bound else _kept(found.high <= limit.bound)
    return Outcome.BROKEN if found.high < limit.bound else _kept(found.low >= limit.bound)


def _kept(is_within: bool) -> Outcome:
    return Outcome.KEPT if is_within else Outcome.UNDECIDED


def _differences(now: Json, then: Json) -> Iterator[str]:
    """Machine, threads, and versions of all engines that took part."""
    for name in _MACHINE:
        before, after = (_as_text(each["machine"].get(name)) for each in (then, now))
        if before != after:
            yield f"{name}: {before} then, {after} now"
    for name, usual in (("objective", "latency"), ("instances", 1)):
        before, after = then.get(name, usual), now.get(name, usual)
        if before != after:
            yield f"{name}: {before} then, {after} now"
    if now["threads"] != then["threads"]:
        yield f"threads: {then['threads']} then, {now['threads']} now"
    for name in sorted(now["engines"].keys() | then["engines"].keys()):
        before, after = (each["engines"].get(name, {}).get("version") for each in (then, now))
        if before != after:
            yield f"{name}: {before or 'not there'} then, {after or 'not there'} now"


def _as_text(value: object) -> str:
    """As text: a list that was in a file equals the tuple that was not."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
