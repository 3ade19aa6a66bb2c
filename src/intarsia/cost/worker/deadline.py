"""When a compile has to come to its end: one clock for the whole command."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MOST_AGE_S = 3600.0
"""A process that claims to be older when its command line begins has been started by something else."""


class Deadline:
    """The time for a partition of work. Time that is spent waiting for another compile does not count.

    Attributes:
        stated: Seconds that were asked for.
        seconds: Seconds that there are: those stated, or more if it was announced that they do not do.
        because: Why more time was announced than was stated; empty if none was.

    Args:
        start: When it began, as the clock tells it; now if left out.
        clock: Tells seconds that only grow.
    """

    def __init__(self, seconds: float, start: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.stated = self.seconds = seconds
        self.because = ""
        self._clock = clock
        self._start = clock() if start is None else start
        self._waited = 0.0
        self._waits_since: float | None = None

    @property
    def spent(self) -> float:
        """Seconds since the start, without those spent waiting."""
        now = self._clock() if self._waits_since is None else self._waits_since
        return now - self._start - self._waited

    @property
    def left(self) -> float:
        """Seconds to the end; negative behind it."""
        return self.seconds - self.spent

    def left_of(self, share: float) -> float:
        """Seconds until this share of the time is spent; negative behind it."""
        return self.seconds * share - self.spent

    def is_over(self, share: float = 1.0) -> bool:
        """Whether this share of the time is spent."""
        return self.spent >= self.seconds * share

    def part(self, seconds: float) -> Deadline:
        """A deadline that is over in so many seconds, and not behind this one; waiting does not count there either."""
        return Deadline(min(seconds, self.left), clock=lambda: self.spent)

    def share(self, seconds: float, stated: float) -> Deadline:
        """As `part`, for a partition of the work that is asked for as if ``stated`` seconds were stated for it."""
        own = Deadline(stated, clock=lambda: self.spent)
        own.seconds = seconds
        return own

    def shorten(self, left: float) -> None:
        """End in so many seconds, if not before."""
        self.seconds = min(self.seconds, self.spent + left)

    def announce(self, seconds: float, because: str) -> None:
        """Take more time than was stated, or was announced before."""
        if seconds > self.seconds:
            self.seconds, self.because = seconds, because

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What is done inside is waiting, and does not count."""
        if self._waits_since is not None:  # it does not count already
            yield
            return
        self._waits_since = self._clock()
        try:
            yield
        finally:
            self._waited += self._clock() - self._waits_since
            self._waits_since = None


NO_END = Deadline(math.inf)


def process_age() -> float:
    """Seconds since this process began; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError, AttributeError):
        # Field 22; the name before it, in parentheses, may hold anything.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
        return age if 0.0 <= age <= MOST_AGE_S else 0.0
    return 0.0
