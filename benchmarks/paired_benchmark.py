"""Whole processes side by side: rounds interleaved over contenders that each run alone, in fresh sets of processes.

The statistic is the median of per-round ratios with its 95 % interval by order statistics. The first contender runs
twice: while the median of its ratios to itself leaves ±2 %, more sets are run, and a race that ends outside is void.
Times are normalised to full speed, so that a neighbour who comes and goes between two turns of a round is not seen as a
difference of the contenders.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.cost.timing.clock_calibration import ClockProbe, Slowdown, at_full_speed
from intarsia.cost.timing.statistics import Interval, median_interval, paired_ratios, set_medians

CONTROL = "control"
CONTROL_LIMIT = 0.02
ROUND_MS = 40.0
"""A round runs a contender for about this long at least, so that short models are not timed by single runs."""
SETTLE_S = 0.05
"""Pause behind each turn: ONNX Runtime's threads spin for some 30 ms after a call, on the next contender's cores."""
PATIENCE_S = 120.0
"""A contender that is silent for longer is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """How to start one: its name, its kind in `benchmarks.direct_engine`, and what that kind is given."""

    name: str
    kind: str
    model: Path
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long a race takes.

    Attributes:
        sets: Sets of fresh processes in any case.
        rounds: Rounds of each set in any case.
        seconds: A set goes on until its rounds took this long.
        more_sets: Sets that may be added while the control is out or the result is in doubt.
        half_width: Half the interval of the first contender's ratio to the fastest other, relative, above which the
            result is in doubt unless the whole interval is good enough.
        least: Times as fast as the fastest other that the first has to be to be good enough.
    """

    sets: int = 3
    rounds: int = 10
    seconds: float = 0.0
    more_sets: int = 1
    half_width: float = 1.0
    least: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rounds of every contender and of the control at full speed, over all sets; those that left have fewer.

    Attributes:
        rounds_ms: One median a round.
        set_sizes: How many rounds each set made.
    """

    rounds_ms: Mapping[str, tuple[float, ...]]
    set_sizes: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """Rounds of those that stayed."""
        return sum(self.set_sizes)

    @property
    def control(self) -> float:
        """Median ratio of the first contender to itself."""
        return self.ratio(next(iter(self.rounds_ms)), CONTROL).median

    @property
    def is_void(self) -> bool:
        """Whether the control is out."""
        return abs(self.control - 1) > CONTROL_LIMIT

    def median_ms(self, name: str) -> float:
        """Median of the first contender's rounds times how many times as long as it this one took beside it.

        So of two contenders the one with fewer milliseconds is the faster one, whichever rounds each of them ran.
        """
        first = next(iter(self.rounds_ms))
        return statistics.median(self.rounds_ms[first]) * statistics.median(self._ratios(name, first))

    def ratio(self, name: str, over: str) -> Interval:
        """Median of per-round ``name``/``over`` with its 95 % interval."""
        return median_interval(self._ratios(name, over))

    def set_ratios(self, name: str, over: str) -> tuple[float, ...]:
        """The median of each set of processes in which both ran."""
        return set_medians(self._ratios(name, over), self.set_sizes)

    def fastest(self, names: Collection[str]) -> str | None:
        """The fastest by median of those of ``names`` that stayed to the end."""
        for_partition = [name for name in names if len(self.rounds_ms.get(name, ())) == self.rounds]
        return min(for_partition, key=self.median_ms, default=None)

    def _ratios(self, name: str, over: str) -> list[float]:
        return paired_ratios(self.rounds_ms[name], self.rounds_ms[over])


def race(
    contenders: Sequence[Contender],
    feeds: Path,
    threads: int,
    *,
    effort: Effort | None = None,
    may_leave: Collection[str] = (),
    seed: int = 0,
) -> Result:
    """Run the sets. After each, those of ``may_leave`` that the fastest of them beats beyond doubt leave; sets that are
    added beyond ``effort.sets`` are between the first contender and those of ``may_leave`` that are left.

    Raises:
        RuntimeError: A contender did not start, or died.
    """
    effort = effort or Effort()
    running = {contender.name: contender for contender in contenders} | {CONTROL: contenders[0]}
    result = Result(rounds_ms=dict.fromkeys(running, ()), set_sizes=())
    slowdown = ClockProbe()
    for number in range(effort.sets + effort.more_sets):
        found = _one_set(running, feeds, threads, effort, random.Random(seed + number), slowdown)
        sizes = (*result.set_sizes, len(found[CONTROL]))
        total = {name: (*times, *found.get(name, ())) for name, times in result.rounds_ms.items()}
        result = Result(rounds_ms=total, set_sizes=sizes)
        if number + 1 >= effort.sets and not result.is_void and not _in_doubt(result, may_leave, effort):
            break
        hopeless = _hopeless(result, may_leave)
        if number + 1 >= effort.sets and may_leave:
            hopeless |= running.keys() - {contenders[0].name, CONTROL, *may_leave}
        running = {name: contender for name, contender in running.items() if name not in hopeless}
    return result


def screen(contenders: Sequence[Contender], feeds: Path, threads: int, folder: Path, runs: int = 8) -> dict[str, Look]:
    """A first look at each, one after another; those that do not start, or die, are left out.

    Args:
        contenders: Who.
        feeds: The inputs.
        threads: Of each.
        folder: Where their outputs are put for a moment.
        runs: Timed runs of each.
    """
    found = {}
    slowdown = ClockProbe()
    for contender in contenders:
        try:
            with _started(contender, feeds, threads) as process:
                process.wait_until_ready(contender.name)
                ms = at_full_speed(partial(_fastest, process, runs), slowdown)
                found[contender.name] = Look(ms=ms, outputs=process.outputs(folder / "outputs.npz"))
        except RuntimeError:
            continue
    return found


def footprints(
    contenders: Sequence[Contender], feeds: Path, threads: int, starts: int = 5
) -> dict[str, dict[str, float]]:
    """What each takes to start and to hold: medians over so many fresh processes, contenders by turns.

    Args:
        contenders: Who.
        feeds: The inputs.
        threads: Of each.
        starts: Processes of each.

    Returns:
        Of each ``cold_ms``, from before its engine is imported until it ran once, and ``peak_mb``, the most memory that
        its process held until then, with Python's and the engine's own.

    Raises:
        RuntimeError: A contender did not start, or died.
    """
    found: dict[str, list[dict[str, float]]] = {contender.name: [] for contender in contenders}
    for _ in range(starts):
        for contender in contenders:
            with _started(contender, feeds, threads) as process:
                process.wait_until_ready(contender.name)
                found[contender.name].append(process.footprint())
    return {
        name: {figure: round(statistics.median(each[figure] for each in rows), 1) for figure in rows[0]}
        for name, rows in found.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a first look showed: milliseconds of the fastest run at full speed, and the outputs in the model's order."""

    ms: float
    outputs: tuple[np.ndarray, ...]


def _hopeless(result: Result, may_leave: Collection[str]) -> set[str]:
    best = result.fastest(may_leave)
    if best is None:
        return set()
    others = [name for name in may_leave if name in result.rounds_ms and name != best]
    return {name for name in others if result.ratio(name, best).low > 1 + CONTROL_LIMIT}


def _in_doubt(result: Result, others: Collection[str], effort: Effort) -> bool:
    best = result.fastest(others)
    if best is None:
        return False
    ratio = result.ratio(next(iter(result.rounds_ms)), best)
    return ratio.half_width > effort.half_width and ratio.high * effort.least >= 1


def _one_set(
    contenders: Mapping[str, Contender],
    feeds: Path,
    threads: int,
    effort: Effort,
    rng: random.Random,
    slowdown: Slowdown,
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in contenders}
    with ExitStack() as stack:
        running = {name: stack.enter_context(_started(c, feeds, threads)) for name, c in contenders.items()}
        for name, process in running.items():
            process.wait_until_ready(name)
        shape = {name: _shape(process) for name, process in running.items()}
        end = time.monotonic() + effort.seconds
        while len(found[CONTROL]) < effort.rounds or time.monotonic() < end:
            for name in rng.sample(list(running), len(running)):
                turn = partial(_taken, running[name], *shape[name])
                found[name].append(at_full_speed(turn, slowdown, SETTLE_S))
    return found


def _taken(process: _Process, warm: int, runs: int) -> float:
    return statistics.median(process.times(warm, runs))


def _fastest(process: _Process, runs: int) -> float:
    return min(process.times(2, runs))


def _shape(process: _Process) -> tuple[int, int]:
    """Untimed and timed runs of a round. One run reads all of a slow model: it needs no second to fill the caches."""
    ms = statistics.median(process.times(1, 1))
    if ms > ROUND_MS:
        return 1, 1
    ms = statistics.median(process.times(2, 3))
    return 2, max(1, min(100, round(ROUND_MS / ms)))


@contextmanager
def _started(contender: Contender, feeds: Path, threads: int) -> Iterator[_Process]:
    command = [
        *(sys.executable, "-m", "benchmarks.direct_engine", contender.kind, str(contender.model), str(feeds)),
        *(str(threads), json.dumps(dict(contender.options))),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield _Process(process)
        finally:
            process.kill()


class _Process:
    """A contender's process; it is killed when it is silent for too long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def wait_until_ready(self, name: str) -> None:
        """Until it has loaded and run once.

        Raises:
            RuntimeError: It did not.
        """
        if self._answer() != "ready":
            raise RuntimeError(f"{name} did not start")

    def times(self, warm: int, runs: int) -> list[float]:
        """Milliseconds of each run."""
        times: list[float] = json.loads(self._ask(f"{warm} {runs}"))
        return times

    def footprint(self) -> dict[str, float]:
        """What its start took: see `footprints`."""
        found: dict[str, float] = json.loads(self._ask("footprint"))
        return found

    def outputs(self, file: Path) -> tuple[np.ndarray, ...]:
        """The arrays that it computes."""
        self._ask(f"outputs {file}")
        with np.load(file) as archive:
            return tuple(archive[f"arr_{place}"] for place in range(len(archive.files)))

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None
        try:
            print(command, file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise RuntimeError("a contender died") from error
        answer = self._answer()
        if not answer:
            raise RuntimeError(f"a contender died at {command!r}")
        return answer

    def _answer(self) -> str:
        assert self._process.stdout is not None
        timer = threading.Timer(PATIENCE_S, self._process.kill)
        timer.start()
        try:
            return self._process.stdout.readline().strip()
        finally:
            timer.cancel()
