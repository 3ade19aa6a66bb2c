"""The last word: finished artifacts against each other, interleaved, in several sets of fresh processes.

Each contender has a process of its own, with the environment its engines want; only one of them runs at a time. The
contender that is to be beaten runs twice: its ratio to itself is the control, and a set whose control leaves ±2 % is
void and is run again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
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
ROUND_MS = 12.0
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
        repeats: Sets that may be added for void ones.
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
        rounds_ms: For each contender that stayed, and for the control, one median a round, over all valid sets.
        profile_ms: For each contender, the milliseconds of its steps.
        errors: For each contender, its largest error against the reference.
        failed: Contenders that did not make it, with stage and reason.
        is_void: Whether too few sets passed their control.
    """

    rounds_ms: Mapping[str, tuple[float, ...]]
    profile_ms: Mapping[str, tuple[float, ...]]
    errors: Mapping[str, float | None]
    failed: Mapping[str, tuple[str, str]]
    is_void: bool

    def speedup(self, name: str, baseline: str) -> Interval:
        """Median over the rounds of the baseline's time divided by this one's, with its 95 % interval."""
        pairs = zip(self.rounds_ms[baseline], self.rounds_ms[name], strict=True)
        return median_interval([theirs / mine for theirs, mine in pairs])


def duel(
    folder: Path,
    contenders: Sequence[Contender],
    effort: Effort,
    seed: int = 0,
    watch: Watcher = unwatched,
) -> Verdict:
    """Time the contenders, the first of them being the one to beat. The caller holds the machine lock.

    A first contender that fails makes way for the next.
    """
    failed: dict[str, tuple[str, str]] = {}
    sets: list[_Set] = []
    running = _with_control(contenders)
    for number in range(effort.processes + effort.repeats):
        if not running or sum(done.is_valid for done in sets) == effort.processes:
            break
        done = _one_set(folder, running, effort, random.Random(seed + number))
        failed |= {name: why for name, why in done.failed.items() if name != CONTROL_NAME}
        if done.failed:
            sets = []
            running = _with_control([c for c in contenders if c.name not in failed])
            continue
        sets.append(done)
        running = _still_standing(running, done)
        best = min(median(times) for times in done.rounds.values())
        watch(Progress(stage="decide", done=number + 1, total=effort.processes, best_ms=best))
    # With no quiet moment at all, what was measured is still told, and told to be void.
    used = [done for done in sets if done.is_valid] or sets
    names = running if used else {}
    return Verdict(
        rounds_ms={name: tuple(ms for done in used for ms in done.rounds[name]) for name in names},
        profile_ms={name: used[-1].profile[name] for name in names},
        errors={name: used[-1].errors[name] for name in names},
        failed=failed,
        is_void=sum(done.is_valid for done in sets) < effort.processes,
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
    is_valid: bool


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
                answer = workers[name].ask(Round(warm=1, runs=runs[name]), PATIENCE_S)
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
        is_valid=_control_holds(rounds),
    )


def _failed_set(name: str, answer: object) -> _Set:
    why = (answer.stage, answer.reason) if isinstance(answer, Failed) else ("run", f"unexpected answer {answer!r}")
    return _Set(rounds={}, profile={}, errors={}, failed={name: why}, is_valid=False)


def _runs(worker: WorkerClient) -> int:
    answer = worker.ask(Round(warm=3, runs=3), PATIENCE_S)
    return max(1, min(50, round(ROUND_MS / median(answer.ms)))) if isinstance(answer, Times) else 1


def _control_holds(rounds: Mapping[str, Sequence[float]]) -> bool:
    first = next(iter(rounds))
    pairs = zip(rounds[first], rounds[CONTROL_NAME], strict=True)
    return abs(median([theirs / mine for theirs, mine in pairs]) - 1) <= CONTROL


def _still_standing(running: Mapping[str, Contender], done: _Set) -> dict[str, Contender]:
    """Without those that the first one beats beyond doubt."""
    first = next(iter(running))
    standing = {}
    for name, contender in running.items():
        pairs = zip(done.rounds[first], done.rounds[name], strict=True)
        hopeless = median_interval([theirs / mine for theirs, mine in pairs]).high < 1 - CONTROL
        if name in (first, CONTROL_NAME) or not hopeless:
            standing[name] = contender
    return standing
