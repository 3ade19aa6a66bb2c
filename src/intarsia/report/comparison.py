"""Every engine side by side, and one sentence of advice with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown, unshown
from intarsia.report.default_settings import sentences
from intarsia.report.reasons import (
    Json,
    answers,
    divided,
    joined,
    larger_needs,
    latency,
    load_of,
    megabytes,
    ms,
    per_second,
    ranked,
    was_benchmarked,
)
from intarsia.search.decision.conclusion import Conclusion

_SHARED = (
    *("model", "chosen", "reason", "latency_ms", "figures", "needs", "singles", "mixes", "reduced_precision"),
    *(
        "accuracy",
        "verified",
        "described",
        "remarks",
        "max_rel_error",
        "allowed_error",
        "allowed_reason",
        "best_single",
    ),
    *("conclusion", "shown_vs_best_single", "speedup_vs_best_single", "absent", "search", "threads", "max_memory"),
    *("engines", "machine", "default_settings", "objective", "max_latency_ms", "instances"),
)
_NO_WIN = (Conclusion.LOST, Conclusion.NO_DIFFERENCE)
"""Mixes were benchmarked, and none was shown to be faster."""
LEAN = 0.8
"""An engine as fast as the best that needs less than this share of its memory is worth a word."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What ``compare`` shows, made from a compile's report. Printed, it is a short table and the recommendation."""

    report: Json

    @property
    def recommendation(self) -> str:
        """What to ship, with which options, and why."""
        engines = list(dict.fromkeys(map(_engine, self.report["partitions"])))
        if len(engines) > 1:
            said = f"Ship the mix of {' + '.join(engines)}: {self.report['reason']}"
        else:
            lead, mark = ("No mix wins: ship", ";") if self.report.get("conclusion") in _NO_WIN else ("Ship", ":")
            said = f"{lead} {engines[0]} with spin {self.report['spin']}{mark} {self.report['reason']}"
        if (load := load_of(self.report)) is not None:
            said = f"{said}; {answers(load)}"
        return "; ".join((said, *self._remarks())) + "."

    def json(self) -> dict[str, Any]:
        """The object that ``intarsia compare --json`` prints."""
        return {key: self.report[key] for key in _SHARED if key in self.report} | {
            "recommendation": self.recommendation
        }

    def __repr__(self) -> str:
        cpu = self.report["machine"].get("cpu", "this machine")
        threads = self.report["threads"] * self.report.get("instances", 1)
        plans = [*self.report["singles"], *self.report["mixes"]]
        rows = [f"  {_figure(each)}  {_name(each)}{_interval(each)}" for each in ranked(plans)]
        failed = [f"          -  {each['target']}: {each['failure']['reason']}" for each in plans if _has_failed(each)]
        head = f"Comparison of {self.report['model']} on {cpu}, threads {threads}{_where(self.report)}:"
        return "\n".join((head, *rows, *failed, self.recommendation))

    def _remarks(self) -> Iterator[str]:
        best = next((each for each in self.report["singles"] if each["target"] == self.report["best_single"]), None)
        if best is not None and self.report["chosen"] == best["target"]:
            alternative = self._next_engine()
            if alternative is not None and alternative.get("shown_vs_best_single") != Shown.NOTHING:
                yield _against(alternative, best)
        elif best is not None and self.report.get("figures") and self.report.get("latency_ms"):
            mine = {**self.report["figures"], "latency_ms": self.report["latency_ms"]["median"]}
            yield f"it takes {_cost(mine)}, the best engine alone, {best['target']}, {_cost(best)}"
        yield from larger_needs(self.report)
        yield from sentences(self.report)
        yield from self.report.get("remarks", ())
        control = self.report["search"].get("control")
        if self.report["search"].get("control_void") and control is not None:
            itself = f"the same plan against itself: {control['low']:.2f} to {control['high']:.2f}"
            is_said = itself in self.report["reason"]
            yield "ask again on a quieter machine" if is_said else f"ask again on a quieter machine ({itself})"

    def _next_engine(self) -> Json | None:
        """The fastest of the other engines that ran side by side with the best."""
        others = (
            each
            for each in self.report["singles"]
            if each.get("speedup_vs_best_single") and each["target"] != self.report["best_single"]
        )
        return next(iter(ranked(others)), None)


def _figure(plan: Json) -> str:
    load = plan.get("load")
    if load is None:
        return f"{latency(plan):>6} ms"
    mark = "" if was_benchmarked(plan) else "~"
    return f"{mark + per_second(load):>6} requests/s by {divided(load)}"


def _where(report: Json) -> str:
    return f", {report['described']['where']}" if report.get("described") else ""


def _against(alternative: Json, best: Json) -> str:
    gain = alternative["speedup_vs_best_single"]
    if alternative.get("shown_vs_best_single") == Shown.SLOWER:
        if alternative.get("load") is not None:
            return f"the next engine, {alternative['target']}, answers {gain['median']:.2f} times as many"
        return f"the next engine, {alternative['target']}, takes {1 / gain['median']:.2f} times as long"
    how = "as fast" if alternative.get("load") is None else "as many requests a second"
    said = f"no difference shown to {alternative['target']} ({unshown(Interval(**gain), None, how)})"
    peaks = [(each.get("memory") or {}).get("peak") for each in (alternative, best)]
    if peaks[0] and peaks[1] and peaks[0] < LEAN * peaks[1]:
        said += f", which takes {megabytes(peaks[0])} where this takes {megabytes(peaks[1])}"
    return said


def _cost(plan: Json) -> str:
    """Its milliseconds and its megabytes, as far as they are known."""
    memory = plan.get("memory")
    return f"{ms(plan['latency_ms'])} ms" + (f" and {megabytes(memory['peak'])}" if memory else "")


def _engine(part: Json) -> str:
    schemes = [name for name in part.get("precision") or () if name != "ranges"]
    return " in ".join([part["target"], *([" + ".join(sorted(schemes))] if schemes else [])])


def _has_failed(plan: Json) -> bool:
    return bool(plan.get("failure")) and not plan.get("latency_ms")


def _name(plan: Json) -> str:
    return str(plan.get("tuned") or f"{plan['name']}: {joined(plan['targets'])}")


def _interval(plan: Json) -> str:
    found = None if plan.get("load") else plan.get("interval_ms")
    return "" if not found else f" ({ms(found['low'])} to {ms(found['high'])})"
