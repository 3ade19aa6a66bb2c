"""Standard output and standard error of a command: what engines print is kept apart, and a reader may go away."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from pathlib import Path
from typing import Any

from intarsia.files import output_error

UNREAD = 128 + signal.SIGPIPE
"""The exit code of a command whose reader went away: what shells show for any program that ends so."""


class UnreadError(OSError):
    """Whoever read standard output has gone, as with ``intarsia targets | head -1``: there is nobody to tell."""


class Output(io.FileIO):
    """A descriptor that is printed to. After a failure the rest is dropped: Python would try again at its end."""

    def __init__(self, descriptor: int, *, is_needed: bool) -> None:
        """Take over a descriptor, which stays open; where it ``is_needed``, a failure to print is an error."""
        super().__init__(descriptor, "w", closefd=False)
        self._is_needed = is_needed
        self._is_lost = False

    def write(self, data: Any, /) -> int:
        """Write as a file does; an `UnreadError` if nobody reads any more, a `DiskError` if the disk is full."""
        if not self._is_lost:
            try:
                return super().write(data)
            except OSError as error:
                self._is_lost = True
                if self._is_needed and error.errno == errno.EPIPE:
                    raise UnreadError from error
                if self._is_needed:
                    raise output_error(Path("/dev/stdout"), error) from error
        return memoryview(data).nbytes


def keep_stdout_clean() -> None:
    """Keep stdout for what a verb prints, and send to stderr what engines print there.

    Some engines write to file descriptor 1 from C++, in this process and in the workers that inherit it; that would
    spoil ``--json``. So Python's stdout moves to a copy of the descriptor, and descriptor 1 becomes stderr.
    """
    sys.stdout.flush()
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # started without one of the two
        return
    out, err = sys.stdout, sys.stderr
    sys.stdout = _stream(Output(kept, is_needed=True), out.encoding, out.errors)
    sys.stderr = _stream(Output(2, is_needed=False), err.encoding, err.errors, at_once=True)


def _stream(output: Output, encoding: str, errors: str | None, *, at_once: bool = False) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(output)
    return io.TextIOWrapper(buffer, encoding, errors, line_buffering=at_once or output.isatty())
