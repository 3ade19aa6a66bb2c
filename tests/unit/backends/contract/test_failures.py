"""What the machine did is told from what an engine did, by the number, the signal, or the words of an error."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from intarsia.backends.contract import guard
from intarsia.backends.contract.failures import Cause, CauseError, cause_of, cause_of_end, cause_of_words
from intarsia.errors import CompileError, ExecutionError, LoadError


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOSPC, Cause.NO_SPACE),
        (errno.EDQUOT, Cause.NO_SPACE),
        (errno.EROFS, Cause.NO_SPACE),
        (errno.EFBIG, Cause.NO_SPACE),
        (errno.EMFILE, Cause.NO_PROCESS),
        (errno.EAGAIN, Cause.NO_PROCESS),
        (errno.ENOMEM, Cause.NO_MEMORY),
        (errno.ENOENT, Cause.ENGINE),
    ],
)
def test_a_system_error_is_known_however_deep_it_lies(number: int, cause: Cause) -> None:
    def save() -> None:
        try:
            raise OSError(number, os.strerror(number))
        except OSError as error:
            raise RuntimeError("it cannot save its cache") from error

    with pytest.raises(CompileError) as raised, guard(CompileError, "x"):
        save()
    assert cause_of(raised.value) is cause
    assert cause_of_words(f"[x] could not write: {os.strerror(number)} (while saving)") is cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("std::bad_alloc", Cause.NO_MEMORY),
        ("DefaultCPUAllocator: Out of memory", Cause.NO_MEMORY),
        ("g++: fatal error: Killed signal terminated program cc1plus", Cause.KILLED),
        ("its process in /usr/bin/python was killed by SIGKILL", Cause.KILLED),
        ("its process in /usr/bin/python was killed by SIGSEGV", Cause.CRASH),
        ("no kernel for this shape", Cause.ENGINE),
        ("", Cause.ENGINE),
    ],
)
def test_what_a_library_says(text: str, cause: Cause) -> None:
    assert cause_of_words(text) is cause
    assert cause_of(LoadError("x", text)) is cause


def test_no_memory_of_our_own_is_not_the_engine_s_doing() -> None:
    with pytest.raises(ExecutionError) as raised, guard(ExecutionError, "x"):
        raise MemoryError
    assert cause_of(raised.value) is Cause.NO_MEMORY


@pytest.mark.parametrize(
    ("code", "words", "cause"),
    [
        (-signal.SIGKILL, "", Cause.KILLED),
        (-signal.SIGTERM, "", Cause.KILLED),
        (-signal.SIGXCPU, "", Cause.KILLED),
        (-signal.SIGSEGV, "", Cause.CRASH),
        (-signal.SIGABRT, "assertion failed", Cause.CRASH),
        (-signal.SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'", Cause.NO_MEMORY),
        (1, "OSError: [Errno 28] No space left on device", Cause.NO_SPACE),
        (1, "", Cause.CRASH),
    ],
)
def test_how_a_process_ended(code: int, words: str, cause: Cause) -> None:
    assert cause_of_end(code, words) is cause


def test_a_cause_that_is_known_counts_more_than_words() -> None:
    with pytest.raises(ExecutionError) as raised:
        raise ExecutionError("x", "it ended") from CauseError(Cause.KILLED)
    assert cause_of(raised.value) is Cause.KILLED


def test_only_what_the_engine_did_lasts() -> None:
    assert [cause for cause in Cause if cause.is_lasting] == [Cause.ENGINE]
    assert {cause for cause in Cause if not cause.is_transient} == {Cause.ENGINE, Cause.NOT_ASKED}
    assert all(cause.cure for cause in Cause if cause.is_transient)
    assert not Cause.NO_SPACE.may_pass
