"""The calls of one remote model that are on their way, from several threads; the model is freed behind the last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class UnderWay:
    """Counts them.

    Args:
        free: Called once, behind the end and the last call.
    """

    def __init__(self, free: Callable[[], object]) -> None:
        self._changed = threading.Condition()
        self._threads: list[int] = []
        self._is_ending = False
        self._free = free

    def begin(self) -> None:
        """A call of this thread begins."""
        with self._changed:
            self._threads.append(threading.get_ident())

    @contextmanager
    def until_done(self) -> Iterator[None]:
        """The call that began goes on inside, and is over behind it."""
        try:
            yield
        finally:
            with self._changed:
                self._threads.remove(threading.get_ident())
                is_last = self._is_ending and not self._threads
                self._changed.notify_all()
            if is_last:
                self._free()

    def end(self) -> None:
        """Free the model once the calls of other threads are over.

        Called from inside of a call, by a signal handler or a finaliser, it cannot wait: that call frees the model.
        """
        own = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._threads or own in self._threads)
            self._is_ending = True
            if self._threads:
                return
        self._free()
