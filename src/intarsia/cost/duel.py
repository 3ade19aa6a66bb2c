"""The last word: finished artifacts against each other, interleaved, in several sets of fresh processes.

Each contender has a process of its own, with the environment its engines want; only one of them runs at a time. The
contender that is to be beaten runs twice: its ratio to itself is the control. While the control's median leaves ±2 %,
more sets are added; a duel that ends outside is void.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from intarsia.cost.client import WorkerClient
from intarsia.cost.progress import Progress, Watcher, unwatched
from intarsia.cost.protocol import Failed, Open, Opened, Profile, Round, Times
from intarsia.cost.statistics import Interval, median, median_interval
from intarsia.runtime.environment import load_environment
from intarsia.runtime.plan import Plan

CONTROL = 0.02
CONTROL_NAME = "control"
PATIENCE_S = 120.0
PROFILE_RUNS = 5
SETTLE_S = 0.05
"""Pause before each round: ONNX Runtime's threads spin for some 30 ms after a call, on the next contender's cores."""
WARM = 2
"""Untimed runs before each round: the caches hold what the contender before left there."""
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
        repeats: Sets that may be added while the control is out.
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
        rounds_ms: For each contender that stayed, and for the control, one median a round, over all sets.
        set_sizes: How many of the rounds each set of processes made.
        profile_ms: For each contender, the milliseconds of its steps.
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

    def speedup(self, name: str, baseline: str) -> Interval:
        """Median over the rounds of the baseline's time divided by this one's, with its 95 % interval."""
        return median_interval(self._ratios(name, baseline))

    def expected_ms(self, name: str) -> float:
        """Mean over the sets of their medians: what a process may expect that does not know its luck with memory."""
        medians = self._set_medians(self.rounds_ms[name])
        return sum(medians) / len(medians)

    def wins_everywhere(self, name: str, baseline: str) -> bool:
        """Whether it is faster by median in each set of processes: one set's luck with memory is no win."""
        return all(ratio > 1.0 for ratio in self._set_medians(self._ratios(name, baseline)))

    def is_faster(self, name: str, baseline: str) -> bool:
        """Whether one was shown to be faster than the other: beyond the noise, and in each set of processes."""
        return not self.is_void and self.speedup(name, baseline).low > 1.0 and self.wins_everywhere(name, baseline)

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
) -> Verdict:
    """Time the contenders, the first of them being the one to beat. The caller holds the machine lock.

    A first contender that fails makes way for the next. One that the first beats beyond doubt leaves after that set,
    unless it is the one to ``keep``.
    """
    failed: dict[str, tuple[str, str]] = {}
    sets: list[_Set] = []
    running = _with_control(contenders)
    for number in range(effort.processes + effort.repeats):
        if not running or (len(sets) >= effort.processes and _control_holds(sets)):
            break
        done = _one_set(folder, running, effort, random.Random(seed + number))
        failed |= {name: why for name, why in done.failed.items() if name != CONTROL_NAME}
        if done.failed:
            sets = []
            running = _with_control([c for c in contenders if c.name not in failed])
            continue
        sets.append(done)
        running = _still_standing(running, done, keep)
        best = min(median(times) for times in done.rounds.values())
        watch(Progress(stage="decide", done=len(sets), total=effort.processes, best_ms=best))
    names = running if sets else {}
    return Verdict(
        rounds_ms={name: tuple(ms for done in sets for ms in done.rounds[name]) for name in names},
        set_sizes=tuple(len(next(iter(done.rounds.values()))) for done in sets),
        profile_ms={name: sets[-1].profile[name] for name in names},
        errors={name: sets[-1].errors[name] for name in names},
        failed=failed,
        is_void=len(sets) < effort.processes or not _control_holds(sets),
    )


def _with_control(contenders: Sequence[Contender]) -> dict[str, Contender]:
    if not contenders:
        return {}
    return {**{contender.name: contender for contender in contenders}, CONTROL_NAME: contenders[0]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    rounds: Mapping[str, tuple[float, ...]]
    profile: Mapping[str, tuple[float, ...]]
    errors: Mapping[str, float | None]
    failed: Mapping[str, tuple[str, str]]


def _one_set(folder: Path, running: Mapping[str, Contender], effort: Effort, rng: random.Random) -> _Set:
    """One set of fresh processes; it ends at once when a contender fails."""
    errors: dict[str, float | None] = {}
    rounds: dict[str, list[float]] = {name: [] for name in running}
    profile: dict[str, tuple[float, ...]] = {}
    with ExitStack() as stack:
        workers: dict[str, WorkerClient] = {}
        for name, contender in running.items():
            environment = load_environment(contender.plan.engines, contender.plan.settings)
            workers[name] = stack.enter_context(WorkerClient(folder, environment))
            workers[name].start()
        for name, contender in running.items():
            answer = workers[name].ask(Open(path=str(contender.path)), PATIENCE_S)
            if not isinstance(answer, Opened):
                return _failed_set(name, answer)
            errors[name] = answer.error
        runs = {name: _runs(worker) for name, worker in workers.items()}
        end = time.monotonic() + effort.seconds
        for number in range(effort.rounds):
            if number >= effort.min_rounds and time.monotonic() >= end:
                break
            for name in rng.sample(list(workers), len(workers)):
                time.sleep(SETTLE_S)
                answer = workers[name].ask(Round(warm=WARM, runs=runs[name]), PATIENCE_S)
                if not isinstance(answer, Times):
                    return _failed_set(name, answer)
                rounds[name].append(median(answer.ms))
        for name, worker in workers.items():
            answer = worker.ask(Profile(runs=PROFILE_RUNS), PATIENCE_S)
            if not isinstance(answer, Times):
                return _failed_set(name, answer)
            profile[name] = answer.ms
    return _Set(
        rounds={name: tuple(times) for name, times in rounds.items()},
        profile=profile,
        errors=errors,
        failed={},
    )


def _failed_set(name: str, answer: object) -> _Set:
    why = (answer.stage, answer.reason) if isinstance(answer, Failed) else ("run", f"unexpected answer {answer!r}")
    return _Set(rounds={}, profile={}, errors={}, failed={name: why})


def _runs(worker: WorkerClient) -> int:
    answer = worker.ask(Round(warm=3, runs=3), PATIENCE_S)
    return max(1, min(50, round(ROUND_MS / median(answer.ms)))) if isinstance(answer, Times) else 1


def _control_holds(sets: Sequence[_Set]) -> bool:
    first = next(iter(sets[0].rounds))
    pairs = [pair for done in sets for pair in zip(done.rounds[first], done.rounds[CONTROL_NAME], strict=True)]
    return abs(median([theirs / mine for theirs, mine in pairs]) - 1) <= CONTROL


def _still_standing(running: Mapping[str, Contender], done: _Set, keep: str | None) -> dict[str, Contender]:
    """Without those that the first one beats beyond doubt."""
    first = next(iter(running))
    standing = {}
    for name, contender in running.items():
        pairs = zip(done.rounds[first], done.rounds[name], strict=True)
        hopeless = median_interval([theirs / mine for theirs, mine in pairs]).high < 1 - CONTROL
        if name in (first, CONTROL_NAME, keep) or not hopeless:
            standing[name] = contender
    return standing
