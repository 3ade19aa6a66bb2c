"""Folders for a while: removed when they are closed, collected, or the process ends, and by the next if it was killed.

A Ctrl-C while such a folder is removed is held back until it is gone.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType

from intarsia.errors import DiskError
from intarsia.files.failures import disk_errors
from intarsia.files.leftovers import claim, own_name

PRIVATE = 0o700
_HELD_BACK = (signal.SIGINT, signal.SIGTERM)


class Scratch:
    """A new folder, whose name says whose it is."""

    def __init__(self, parent: Path | None = None, before: str = "intarsia-", behind: str = "") -> None:
        """Make it, among temporary files if no parent is named; its name has process and number between the texts.

        Raises:
            DiskError: The disk is full.
            OSError: It cannot be made there.
        """
        inside = temporary_root() if parent is None else parent
        with disk_errors(inside):
            self.path = inside / own_name(before, behind)
            # What removes it is in place before it exists: a Ctrl-C may come at any moment.
            self._held: list[int] = []
            self._end = weakref.finalize(self, _remove, self.path, self._held, os.getpid())
            while not self._held:
                self.path.mkdir(mode=PRIVATE)
                with suppress(FileNotFoundError):  # another process took it for a leftover
                    self._held.append(claim(self.path))

    def close(self) -> None:
        """Remove it. Calling it twice is fine."""
        with uninterrupted():
            if self._end.alive:
                _remove(self.path, self._held, os.getpid())
                self._end.detach()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def temporary_root() -> Path:
    """The folder for temporary files; a `DiskError` if there is none that can be written to."""
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise DiskError(
            "no folder for temporary files can be written to; make room in one, or name another in TMPDIR"
        ) from error


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A folder that lasts as long as the block, among temporary files or in another folder."""
    with Scratch(parent) as made:
        yield made.path


def remove_folder(path: Path) -> None:
    """Remove a folder that others may look into: it is gone at once, whatever happens meanwhile. None is fine too."""
    left = path.with_name(own_name())
    with uninterrupted():
        with suppress(OSError):
            path.rename(left)
        shutil.rmtree(left, ignore_errors=True)


def _remove(path: Path, held: list[int], owner: int) -> None:
    """A child that was forked has the same objects, and its parent still needs the folder."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    while held:
        with suppress(OSError):
            os.close(held.pop())


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and the end of a job until the block is done; in another thread than the main one none comes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.getsignal(number) for number in _HELD_BACK}
    try:
        for number, handler in before.items():
            if handler is not None:  # one that Python did not set cannot be put back
                signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
        for late in dict.fromkeys(arrived):
            signal.raise_signal(late)
