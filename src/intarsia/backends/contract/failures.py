"""Who caused a failure: the engine, which will fail again, or the machine, which may work the next time.

A failure is kept only if its engine is to blame. What the machine did at that moment (a full disk, a process that was
killed, a time limit on a busy machine) would otherwise keep the engine out of every later compile.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Iterator
from enum import StrEnum


class Cause(StrEnum):
    """What caused a failure. Every record of a failure names one."""

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
    """Put into the chain of an error to name its cause, where the error's text would not show it."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"cause: {cause.value}")
        self.cause = cause


def cause_of(error: BaseException) -> Cause:
    """The cause of an exception: by the exceptions that led to it, else by its text."""
    for each in _chain(error):
        if isinstance(each, CauseError):
            return each.cause
        if isinstance(each, MemoryError):
            return Cause.NO_MEMORY
        if isinstance(each, OSError) and each.errno in _OF_NUMBER:
            return _OF_NUMBER[each.errno]
    return cause_of_words(str(error))


def cause_of_words(text: str) -> Cause:
    """The cause that the text of an error shows: most libraries quote the system's own messages."""
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
    """The cause of a process's end: by its status (of one that a signal ended, the signal's number below zero), and the
    last that it said.
    """
    if code < 0 and -code not in _FAULTS:
        return Cause.KILLED
    cause = cause_of_words(words)
    return cause if cause.is_transient else Cause.CRASH


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, and what it was raised from or while."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__
