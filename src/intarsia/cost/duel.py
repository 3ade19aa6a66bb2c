"""The last word: finished artifacts against each other, interleaved, in several sets of fresh processes.

Each contender has a process of its own, with the environment its engines want; only one of them runs at a time. The
contender that is to be beaten runs twice: its ratio to itself is the control. While the control's median leaves ±2 %,
or one is faster in some sets and not in others, sets are added; a duel that ends with the control outside is void.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path

from intarsia.config.settings import Spin
from intarsia.cost.client import WorkerClient
from intarsia.cost.deadline import NO_END, Deadline
from intarsia.cost.pace import Pace, Slowdown, at_full_speed
from intarsia.cost.progress import Progress, Watcher, unwatched
from intarsia.cost.protocol import Answer, Failed, Open, Opened, Profile, Round, Times
from intarsia.cost.statistics import Interval, median, median_interval
from intarsia.runtime.environment import load_environment
from intarsia.runtime.plan import Plan
from intarsia.runtime.transfers import HOST

CONTROL = 0.02
CONTROL_NAME = "control"
PATIENCE_S = 120.0
PROFILE_RUNS = 5
SETTLE_S = 0.05
"""Pause behind one that spins: ONNX Runtime's threads go on for some 30 ms after a call, on the next one's cores."""
SETTLED_SETS = 2
"""Sets where nothing but the settings of one plan is left to decide, or the time is over and nothing leads."""
WARM = 2
"""Untimed runs of a turn: the caches hold what the contender before left there. One run of a slow model will do."""
ROUND_MS = 40.0
"""A round runs a contender for about this long at least, so that short models are not timed by single runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """An artifact in the duel."""

    name: str
    path: Path
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much a duel may take.

    Attributes:
        processes: Sets of fresh processes.
        rounds: Rounds in each set.
        seconds: Rounds end early after this time in each set, but not before ``min_rounds``.
        min_rounds: Rounds of each set in any case.
        repeats: Sets that may be added while the control is out, or who is faster in doubt.
    """

    processes: int = 3
    rounds: int = 10
    seconds: float = 6.0
    min_rounds: int = 4
    repeats: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a duel.

    Attributes:
        rounds_ms: For each contender that stayed, and for the control, one median a round at full speed, over all sets.
        set_sizes: How many of the rounds each set of processes made.
        profile_ms: For each contender, the milliseconds of its steps.
        transfers_ms: For each contender, the milliseconds of the transfers that are not inside an engine's call.
        errors: For each contender, its largest error against the reference.
        failed: Contenders that did not make it, with stage and reason.
        is_void: Whether the control stayed out.
    """

    rounds_ms: Mapping[str, tuple[float, ...]]
    set_sizes: tuple[int, ...]
    profile_ms: Mapping[str, tuple[float, ...]]
    errors: Mapping[str, float | None]
    failed: Mapping[str, tuple[str, str]]
    is_void: bool
    transfers_ms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def speedup(self, name: str, baseline: str) -> Interval:
        """Median over the rounds of the baseline's time divided by this one's, with its 95 % interval."""
        return median_interval(self._ratios(name, baseline))

    def expected_ms(self, name: str) -> float:
        """Mean over the sets of their medians: what a process may expect that does not know its luck with memory."""
        medians = self._set_medians(self.rounds_ms[name])
        return sum(medians) / len(medians)

    def wins_everywhere(self, name: str, baseline: str) -> bool:
        """Whether it is faster by median in each set of processes: one set's luck with memory is no win.

        Of four sets or five it may lose one: a neighbour may meet one plan more than another.
        """
        ratios = self._set_medians(self._ratios(name, baseline))
        return sum(ratio <= 1.0 for ratio in ratios) <= len(ratios) // 4

    @property
    def is_in_doubt(self) -> bool:
        """Whether something seems faster than the first, but was not shown to be: more sets may show it."""
        first = next(iter(self.rounds_ms))
        return not all(
            self.speedup(name, first).low > 1.0 and self.wins_everywhere(name, first) for name in self.leaders
        )

    @property
    def leaders(self) -> tuple[str, ...]:
        """Who seems faster than the first: by more than the control may be out, or beyond the noise of its rounds."""
        first, *others = (name for name in self.rounds_ms if name != CONTROL_NAME)
        gains = {name: self.speedup(name, first) for name in others}
        return tuple(name for name, gain in gains.items() if gain.median > 1.0 + CONTROL or gain.low > 1.0)

    def is_faster(self, name: str, baseline: str) -> bool:
        """Whether one was shown to be faster than the other: beyond the noise, and in each set of processes.

        In a duel that is void because the control is out, beyond twice what it is out by too.
        """
        noise = 0.0
        if self.is_void:
            if self.control_holds:  # it is void for another reason: it did not come to its end
                return False
            noise = abs(self.control - 1.0)
        return self.speedup(name, baseline).low > 1.0 + 2 * noise and self.wins_everywhere(name, baseline)

    @property
    def control(self) -> float:
        """Median ratio of the first contender to itself."""
        return self.speedup(CONTROL_NAME, next(iter(self.rounds_ms))).median

    @property
    def control_holds(self) -> bool:
        """Whether that ratio is within ±2 % of 1."""
        return abs(self.control - 1.0) <= CONTROL

    def _set_medians(self, figures: Sequence[float]) -> list[float]:
        ends = accumulate(self.set_sizes)
        return [median(figures[end - size : end]) for size, end in zip(self.set_sizes, ends, strict=True)]

    def _ratios(self, name: str, baseline: str) -> list[float]:
        return [theirs / mine for theirs, mine in zip(self.rounds_ms[baseline], self.rounds_ms[name], strict=True)]


def duel(
    folder: Path,
    contenders: Sequence[Contender],
    effort: Effort,
    seed: int = 0,
    watch: Watcher = unwatched,
    keep: str | None = None,
    deadline: Deadline = NO_END,
) -> Verdict:
    """Time the contenders, the first of them being the one to beat. The caller holds the machine lock.

    A first contender that fails makes way for the next. One that the first beats beyond doubt leaves after that set,
    unless it is the one to ``keep``. Where the next set would end behind the deadline, two sets do if nothing leads:
    more of them could only show that the first is the fastest.
    """
    failed: dict[str, tuple[str, str]] = {}
    sets: list[_Set] = []
    running = _with_control(contenders)
    slowdown = Pace()
    set_s = 0.0
    watch(Progress(stage="decide", done=0, total=effort.processes))
    for number in range(effort.processes + effort.repeats):
        verdict = _verdict(sets, running, failed, effort)
        if not running or not (verdict.is_void or verdict.is_in_doubt):
            break
        if len(sets) >= SETTLED_SETS and deadline.left < set_s and not _is_led(verdict, running):
            effort = replace(effort, processes=SETTLED_SETS)
            break
        start = deadline.spent
        done = _one_set(folder, running, effort, random.Random(seed + number), slowdown)
        set_s = deadline.spent - start
        failed |= {name: why for name, why in done.failed.items() if name != CONTROL_NAME}
        if done.failed:
            sets = []
            running = _with_control([c for c in contenders if c.name not in failed])
            continue
        sets.append(done)
        running = _still_standing(running, _verdict(sets, running, failed, effort), keep)
        best = min(median(times) for times in done.rounds.values())
        watch(Progress(stage="decide", done=len(sets), total=effort.processes, best_ms=best))
    return _verdict(sets, running, failed, effort)


def _verdict(
    sets: Sequence[_Set], running: Mapping[str, Contender], failed: Mapping[str, tuple[str, str]], effort: Effort
) -> Verdict:
    names = running if sets else {}
    fought = Verdict(
        rounds_ms={name: tuple(ms for done in sets for ms in done.rounds[name]) for name in names},
        set_sizes=tuple(len(next(iter(done.rounds.values()))) for done in sets),
        profile_ms={name: sets[-1].profile[name][0] for name in names},
        transfers_ms={name: sets[-1].profile[name][1] for name in names},
        errors={name: sets[-1].errors[name] for name in names},
        failed=failed,
        is_void=len(sets) < _sets_wanted(running, effort),
    )
    return fought if fought.is_void else replace(fought, is_void=not fought.control_holds)


def _is_led(verdict: Verdict, running: Mapping[str, Contender]) -> bool:
    """Whether a plan seems faster that differs from the first in more than its settings."""
    first = next(iter(running.values()))
    return any(running[name].plan.steps != first.plan.steps for name in verdict.leaders)


def _sets_wanted(running: Mapping[str, Contender], effort: Effort) -> int:
    """Fewer once all that are left differ in settings alone, not in which engine runs which part."""
    plans = {contender.plan.steps for contender in running.values()}
    return effort.processes if len(plans) > 1 else min(effort.processes, SETTLED_SETS)


def _with_control(contenders: Sequence[Contender]) -> dict[str, Contender]:
    if not contenders:
        return {}
    return {**{contender.name: contender for contender in contenders}, CONTROL_NAME: contenders[0]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    rounds: Mapping[str, tuple[float, ...]]
    profile: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]
    errors: Mapping[str, float | None]
    failed: Mapping[str, tuple[str, str]]


def _one_set(
    folder: Path, running: Mapping[str, Contender], effort: Effort, rng: random.Random, slowdown: Slowdown
) -> _Set:
    """One set of fresh processes; it ends at once when a contender fails."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(_worker(folder, contender)) for name, contender in running.items()}
        try:
            errors = _open(workers, running)
            rounds = _rounds(workers, running, effort, rng, slowdown)
            profile = {
                name: _profile(name, worker, slowdown, running[name].plan, rounds[name])
                for name, worker in workers.items()
            }
        except _FailedError as error:
            return _Set(rounds={}, profile={}, errors={}, failed={error.name: error.why})
    return _Set(rounds=rounds, profile=profile, errors=errors, failed={})


class _FailedError(Exception):
    """A contender did not do what it was asked."""

    def __init__(self, name: str, answer: Answer) -> None:
        super().__init__(name)
        self.name = name
        if isinstance(answer, Failed):
            self.why = (answer.stage, answer.reason)
        else:
            self.why = ("run", f"unexpected answer {answer!r}")


def _worker(folder: Path, contender: Contender) -> WorkerClient:
    worker = WorkerClient(folder, load_environment(contender.plan.engines, contender.plan.settings))
    worker.send(Open(path=str(contender.path)))  # all of them load at one time
    return worker


def _open(workers: Mapping[str, WorkerClient], running: Mapping[str, Contender]) -> dict[str, float | None]:
    """Wait until all are loaded; the error of each against the reference."""
    errors = {}
    patience_s = PATIENCE_S * len(running)
    for name, worker in workers.items():
        answer = worker.answer(patience_s)
        if not isinstance(answer, Opened):
            raise _FailedError(name, answer)
        errors[name] = answer.error
    return errors


def _rounds(
    workers: Mapping[str, WorkerClient],
    running: Mapping[str, Contender],
    effort: Effort,
    rng: random.Random,
    slowdown: Slowdown,
) -> dict[str, tuple[float, ...]]:
    """For each contender one time a round, in turns whose order is drawn anew each time."""
    turns = {name: _turn(name, worker) for name, worker in workers.items()}
    rounds: dict[str, list[float]] = {name: [] for name in workers}
    end = time.monotonic() + effort.seconds
    for number in range(effort.rounds):
        if number >= effort.min_rounds and time.monotonic() >= end:
            break
        for name in rng.sample(list(workers), len(workers)):
            settle_s = SETTLE_S if running[name].plan.settings.spin is Spin.FREE else 0.0
            rounds[name].append(at_full_speed(partial(_median, name, workers[name], turns[name]), slowdown, settle_s))
    return {name: tuple(times) for name, times in rounds.items()}


def _times(name: str, worker: WorkerClient, request: Round | Profile) -> Times:
    answer = worker.ask(request, PATIENCE_S)
    if not isinstance(answer, Times):
        raise _FailedError(name, answer)
    return answer


def _median(name: str, worker: WorkerClient, turn: Round) -> float:
    return median(_times(name, worker, turn).ms)


def _turn(name: str, worker: WorkerClient) -> Round:
    ms = min(_times(name, worker, Round(warm=1, runs=2)).ms)
    return Round(warm=1, runs=1) if ms > ROUND_MS else Round(warm=WARM, runs=min(50, math.ceil(ROUND_MS / ms)))


def _profile(
    name: str, worker: WorkerClient, slowdown: Slowdown, plan: Plan, rounds_ms: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Milliseconds of the steps, and of the transfers. A step on the host's memory that is alone has been timed."""
    if len(plan.steps) == 1 and plan.steps[0].target.device_type == HOST:
        return (median(rounds_ms),), ()
    before = slowdown()
    found = _times(name, worker, Profile(runs=PROFILE_RUNS))
    pace = (before + slowdown()) / 2
    return tuple(ms / pace for ms in found.ms), tuple(ms / pace for ms in found.transfers_ms)


def _still_standing(running: Mapping[str, Contender], fought: Verdict, keep: str | None) -> dict[str, Contender]:
    """Without those that the first one beats beyond doubt, over all sets."""
    first = next(iter(running))
    return {
        name: contender
        for name, contender in running.items()
        if name in (first, CONTROL_NAME, keep) or fought.speedup(name, first).high >= 1 - CONTROL
    }
