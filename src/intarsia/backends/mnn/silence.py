"""Keeps what MNN prints from C to itself: it greets when imported, and names the precision of each session.

File descriptors belong to the whole process, so redirecting one would take what other threads print in that moment too.
Only C's own ``stdout`` is another stream meanwhile, which Python's ``print`` does not use. The GNU C library's manual
allows it to be set like any variable (section "Standard Streams"); elsewhere MNN is heard.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Stdout:
    """C's ``stdout``, for as many threads as ask for silence at one time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._silent = 0
        self._kept: int | None = None
        self._nowhere: int | None = None
        try:
            library = ctypes.CDLL(None)
            self._variable: ctypes.c_void_p | None = ctypes.c_void_p.in_dll(library, "stdout")
            self._open = library.fopen
        except (AttributeError, OSError, TypeError, ValueError):
            self._variable = None
            return
        self._open.restype, self._open.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_char_p)
        os.register_at_fork(before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._forked)

    def silence(self) -> None:
        """The first one swaps the stream."""
        if self._variable is None:
            return
        with self._lock:
            self._nowhere = self._nowhere or self._open(os.fsencode(os.devnull), b"w")
            if not self._silent and self._nowhere:
                self._kept, self._variable.value = self._variable.value, self._nowhere
            self._silent += 1

    def restore(self) -> None:
        """The last one puts the stream back."""
        if self._variable is None:
            return
        with self._lock:
            self._silent -= 1
            if not self._silent:
                self._put_back()

    def _put_back(self) -> None:
        if self._variable is not None and self._kept is not None:
            self._kept, self._variable.value = None, self._kept

    def _forked(self) -> None:
        """The threads that asked are not in the child."""
        self._silent = 0
        self._put_back()
        self._lock.release()


_STDOUT = _Stdout()


@contextmanager
def silence() -> Iterator[None]:
    """Have C code print to nowhere, in all threads."""
    _STDOUT.silence()
    try:
        yield
    finally:
        _STDOUT.restore()
