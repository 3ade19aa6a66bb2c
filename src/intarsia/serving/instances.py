"""Loaded models that requests take in turns, first come, first served."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

Instance = TypeVar("Instance")


class _Waiter(Generic[Instance]):
    """A thread that waits for an instance."""

    __slots__ = ("given", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Held until an instance is given."""
        self.lock.acquire()
        self.given: Instance | None = None


class Instances(Generic[Instance]):
    """What is equal and can serve one request at a time each."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        """Take these."""
        self._idle = list(instances)
        self._waiting: deque[_Waiter[Instance]] = deque()
        self._others = 0
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many requests wait for one."""
        return len(self._waiting) + self._others

    def take_idle(self) -> Instance | None:
        """An instance that nobody uses, to be given back; ``None`` if there is none now."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def count_waiting(self, more: int) -> None:
        """Count so many more as waiting, who ask for what is idle now and then."""
        with self._lock:
            self._others += more

    def take(self, deadline: float) -> Instance | None:
        """An instance, to be given back; ``None`` if there is none before this moment of ``time.monotonic``."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            waiter: _Waiter[Instance] = _Waiter()
            self._waiting.append(waiter)
        waiter.lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
        if waiter.given is None:
            with self._lock:
                if waiter.given is None:  # else it came at the last moment
                    self._waiting.remove(waiter)
        return waiter.given

    def give_back(self, instance: Instance) -> None:
        """Let the one that has waited longest have it."""
        with self._lock:
            if not self._waiting:
                self._idle.append(instance)
                return
            waiter = self._waiting.popleft()
            waiter.given = instance
            waiter.lock.release()
