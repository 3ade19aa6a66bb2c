"""Whose doing a failure is: the engine's, which stays one, or the machine's, which may be gone the next time.

A failure is kept only if its engine is to blame. What the machine did at that moment (a full disk, a process that was
killed, a time limit on a busy machine) would else leave the engine out of every compile that follows.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Iterator
from enum import StrEnum


class Cause(StrEnum):
    """What a failure is normalised to. Whoever makes a record of a failure says which."""

    ENGINE = "engine"
    """It refused, raised, answered wrongly, ended its process twice, or hung on a calm machine."""
    CRASH = "crash"
    """It ended its process once; twice makes it the engine's doing."""
    NO_ANSWER = "no answer"
    """It reached its time limit while others kept the machine busy."""
    NO_SPACE = "no space"
    """A file could not be written or read: the disk is full, over its quota, read-only or damaged."""
    NO_MEMORY = "no memory"
    KILLED = "killed"
    """Something else ended the process, as the system does where memory is short."""
    NO_PROCESS = "no process"
    """A process could not be started."""
    NOT_ASKED = "not asked"
    """Nothing failed: its capability, the time, a limit of the user's or an interruption ruled it out."""

    @property
    def is_lasting(self) -> bool:
        """Whether it would fail again, so that it is worth keeping."""
        return self is Cause.ENGINE

    @property
    def is_transient(self) -> bool:
        """Whether it failed and may work the next time."""
        return self not in (Cause.ENGINE, Cause.NOT_ASKED)

    @property
    def may_pass(self) -> bool:
        """Whether it may be gone at once: a full disk stays full."""
        return self.is_transient and self is not Cause.NO_SPACE

    @property
    def cure(self) -> str:
        """What to do about the machine; empty where nobody is to do anything."""
        return _CURES.get(self, "")


_CURES = {
    Cause.CRASH: "there was no time to see whether it ends its process again",
    Cause.NO_ANSWER: "other programs kept the machine busy: try again when it is calm",
    Cause.NO_SPACE: "free some space there, or name other places with TMPDIR and --store",
    Cause.NO_MEMORY: "there was too little memory: end other programs, or raise the limit of this one",
    Cause.KILLED: "something else ended its process, as the system does where memory is short: end other programs, or "
    "raise the limit of this one",
    Cause.NO_PROCESS: "no process could be started: end other programs, or raise the limit on processes",
}
_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO, errno.ESTALE)
_PROCESSES = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
_OF_NUMBER = {
    **dict.fromkeys(_SPACE, Cause.NO_SPACE),
    **dict.fromkeys(_PROCESSES, Cause.NO_PROCESS),
    errno.ENOMEM: Cause.NO_MEMORY,
}
_FAULTS = frozenset(
    {*(signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE), *(signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS)}
)
"""Signals that a process raises by what it does itself."""
_NO_MEMORY_WORDS = ("bad_alloc", "bad allocation", "memoryerror", "out of memory", "failed to allocate memory")
_KILLED_WORDS = re.compile(r"killed signal|killed by SIG([A-Z0-9]+)", re.IGNORECASE)


class CauseError(OSError):
    """The cause of an error in whose chain it stands, where its words alone would not tell."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"cause: {cause.value}")
        self.cause = cause


def cause_of(error: BaseException) -> Cause:
    """Whose doing an exception is, by what led to it, else by what it says."""
    for each in _chain(error):
        if isinstance(each, CauseError):
            return each.cause
        if isinstance(each, MemoryError):
            return Cause.NO_MEMORY
        if isinstance(each, OSError) and each.errno in _OF_NUMBER:
            return _OF_NUMBER[each.errno]
    return cause_of_words(str(error))


def cause_of_words(text: str) -> Cause:
    """Whose doing it is by what a library said of it: most of them tell the system's errors in its own words."""
    lowered = text.casefold()
    for number, cause in _OF_NUMBER.items():
        if os.strerror(number).casefold() in lowered:
            return cause
    if any(words in lowered for words in _NO_MEMORY_WORDS):
        return Cause.NO_MEMORY
    killed = _KILLED_WORDS.search(text)
    if killed is None:
        return Cause.ENGINE
    named = getattr(signal, f"SIG{killed[1]}", signal.SIGKILL) if killed[1] else signal.SIGKILL
    return cause_of_end(-named)


def cause_of_end(code: int, words: str = "") -> Cause:
    """Whose doing it is that a process ended.

    Args:
        code: Its status; of one that a signal ended, the signal's number below zero.
        words: The last that it said.
    """
    if code < 0 and -code not in _FAULTS:
        return Cause.KILLED
    told = cause_of_words(words)
    return told if told.is_transient else Cause.CRASH


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, and what it was raised from or while."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__
