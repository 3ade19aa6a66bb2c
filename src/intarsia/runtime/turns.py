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
    """Who may call.

    Attributes:
        lock: Held by the thread whose turn it is. A thread that has it may have it again, and finds ``state`` set.
        state: `OPEN`, `BUSY`, or a number that says why there is no call. Only changed with the lock.
        is_ending: Set before the lock is waited for, so that threads that call in a loop let the end come in between.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()
        self.state = OPEN
        self.is_ending = False
        self._parks = False
        self._ends: list[Callable[[], object]] = []

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or will be when the call is over."""
        return self.is_ending or self.state in (_ENDING, _ENDED)

    def owns(self, *ends: Callable[[], object]) -> None:
        """Have these called at the end, in this order. None of them may lead to whoever holds these turns."""
        self._ends.extend(ends)

    def check(self) -> None:
        """Refuse what was closed, before anything else is looked at.

        Raises:
            ClosedError: There is no call any more.
        """
        with self.lock:
            if self.is_closed:
                self.refuse()

    def refuse(self) -> NoReturn:
        """Say why there is no call; the lock is held once.

        Raises:
            ClosedError: Always.
        """
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

    def taken(self, act: Callable[[], Result]) -> Result:
        """Do something in a turn of its own.

        Raises:
            ClosedError: There is none any more.
        """
        with self.lock:
            if self.state or self.is_ending:
                self.refuse()
            self.state = BUSY
            try:
                return act()
            finally:
                self.done()

    def close(self) -> None:
        """Take no call any more, and free what is owned once none runs. Calling it twice is fine, from any thread."""
        self.is_ending = True
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
        self._parks = self.is_ending = True
        if self.lock.acquire(timeout=PATIENCE_S):
            try:
                self.close()
            finally:
                self.lock.release()

    def lock_for_fork(self) -> threading.RLock:
        """No call runs while the process is forked, if they are short."""
        return self.lock

    def after_fork(self) -> None:
        """Free nothing: engines would wait for their threads, which are the parent's."""
        left_behind(self._ends)
        self._ends = []
        self.lock = threading.RLock()
        if self.state in (OPEN, BUSY):
            self.state = _ENDED if self.is_ending else _ELSEWHERE

    def _end(self) -> None:
        self.state = _ENDED
        ends, self._ends = self._ends, []
        with ExitStack() as stack:
            for end in reversed(ends):
                stack.callback(end)
