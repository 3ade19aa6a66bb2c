"""The signals that end a program: the first is remembered, the second ends it at once, with all that it started."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from types import FrameType
from typing import Any, Final, Self

import psutil

_INTERRUPTED: Final = 130
_STEP_S: Final = 0.1


class Ending:
    """Takes SIGTERM and SIGINT inside its block, which the main thread enters."""

    def __init__(self) -> None:
        self.is_told = False
        """Whether one of them came."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def wait(self, seconds: float) -> None:
        """Wait so long, or until one came."""
        end = time.monotonic() + seconds
        while not self.is_told and time.monotonic() < end:
            time.sleep(_STEP_S)  # a lock that the handler would open could be held by what it interrupts

    def _end(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.is_told:
            for started in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    started.kill()  # some of Ray's processes would else stay for a minute
            os._exit(_INTERRUPTED)
        self.is_told = True
