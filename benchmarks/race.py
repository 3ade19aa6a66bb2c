"""Whole processes side by side: rounds interleaved over contenders that each run alone, in fresh sets of processes.

The statistic is the median of per-round ratios with its 95 % interval by order statistics. The first contender runs
twice: while the median of its ratios to itself leaves ±2 %, more sets are run, and a race that ends outside is void.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intarsia.cost.statistics import median_interval

CONTROL = "control"
CONTROL_LIMIT = 0.02
ROUND_MS = 40.0
SETTLE_S = 0.05
"""Pause before each round: ONNX Runtime's threads spin for some 30 ms after a call, on the next contender's cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """How to start one: its name, its kind in `benchmarks.direct`, and what that kind is given."""

    name: str
    kind: str
    model: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rounds of every contender and of the control, over all sets."""

    rounds_ms: Mapping[str, tuple[float, ...]]
    sets: int

    @property
    def control(self) -> float:
        """Median ratio of the first contender to itself."""
        return self.ratio(next(iter(self.rounds_ms)), CONTROL)[0]

    @property
    def is_void(self) -> bool:
        """Whether the control is out."""
        return abs(self.control - 1) > CONTROL_LIMIT

    def median_ms(self, name: str) -> float:
        """Median of the rounds."""
        return statistics.median(self.rounds_ms[name])

    def ratio(self, name: str, over: str) -> tuple[float, float, float]:
        """Median of per-round ``name``/``over`` with its 95 % interval."""
        pairs = zip(self.rounds_ms[name], self.rounds_ms[over], strict=True)
        interval = median_interval([a / b for a, b in pairs])
        return interval.median, interval.low, interval.high


def race(
    contenders: Sequence[Contender],
    feeds: Path,
    threads: int,
    *,
    sets: int = 3,
    rounds: int = 10,
    repeats: int = 1,
    seed: int = 0,
) -> Result:
    """Run ``sets`` sets of ``rounds`` rounds, and up to ``repeats`` more while the control is out."""
    names = [*(contender.name for contender in contenders), CONTROL]
    total: dict[str, tuple[float, ...]] = dict.fromkeys(names, ())
    for number in range(sets + repeats):
        found = _one_set(contenders, feeds, threads, rounds, random.Random(seed + number))
        total = {name: (*total[name], *found[name]) for name in names}
        result = Result(rounds_ms=total, sets=number + 1)
        if number + 1 >= sets and not result.is_void:
            break
    return result


def screen(contenders: Sequence[Contender], feeds: Path, threads: int, runs: int = 5) -> dict[str, float]:
    """A first look: the median of a few runs of each, one after another; those that do not start are left out."""
    found = {}
    for contender in contenders:
        with _start(contender, feeds, threads) as process:
            if process.stdout is not None and process.stdout.readline().strip() == "ready":
                found[contender.name] = statistics.median(_ask(process, 2, runs))
            process.kill()
    return found


def _one_set(
    contenders: Sequence[Contender], feeds: Path, threads: int, rounds: int, rng: random.Random
) -> dict[str, list[float]]:
    named = {contender.name: contender for contender in contenders} | {CONTROL: contenders[0]}
    found: dict[str, list[float]] = {name: [] for name in named}
    with ExitStack() as stack:
        running = {name: stack.enter_context(_start(contender, feeds, threads)) for name, contender in named.items()}
        for name, process in running.items():
            if process.stdout is None or process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{name} did not start")
        runs = {name: _runs(process) for name, process in running.items()}
        for _ in range(rounds):
            for name in rng.sample(list(running), len(running)):
                time.sleep(SETTLE_S)
                found[name].append(statistics.median(_ask(running[name], 2, runs[name])))
        for process in running.values():
            process.kill()
    return found


def _start(contender: Contender, feeds: Path, threads: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "benchmarks.direct", contender.kind, str(contender.model), str(feeds)),
            *(str(threads), json.dumps(dict(contender.options))),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **contender.environment},
    )


def _runs(process: subprocess.Popen[str]) -> int:
    return max(1, min(100, round(ROUND_MS / statistics.median(_ask(process, 3, 3)))))


def _ask(process: subprocess.Popen[str], warm: int, runs: int) -> list[float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{warm} {runs}\n")
    process.stdin.flush()
    times: list[float] = json.loads(process.stdout.readline())
    return times
