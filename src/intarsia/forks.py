"""What a fork takes from the child: all threads but one, the locks that the others held, and engines at work.

Hooks at a fork are never taken back, so there is one for everything that lives.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Final, Protocol
from weakref import WeakSet

NO_FORK: Final = threading.RLock()
"""Held while something is open that a child must not inherit, as a connection to SQLite; forks wait for it."""


PATIENCE_S: Final = 10.0
"""How long a fork waits for calls that run. A child that is forked in the middle of one may find an engine's own locks
held by a thread that it does not have."""


class _Lock(Protocol):
    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...

    def release(self) -> None: ...


class _AddsComplete(ABCMeta):
    """Adds an object to those that live once its constructor is through: a fork may come in the middle of that."""

    @property
    def __signature__(cls) -> object:
        """The constructor's, which is what this passes on to."""
        import inspect

        made_by = inspect.signature(cls.__init__)  # type: ignore[misc] # of this very class
        return made_by.replace(parameters=[*made_by.parameters.values()][1:])

    def __call__(cls, *args: Any, **named: Any) -> Any:
        made = super().__call__(*args, **named)
        Forkable._living.add(made)
        if Forkable._is_pending:
            made.bar()
        return made


class Forkable(metaclass=_AddsComplete):
    """Something whose `after_fork` runs in a forked child of the process that made it."""

    _living: ClassVar[WeakSet[Forkable]] = WeakSet()
    _held: ClassVar[threading.local] = threading.local()
    _is_pending: ClassVar[bool] = False

    @abstractmethod
    def after_fork(self) -> None:
        """Let go of the parent's threads, locks, processes and files. No other thread runs meanwhile."""

    def bar(self) -> _Lock | None:
        """Begin nothing more that a child must not find half done; what is held while such a thing is under way."""
        return None

    def unbar(self) -> None:
        """Begin again."""

    @classmethod
    def _all(cls) -> tuple[Forkable, ...]:
        while True:
            try:
                return tuple(cls._living)
            except RuntimeError:  # another thread, or a finaliser on this one, has just made one
                continue

    @classmethod
    def before(cls) -> None:
        """Wait until nothing is under way."""
        end = time.monotonic() + PATIENCE_S
        Forkable._is_pending = True
        locks = [lock for each in cls._all() if (lock := each.bar()) is not None]
        cls._held.locks = [lock for lock in locks if lock.acquire(timeout=max(0.0, end - time.monotonic()))]

    @classmethod
    def after_in_parent(cls) -> None:
        """Go on."""
        Forkable._is_pending = False
        for lock in cls._held.__dict__.pop("locks", ()):
            lock.release()
        for each in cls._all():
            each.unbar()

    @classmethod
    def after_in_child(cls) -> None:
        """Tell everything that lives."""
        Forkable._is_pending = False
        cls._held.__dict__.clear()
        for each in cls._all():
            each.after_fork()


def left_behind(owner: object) -> None:
    """Keep an object for ever: its end would wait for threads that are not there, or end what is the parent's."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


os.register_at_fork(
    before=Forkable.before, after_in_parent=Forkable.after_in_parent, after_in_child=Forkable.after_in_child
)
# Registered last, so it comes first before a fork: of two threads that fork, one waits here.
os.register_at_fork(before=NO_FORK.acquire, after_in_parent=NO_FORK.release, after_in_child=NO_FORK.release)
