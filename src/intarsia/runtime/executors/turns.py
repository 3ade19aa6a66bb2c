"""One call of a loaded plan at a time, and none after its end.

Closing waits for the call that runs. What closes it from inside of that call, a signal handler or a finaliser on the
same thread, cannot wait: the call ends first, and then what is loaded is freed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, NoReturn, TypeVar

from intarsia.errors import ClosedError
from intarsia.forks import Forkable, left_behind

OPEN: Final = 0
BUSY: Final = 1
_ENDING: Final = 2
_ENDED: Final = 3
_ELSEWHERE: Final = 4
Result = TypeVar("Result")
PATIENCE_S: Final = 60.0
"""How long the end of the interpreter waits for a call that runs."""

_REFUSALS: Final = {
    BUSY: "the model is at work on this very thread (a signal handler, a finaliser or a callback calls it); call it "
    "when that run is over",
    _ENDING: "the model was closed; load it again to go on",
    _ENDED: "the model was closed; load it again to go on",
    _ELSEWHERE: "this was loaded by the process that this one was forked from, and engines do not come along; load the "
    "model again in this process",
}


class Turns(Forkable):
    """Who may call."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held by the thread whose turn it is. A thread that has it may have it again, and finds ``state`` set."""
        self.state = OPEN
        """`OPEN`, `BUSY`, or a number that says why there is no call. Only changed with the lock."""
        self.is_barred = False
        """Set before an end or a fork waits for the lock, so that threads that call in a loop let it in between."""
        self.is_inside = False
        """Whether calls come from within turns of others alone, which a fork waits for."""
        self._is_ending = False
        self._parks = False
        self._fork: threading.Event | None = None
        self._ends: list[Callable[[], object]] = []

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or will be when the call is over."""
        return self._is_ending or self.state in (_ENDING, _ENDED)

    def owns(self, *ends: Callable[[], object]) -> None:
        """Have these called at the end, in this order. None of them may lead to whoever holds these turns."""
        self._ends.extend(ends)

    def check(self) -> None:
        """Raise a `ClosedError` if it was closed, before anything else is looked at."""
        with self.lock:
            if self.is_closed:
                self._refuse()

    def admit(self) -> None:
        """Where ``state`` or ``is_barred`` is set: wait for a fork, or raise a `ClosedError`. The lock is held once."""
        while self._fork is not None and not self.state and not self._is_ending:
            fork = self._fork
            self.lock.release()
            try:
                if not fork.wait(PATIENCE_S):
                    break
            finally:
                self.lock.acquire()
        if self.state or self._is_ending:
            self._refuse()

    def _refuse(self) -> NoReturn:
        if self._parks and threading.current_thread().daemon:
            self.lock.release()
            threading.Event().wait()
        raise ClosedError(_REFUSALS[self.state or _ENDED])

    def done(self) -> None:
        """The turn is over; the lock is still held."""
        if self.state == BUSY:
            self.state = OPEN
        else:
            self._end()

    def run(self, act: Callable[[], Result]) -> Result:
        """Do something in a turn of its own; a `ClosedError` where there is none any more."""
        with self.lock:
            if self.state or self.is_barred:
                self.admit()
            self.state = BUSY
            try:
                return act()
            finally:
                self.done()

    def close(self) -> None:
        """Take no call any more, and free what is owned once none runs. Calling it twice is fine, from any thread."""
        self._is_ending = self.is_barred = True
        with self.lock:
            if self.state == BUSY:
                self.state = _ENDING
            elif self.state == OPEN:
                self._end()

    def finish(self) -> None:
        """Close at the end of the owner, or of the interpreter.

        A daemon thread that is inside an engine when Python ends is torn away there, which ends the process by a
        signal. So the end waits for its call, and the thread waits for the next one as long as the process lives.
        """
        self._parks = self._is_ending = self.is_barred = True
        if self.lock.acquire(timeout=PATIENCE_S):
            try:
                self.close()
            finally:
                self.lock.release()

    def bar(self) -> threading.RLock | None:
        """Let no call begin, and have the one that runs waited for."""
        if self.is_inside:
            return None
        self._fork = threading.Event()
        self.is_barred = True
        return self.lock

    def unbar(self) -> None:
        """Let those go on that wait."""
        fork, self._fork = self._fork, None
        self.is_barred = self._is_ending
        if fork is not None:
            fork.set()

    def after_fork(self) -> None:
        """Free nothing: engines would wait for their threads, which are the parent's."""
        left_behind(self._ends)
        self._ends = []
        self.lock = threading.RLock()
        if self.state in (OPEN, BUSY):
            self.state = _ENDED if self._is_ending else _ELSEWHERE
        self._fork = None

    def _end(self) -> None:
        self.state = _ENDED
        ends, self._ends = self._ends, []
        with ExitStack() as stack:
            for end in reversed(ends):
                stack.callback(end)
