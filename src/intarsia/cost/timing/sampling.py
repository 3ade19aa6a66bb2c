"""How a loaded plan is timed inside a worker: warm up, then until the estimate is stable or the time is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from intarsia.cost.thresholds import SAMPLING
from intarsia.cost.timing.clients import Clients
from intarsia.cost.timing.clock_calibration import Slowdown, full_speed, is_even
from intarsia.cost.timing.statistics import halves_agree, median_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long one partition may be timed.

    Attributes:
        seconds: Time for one window, beyond ``min_runs``.
        min_runs: Runs that are made in any case.
        max_runs: Runs after which a window ends.
        hopeless_ms: Give up after the warm-up if one run takes longer.
        until: Share of the compile's time behind which this is not begun any more.
        given_up: Share of it behind which an answer is not waited for any more, unless it was expected to take longer.
        is_needed: Whether it is done even where there is no time for it, since nothing could ship without.
        look: Each look at the same plan is a measurement of its own: the machine may have been slow at the first.
    """

    seconds: float = 0.3
    min_runs: int = 7
    max_runs: int = 100
    hopeless_ms: float | None = None
    until: float = 1.0
    given_up: float = 1.0
    is_needed: bool = False
    look: int = 1


Samples = tuple[tuple[float, ...], bool]
"""Milliseconds at full speed, and whether the window was completed (or given up as hopeless)."""


def sample(run_ms: Callable[[], float], effort: Effort, slowdown: Slowdown = full_speed) -> Samples:
    """Time one run again and again, and put each time down to what it would be at full speed."""
    warm = _warm_up(run_ms) / slowdown()
    if effort.hopeless_ms is not None and warm > effort.hopeless_ms:
        return (run_ms() / slowdown(),), False
    windows = []
    for _ in range(SAMPLING.attempts):
        window = _window(run_ms, effort, slowdown)
        if halves_agree(window, SAMPLING.halves_differ):
            return window, True
        windows.append(window)
    # A machine that never quietens: the window with the lowest median was disturbed least.
    return min(windows, key=lambda samples: median_interval(samples).median), True


def sample_stream(stream: Iterator[object], effort: Effort, slowdown: Slowdown = full_speed) -> Samples:
    """As `sample`, for an endless stream: each sample is the milliseconds of a request over many results in a row."""
    for _ in range(SAMPLING.warm_up_requests):
        next(stream)
    fewest = SAMPLING.warm_up_requests
    count = max(fewest, math.ceil(SAMPLING.stream_ms / _per_result(stream, fewest)))
    return sample(lambda: _per_result(stream, count), effort, slowdown)


def sample_load(clients: Clients[Any], effort: Effort, slowdown: Slowdown = full_speed) -> Samples:
    """As `sample`, for instances at work at one time: each sample is the milliseconds from one answer to the next."""
    clients.burst(SAMPLING.warm_up_calls)
    calls = max(1, math.ceil(SAMPLING.stream_ms / max(clients.burst(1).calls_ms)))
    return sample(lambda: clients.burst(calls).between_ms, effort, slowdown)


def _per_result(stream: Iterator[object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        next(stream)
    return (time.perf_counter() - start) * 1e3 / count


def _warm_up(run_ms: Callable[[], float]) -> float:
    end = time.perf_counter() + SAMPLING.warm_up_s
    calls, fastest = 0, float("inf")
    while calls < SAMPLING.warm_up_calls or time.perf_counter() < end:
        fastest = min(fastest, run_ms())
        calls += 1
    return fastest


def _window(run_ms: Callable[[], float], effort: Effort, slowdown: Slowdown) -> tuple[float, ...]:
    end = time.perf_counter() + effort.seconds
    even: list[float] = []
    uneven: list[float] = []
    before = slowdown()
    while len(even) + len(uneven) < effort.max_runs:
        block = _block(run_ms, effort.max_runs - len(even) - len(uneven))
        after = slowdown()
        samples = even if is_even((before, after)) else uneven
        samples += [ms / ((before + after) / 2) for ms in block]
        before = after
        if len(even) + len(uneven) < effort.min_runs:
            continue
        is_stable = len(even) >= effort.min_runs and median_interval(even).half_width <= SAMPLING.stable
        if is_stable or time.perf_counter() >= end:
            break
    # Where the machine's pace changed, nobody knows which of the runs it changed in.
    return tuple(even) if len(even) >= effort.min_runs else (*even, *uneven)


def _block(run_ms: Callable[[], float], most: int) -> list[float]:
    samples = [run_ms()]
    while len(samples) < most and sum(samples) < SAMPLING.block_ms:
        samples.append(run_ms())
    return samples
