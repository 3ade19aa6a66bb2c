"""How fast the machine is at this moment, against how fast it can be.

The processors of a virtual machine share their cores with strangers, or with each other: for seconds or minutes all
takes up to twice as long, and no counter in here tells of it. So the processor time of small matrix products is taken
on each of them, and measured times are normalised to what they would be at full speed.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import numpy as np

from intarsia.cost.thresholds import CALIBRATION
from intarsia.cost.timing.statistics import median, percentile
from intarsia.files import replace_file, temporary_cache
from intarsia.runtime.artifact.machine import this_machine
from intarsia.target.cores import thread_budget

Slowdown = Callable[[], float]
"""How many times longer than at full speed a computation on all processors takes now; at least 1."""


def full_speed() -> float:
    """The `Slowdown` of a machine that is never disturbed."""
    return 1.0


def is_even(slowdowns: Sequence[float]) -> bool:
    """Whether the machine was equally fast at these moments."""
    return max(slowdowns) <= CALIBRATION.even * min(slowdowns)


def at_full_speed(turn_ms: Callable[[], float], slowdown: Slowdown, settle_s: float = 0.0) -> float:
    """Milliseconds of a turn at full speed; the turn is taken again where the machine changed its pace meanwhile.

    Args:
        slowdown: Asked before and behind it.
        settle_s: Pause behind it, until threads that go on spinning sleep.
    """
    found = []
    for _ in range(CALIBRATION.turns):
        before = slowdown()
        ms = turn_ms()
        time.sleep(settle_s)
        after = slowdown()
        found.append(ms / ((before + after) / 2))
        if is_even((before, after)):
            return found[-1]
    return median(found)


class ClockProbe:
    """Probes all processors of this process at one time. Calling it is a `Slowdown`; a call takes about 0.5 ms.

    Full speed is what one in ten probes in a row reached or surpassed, the shortest such time ever seen on this
    machine; it is kept in a file that all processes share (`probe_file`). A single probe may be faster by a whim of
    the clock.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or probe_file()
        self._full_ns = _read(self._file)
        self._recent: deque[float] = deque(maxlen=CALIBRATION.recent)
        self._processors = _processors()
        places = count()
        self._together = threading.Barrier(len(self._processors))
        self._pool = ThreadPoolExecutor(
            len(self._processors), "pace", initializer=lambda: _stay_on(self._processors[next(places)])
        )

    def __call__(self) -> float:
        """The slowdown at this moment."""
        spent = self._probed()
        while len(self._recent) < CALIBRATION.recent and self._full_ns == math.inf:
            self._probed()
        self._learn()
        return overall([max(1.0, ns / self._full_ns / CALIBRATION.undisturbed) for ns in spent])

    def _probed(self) -> list[float]:
        spent = list(self._pool.map(self._probe, self._processors))
        self._recent.extend(spent)
        return spent

    def _learn(self) -> None:
        """Once there are probes enough, see whether they are faster than any in a row before."""
        if len(self._recent) < CALIBRATION.recent:
            return
        reached = percentile(self._recent, CALIBRATION.full_speed_share)
        self._recent.clear()
        if reached < self._full_ns:
            self._full_ns = min(reached, _read(self._file))
            if reached == self._full_ns:
                _write(self._file, reached)

    def _probe(self, _: int | None) -> float:
        self._together.wait()  # so that each thread, and with it each processor, takes one of the probes
        out = np.empty_like(_MANY)
        return float(min(_probe_ns(out) for _ in range(CALIBRATION.probes)))


def overall(slowdowns: Sequence[float]) -> float:
    """What the slowdowns of single processors come to for engines that use all of them.

    Work that is parted evenly waits for the slowest; work that is handed out as it is done takes the harmonic mean;
    engines do some of both. ResNet-50 in ONNX Runtime on two processors took 1.6 times as long with one of them slowed
    by 1.75, and 1.6 to 2.0 with both, where this gives 1.5 and 1.75.
    """
    harmonic = len(slowdowns) / sum(1 / each for each in slowdowns)
    return (max(slowdowns) + harmonic) / 2


def _probe_ns(out: np.ndarray) -> int:
    start = time.thread_time_ns()
    np.matmul(_MANY, _ONE, out=out)  # lets go of Python's lock
    return max(1, time.thread_time_ns() - start)


_MANY = np.ones((CALIBRATION.products, CALIBRATION.side, CALIBRATION.side), np.float32)
_ONE = np.ones((CALIBRATION.side, CALIBRATION.side), np.float32)


def _processors() -> list[int | None]:
    """Those that this process may run on; nameless where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return [None] * thread_budget()
    return [*sorted(os.sched_getaffinity(0))]


def _stay_on(processor: int | None) -> None:
    if processor is not None:
        with contextlib.suppress(OSError):  # it was taken away meanwhile
            os.sched_setaffinity(0, {processor})


def probe_file(folder: Path | None = None) -> Path:
    """Where full speed is kept: in a folder that only this user writes to, among temporary files if left out."""
    return (folder or temporary_cache()) / f"{this_machine().fingerprint}.pace"


def _read(file: Path) -> float:
    try:
        found = float(file.read_text(encoding="ascii"))
        return found if 0 < found < math.inf else math.inf
    except (OSError, ValueError):
        return math.inf


def _write(file: Path, full_ns: float) -> None:
    # Without the file, each process finds out for itself.
    with contextlib.suppress(OSError):
        replace_file(file, str(full_ns).encode(), lasts=False)
