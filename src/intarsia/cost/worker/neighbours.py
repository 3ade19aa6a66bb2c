"""What others computed on this machine while an engine was waited for: a time limit on a busy machine shows nothing."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import psutil

from intarsia.cost.thresholds import DISTURBANCE


class Neighbours:
    """Watches from the moment it is made.

    Args:
        process: The process that is waited for: what it computes, and what those that it started do, is its own.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._start = time.monotonic()
        self._busy_s = _busy_s()
        self._own_s = self._own()

    def were_busy(self) -> bool:
        """Whether others took much of the processors, or a disk kept them waiting; asked while the process is alive."""
        elapsed = time.monotonic() - self._start
        others = (_busy_s() - self._busy_s) - (self._own() - self._own_s)
        return others > DISTURBANCE.busy_share * max(elapsed, 1e-3) * (os.cpu_count() or 1)

    def _own(self) -> float:
        with suppress(psutil.Error):
            first = psutil.Process(self._process)
            return sum(_spent_s(each) for each in (first, *first.children(recursive=True)))
        return 0.0


def _spent_s(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _busy_s() -> float:
    """Seconds that all processors together were not idle; waiting for a disk counts, what guests had is in others."""
    times = psutil.cpu_times()._asdict()
    return float(sum(spent for name, spent in times.items() if name not in ("idle", "guest", "guest_nice")))
