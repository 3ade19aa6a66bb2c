"""Waits for a process for so many seconds of its own: those that it waited for a processor do not count.

On a machine that does much else a case may take many times as long, and that says nothing about the case. One that
sleeps for ever, or computes for ever, is over at its limit all the same.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from pathlib import Path

import psutil

MOST = 10
"""The longest wait, as a multiple of the limit."""
_NS = 1e9


def ends(child: int, limit_s: float) -> bool:
    """Whether a child of this process ends within its limit."""
    begun = time.monotonic()
    end = os.pidfd_open(child)
    try:
        left_s = limit_s
        while left_s > 0:
            if select.select([end], [], [], left_s)[0]:
                return True
            passed_s = time.monotonic() - begun
            left_s = min(limit_s + delay_s(child), limit_s * MOST) - passed_s
        return False
    finally:
        os.close(end)


def delay_s(process: int) -> float:
    """Seconds that the threads of a process and of those that it started have waited for a processor, in all.

    Linux counts them: ``Documentation/scheduler/sched-stats.rst``, the second figure of ``/proc/PID/schedstat``.
    """
    found = [process]
    with suppress(psutil.Error, OSError):
        found += [each.pid for each in psutil.Process(process).children(recursive=True)]
    return sum(map(_delay_of, found)) / _NS


def _delay_of(process: int) -> int:
    total = 0
    with suppress(OSError, ValueError, IndexError):  # ended meanwhile
        for task in Path(f"/proc/{process}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[1])
    return total
