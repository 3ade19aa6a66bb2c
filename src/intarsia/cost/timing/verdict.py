"""What came of a paired benchmark: the rounds of each contender, and what follows from them.

All that is said of two plans follows one rule. The first contender runs twice; by what it differs from itself (the A/A
control) no other plan can be told from it. Where the control's median is out, or its interval wide, the paired
benchmark is void and shows nothing. Else a plan is faster, or slower, if its whole interval lies beyond that of the
control and every set of processes agrees: one set may be lucky with memory, and what disturbs a round disturbs the next
ones too.

Milliseconds and ratios are one set of figures: each plan's rate against the first, and what the first took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Error, Ms, Spent
from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing.footprint import Footprint, Tail
from intarsia.cost.timing.statistics import Interval, hull, median, median_interval, paired_ratios, set_medians

CONTROL_NAME = "control"
Instances = Annotated[int, Field(ge=1)]
FAR: Final = 1.0 + PAIRED.control_interval
"""A gain beyond this is more than luck with memory makes, which a process has in all its rounds."""
MEMORY_STAGE = "memory"
"""Where a contender failed that needs more memory than it may."""


class Shown(StrEnum):
    """What a paired benchmark shows of one plan against another."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    NOTHING = "void"


def reach(control: Interval) -> float:
    """By what factor a plan may differ from itself, at least 1: the farther end of its control's interval."""
    return max(control.high, 1.0 / control.low)


def out_by(control: Interval) -> str:
    """What is wrong with a control; an empty text if it holds."""
    if abs(control.median - 1.0) > PAIRED.control_median:
        return f"its median differs from 1 by more than {PAIRED.control_median:.0%}".replace("%", " %")
    if reach(control) > 1.0 + PAIRED.control_interval:
        return f"its interval reaches further than {PAIRED.control_interval:.0%} from 1".replace("%", " %")
    return ""


def unshown(gain: Interval, control: Interval | None, how: str = "as fast") -> str:
    """What was measured where no difference is shown; and why none is, if the whole interval lies on one side of 1."""
    times = f"{gain.low:.2f} to {gain.high:.2f} times {how}"
    if gain.low <= 1.0 <= gain.high:
        return times
    if control is None:
        return f"{times}, but not beyond the noise"
    if max(gain.low, 1.0 / gain.high) > reach(control):
        return f"{times}, but not in every set of processes"
    return f"{times}, but the same plan was {control.low:.2f} to {control.high:.2f} times {how} as itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a paired benchmark.

    Attributes:
        rounds_ms: For each contender that stayed, and for the control, one median a round at full speed, over all sets.
        set_sizes: How many of the rounds each set of processes made.
        profile_ms: For each contender, the milliseconds of its steps.
        transfers_ms: For each contender, the milliseconds of the transfers that are not inside an engine's call.
        errors: For each contender, its largest error against the reference.
        allowed: For each contender, what the output with that error was allowed.
        failed: Contenders that did not make it, with stage and reason.
        causes: For each of them, whose doing it is.
        is_void: Whether the control does not hold, or the paired benchmark did not come to its end: it shows nothing.
        left_ms: As ``rounds_ms``, for each contender that left because the first one beat it; of fewer rounds.
        tails: For each contender, its slowest calls.
        footprints: For each contender that was loaded, what its processes started with and hold.
        compile_s: For each contender, the seconds that its engines took to compile it.
        instances: For each contender how many instances of it were at work at one time; empty where single calls were
            timed. Under load, ``rounds_ms`` are milliseconds from one answer to the next.
        is_replayed: Whether it is one of another moment, from the store.
    """

    rounds_ms: Mapping[str, tuple[Ms, ...]]
    set_sizes: tuple[int, ...]
    profile_ms: Mapping[str, tuple[Spent, ...]]
    errors: Mapping[str, Error | None]
    failed: Mapping[str, tuple[str, str]]
    is_void: bool
    allowed: Mapping[str, Error | None] = field(default_factory=dict)
    transfers_ms: Mapping[str, tuple[Spent, ...]] = field(default_factory=dict)
    left_ms: Mapping[str, tuple[Ms, ...]] = field(default_factory=dict)
    tails: Mapping[str, Tail] = field(default_factory=dict)
    footprints: Mapping[str, Footprint] = field(default_factory=dict)
    compile_s: Mapping[str, Spent] = field(default_factory=dict)
    instances: Mapping[str, Instances] = field(default_factory=dict)
    is_replayed: bool = False
    causes: Mapping[str, Cause] = field(default_factory=dict)

    @property
    def has_transient_failure(self) -> bool:
        """Whether somebody failed who may not the next time; of old records nobody knows, so they count."""
        return any(self.causes.get(name, Cause.CRASH).is_transient for name in self.failed)

    def speedup(self, name: str, baseline: str) -> Interval:
        """How many times as fast as the baseline, by their rates against the first, with the 95 % interval.

        The interval is that of the median over the rounds of the baseline's time divided by this one's.
        """
        paired = median_interval(self._ratios(name, baseline))
        rate = self._rate(name) / self._rate(baseline)
        return Interval(median=rate, low=min(paired.low, rate), high=max(paired.high, rate))

    def expected_ms(self, name: str) -> float:
        """Milliseconds a call: what the first took, divided by how many times as fast as the first this one was.

        So of two plans the one with fewer milliseconds is the faster one, by the very ratio of the two figures.
        """
        return median(self.rounds_ms[self.first]) / self._rate(name)

    def call_ms(self, name: str) -> float:
        """Milliseconds that a call takes: with n instances at work, n times those from one answer to the next."""
        return self.expected_ms(name) * self.instances.get(name, 1)

    def requests_per_second(self, name: str) -> Interval:
        """How many requests it answers a second, by its milliseconds and their interval."""
        ms = self._between(name)
        return Interval(median=1e3 / ms.median, low=1e3 / ms.high, high=1e3 / ms.low)

    def latency(self, name: str) -> Interval:
        """Milliseconds a call, with the interval of `_between`."""
        count, ms = self.instances.get(name, 1), self._between(name)
        return Interval(median=count * ms.median, low=count * ms.low, high=count * ms.high)

    def _between(self, name: str) -> Interval:
        """Milliseconds a call: the 95 % interval of the rounds' median, widened to hold that of each set.

        Of one that left, by how much longer it took than the first in the benchmark.
        """
        ms = self.expected_ms(name)
        if name in self.left_ms:
            gain = self.speedup(name, self.first)
            first_ms = self.expected_ms(self.first)
            return Interval(median=ms, low=first_ms / gain.high, high=first_ms / gain.low)
        times = self.rounds_ms[name]
        return hull(replace(median_interval(times), median=ms), [ms, *set_medians(times, self.set_sizes)])

    def parts_ms(self, name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Milliseconds of a plan's steps and of its transfers, which come to those of the plan.

        Steps are profiled behind the rounds, so the profile tells what part of the whole each takes.
        """
        steps, transfers = self.profile_ms.get(name, ()), self.transfers_ms.get(name, ())
        whole = sum(steps) + sum(transfers)
        scale = self.call_ms(name) / whole if whole and name in self.benchmarked else 1.0
        return tuple(scale * ms for ms in steps), tuple(scale * ms for ms in transfers)

    @property
    def how(self) -> str:
        """What plans are compared by, behind "so many times"."""
        return "as many requests a second" if self.instances else "as fast"

    @property
    def first(self) -> str:
        """The one to beat, which ran twice."""
        return next(iter(self.rounds_ms))

    @property
    def benchmarked(self) -> frozenset[str]:
        """All that ran side by side, to the end or until they were beaten."""
        return frozenset((*self.rounds_ms, *self.left_ms)) - {CONTROL_NAME}

    def wins_everywhere(self, name: str, baseline: str) -> bool:
        """Whether it is faster by median in each set of processes: one set's luck with memory is no win.

        Of four sets or five it may lose one: a neighbour may meet one plan more than another.
        """
        ratios = set_medians(self._ratios(name, baseline), self.set_sizes)
        return sum(ratio <= 1.0 for ratio in ratios) <= len(ratios) // 4

    @property
    def is_in_doubt(self) -> bool:
        """Whether something seems faster than the first, but was not shown to be: more sets may show it."""
        return not all(self._clears(name, self.first) for name in self.leaders)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Who seems faster than the first: by more than the control may be out, or beyond the noise of its rounds."""
        first, *others = (name for name in self.rounds_ms if name != CONTROL_NAME)
        gains = {name: self.speedup(name, first) for name in others}
        least = 1.0 + PAIRED.control_median
        return tuple(name for name, gain in gains.items() if gain.median > least or gain.low > 1.0)

    @property
    def has_far_leaders(self) -> bool:
        """Whether something is faster than the first, and all that seems so is by more than the control may be out."""
        return bool(self.leaders) and all(self._clears(name, self.first, FAR) for name in self.leaders)

    def compared(self, name: str, baseline: str, *, far_counts: bool = False) -> Shown:
        """What is shown of one plan against another; gains and losses by the same rule.

        Args:
            name: The one.
            baseline: The other.
            far_counts: Whether a large gain is shown by a void benchmark too: such a control matters to smaller ones.
                It is more than 10 %; or, where the far end of the control's interval is further than 15 % from 1,
                more than twice as far from 1.
        """
        if self.is_void:
            out = reach(self.control) - 1.0
            least = FAR if out <= 1.5 * PAIRED.control_interval else 1.0 + 2.0 * out
            return Shown.FASTER if far_counts and self._clears(name, baseline, least) else Shown.NOTHING
        if self._clears(name, baseline):
            return Shown.FASTER
        return Shown.SLOWER if self._clears(baseline, name) else Shown.NO_DIFFERENCE

    def may_leave(self, name: str) -> bool:
        """Whether more rounds would hardly change that the first is faster. No verdict: the control goes on.

        After a single set it takes more than luck with memory makes: a process has that in all its rounds.
        """
        least = FAR if len(self.set_sizes) == 1 else 1.0 + PAIRED.control_median
        return self._clears(self.first, name, least)

    @property
    def control(self) -> Interval:
        """The ratio of the first contender to itself."""
        return self.speedup(CONTROL_NAME, self.first)

    @property
    def control_holds(self) -> bool:
        """Whether that ratio is 1 within ±2 %, and its interval narrow."""
        return not out_by(self.control)

    def _clears(self, name: str, baseline: str, least: float = 1.0) -> bool:
        """Whether one's whole gain lies beyond what the first differs from itself by, and every set agrees."""
        gain = self.speedup(name, baseline)
        return gain.low > max(least, reach(self.control)) and self.wins_everywhere(name, baseline)

    def _rate(self, name: str) -> float:
        """How many times as fast as the first: the median over the rounds that both ran."""
        return median(self._ratios(name, self.first))

    def _ratios(self, name: str, baseline: str) -> list[float]:
        rounds = {**self.rounds_ms, **self.left_ms}
        return paired_ratios(rounds[baseline], rounds[name])
