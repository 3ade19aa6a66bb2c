"""What a fork takes from the child: all threads but one, the locks that the others held, and engines at work.

Hooks at a fork are never taken back, so there is one for everything that lives.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from abc import ABC, abstractmethod
from typing import ClassVar, Final, Protocol
from weakref import WeakSet

NO_FORK: Final = threading.RLock()
"""Held while something is open that a child must not inherit, as a connection to SQLite; forks wait for it."""


PATIENCE_S: Final = 2.0
"""How long a fork waits for calls that run. A child that is forked in the middle of one may find an engine's own locks
held by a thread that it does not have."""
_PAUSE_S: Final = 0.001


class _Lock(Protocol):
    def acquire(self, blocking: bool = ...) -> bool: ...

    def release(self) -> None: ...


class Forkable(ABC):
    """Something that is told when it finds itself in a child of the process that it was made in."""

    _living: ClassVar[WeakSet[Forkable]] = WeakSet()
    _held: ClassVar[threading.local] = threading.local()

    def __init__(self) -> None:
        self._living.add(self)

    @abstractmethod
    def after_fork(self) -> None:
        """Let go of the parent's threads, locks, processes and files. No other thread runs meanwhile."""

    def lock_for_fork(self) -> _Lock | None:
        """What is held while something is under way that a child must not find half done, as in an engine's inside."""
        return None

    @classmethod
    def before(cls) -> None:
        """Wait until nothing is under way, as long as that may take; never in the order in which others wait."""
        end = time.monotonic() + PATIENCE_S
        while not cls._hold() and time.monotonic() < end:
            time.sleep(_PAUSE_S)

    @classmethod
    def after_in_parent(cls) -> None:
        """Go on."""
        for lock in cls._held.__dict__.pop("locks", ()):
            lock.release()

    @classmethod
    def after_in_child(cls) -> None:
        """Tell everything that lives."""
        cls._held.__dict__.pop("locks", None)
        for each in tuple(cls._living):
            each.after_fork()

    @classmethod
    def _hold(cls) -> bool:
        """Hold all locks, or none."""
        held: list[_Lock] = []
        for lock in filter(None, (each.lock_for_fork() for each in tuple(cls._living))):
            if not lock.acquire(blocking=False):
                for taken in held:
                    taken.release()
                return False
            held.append(lock)
        cls._held.locks = held
        return True


def left_behind(owner: object) -> None:
    """Keep an object for ever: its end would wait for threads that are not there, or end what is the parent's."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


os.register_at_fork(before=NO_FORK.acquire, after_in_parent=NO_FORK.release, after_in_child=NO_FORK.release)
os.register_at_fork(
    before=Forkable.before, after_in_parent=Forkable.after_in_parent, after_in_child=Forkable.after_in_child
)
