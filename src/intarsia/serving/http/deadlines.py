"""Ends requests that take too long, by one timer for all of them: a timer for each costs a tenth of what it watches."""

from __future__ import annotations

import asyncio
from collections import deque


class Open:
    """A request until its deadline."""

    __slots__ = ("deadline", "is_late", "task")

    def __init__(self, deadline: float, task: asyncio.Task[object] | None) -> None:
        self.deadline = deadline
        """By the time of the loop."""
        self.task = task
        """What answers it; ``None`` once that is done."""
        self.is_late = False
        """Whether it was cancelled because its time is over."""


class Deadlines:
    """Cancels the task of each request whose time is over. All have the same time: they end in the order they began."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._open: deque[Open] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> Open:
        """Watch the task that calls this from now on, until `end`."""
        loop = asyncio.get_running_loop()
        begun = Open(loop.time() + self._timeout_s, asyncio.current_task(loop))
        self._open.append(begun)
        if self._timer is None:
            self._timer = loop.call_at(begun.deadline, self._end_late)
        return begun

    def end(self, watched: Open) -> None:
        """Watch it no longer."""
        watched.task = None
        while self._open and self._open[0].task is None:
            self._open.popleft()
        if not self._open and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        for each in self._open:
            if each.deadline > loop.time():
                self._timer = loop.call_at(each.deadline, self._end_late)
                return
            if each.task is not None and not each.is_late:
                each.is_late = True
                each.task.cancel()
