"""Loaded plans of several machines against each other, called from here, in turns: the last word.

The rules are those of `intarsia.cost.timing.verdict`. What is loaded for a set of rounds is loaded anew for the next.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Final, Protocol

import numpy as np

from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort
from intarsia.cost.timing.statistics import median
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import IntarsiaError

_EFFORT: Final = BenchmarkEffort()
"""Sets and rounds as in the paired benchmark of one machine."""
_TURN_S: Final = 0.05
"""A turn has as many calls as take so long, up to `_MOST_CALLS`."""
_MOST_CALLS: Final = 20
_REQUESTS: Final = 8
"""Of a stream in one turn, at least."""
_FILLING: Final = 4
"""Requests of a stream that are answered before time counts: not all machines are at work yet."""


class Callee(Protocol):
    """What is timed: a `CompiledModel` or a `DeployedModel`."""

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        """Run once."""

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Iterable[dict[str, np.ndarray]]:
        """Run once for each request."""

    def close(self) -> None:
        """Free what is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A plan: its name, and what loads it."""

    name: str
    load: Callable[[], Callee]


def request_ms(callee: Callee, feeds: Mapping[str, np.ndarray], count: int, *, streams: bool) -> float:
    """Milliseconds a request: of a stream of so many, or the median of so many calls."""
    if streams:
        results = iter(callee.stream(repeat(feeds, _FILLING + count)))
        for _ in range(_FILLING):
            next(results)
        start = time.perf_counter()
        for _ in results:
            pass
        return (time.perf_counter() - start) / count * 1e3
    times = []
    for _ in range(count):
        start = time.perf_counter()
        callee(feeds)
        times.append(time.perf_counter() - start)
    return median(times) * 1e3


def paired(
    contenders: Sequence[Contender],
    feeds: Mapping[str, np.ndarray],
    deadline: Deadline,
    watch: Watcher,
    *,
    streams: bool,
    seed: int = 0,
) -> Verdict:
    """Time them in turns; the first is the one to beat, and runs twice.

    One that fails leaves, and what was measured with it is measured anew. No set is begun behind the deadline, and
    fewer than two show nothing.

    Args:
        contenders: What is compared.
        feeds: Of each request.
        deadline: When to end.
        watch: Told of each set.
        streams: Whether a stream of requests is timed, or call by call.
        seed: Of the order in turns.
    """
    failed: dict[str, tuple[str, str]] = {}
    running = list(contenders)
    sets: list[dict[str, list[float]]] = []
    watch(Progress(stage="decide", done=0, total=_EFFORT.processes))
    while running and len(sets) < _EFFORT.processes + _EFFORT.repeats and (len(sets) < 2 or not deadline.is_over()):
        verdict = _verdict(sets, running, failed)
        if len(sets) >= _EFFORT.processes and not (verdict.is_void or verdict.is_in_doubt):
            break
        try:
            sets.append(_one_set(running, feeds, deadline, random.Random(seed + len(sets)), streams=streams))
        except _FailedError as error:
            failed[error.name] = ("run", str(error.why))
            running = [each for each in running if each.name != error.name]
            sets = []
            continue
        watch(Progress(stage="decide", done=len(sets), total=max(_EFFORT.processes, len(sets))))
    return _verdict(sets, running, failed)


class _FailedError(Exception):
    def __init__(self, name: str, why: IntarsiaError) -> None:
        super().__init__(name)
        self.name = name
        self.why = why


def _verdict(
    sets: Sequence[Mapping[str, Sequence[float]]], running: Sequence[Contender], failed: Mapping[str, tuple[str, str]]
) -> Verdict:
    names = [each.name for each in running]
    names[1:1] = [CONTROL_NAME]
    rounds = {name: tuple(chain.from_iterable(each[name] for each in sets)) for name in names} if sets else {}
    found = Verdict(
        rounds_ms=rounds,
        set_sizes=tuple(len(next(iter(each.values()))) for each in sets),
        profile_ms={},
        errors={},
        failed=failed,
        is_void=len(sets) < PAIRED.settled_sets,
    )
    return found if found.is_void or found.control_holds else replace(found, is_void=True)


def _one_set(
    running: Sequence[Contender],
    feeds: Mapping[str, np.ndarray],
    deadline: Deadline,
    rng: random.Random,
    *,
    streams: bool,
) -> dict[str, list[float]]:
    several = {running[0].name: running[0], CONTROL_NAME: running[0], **{each.name: each for each in running[1:]}}
    with ExitStack() as stack:
        loaded: dict[str, Callee] = {}
        counts = {}
        for name, contender in several.items():
            with _blamed(contender.name):
                loaded[name] = contender.load()
                stack.callback(loaded[name].close)
                counts[name] = _count(loaded[name], feeds, streams=streams)
        rounds: dict[str, list[float]] = {name: [] for name in several}
        end = deadline.spent + max(1.0, deadline.left / _EFFORT.processes)
        for number in range(_EFFORT.rounds):
            if number >= _EFFORT.min_rounds and deadline.spent >= end:
                break
            for name in rng.sample(list(several), len(several)):
                with _blamed(several[name].name):
                    rounds[name].append(request_ms(loaded[name], feeds, counts[name], streams=streams))
    return rounds


def _count(callee: Callee, feeds: Mapping[str, np.ndarray], *, streams: bool) -> int:
    """Calls in a turn, once it is warm."""
    callee(feeds)
    ms = min(request_ms(callee, feeds, 1, streams=False) for _ in range(2))
    calls = min(_MOST_CALLS, math.ceil(_TURN_S * 1e3 / max(ms, 1e-3)))
    return max(_REQUESTS, calls) if streams else calls


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Say whose failure it is."""
    try:
        yield
    except IntarsiaError as error:
        raise _FailedError(name, error) from error
