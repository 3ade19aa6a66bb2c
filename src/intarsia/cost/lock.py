"""One lock for everything that is timed: two compiles on one machine take turns instead of spoiling each other's times.

What is not timed does not wait for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from intarsia.cost.deadline import Deadline
from intarsia.cost.progress import WAIT, Progress, Watcher, unwatched

PATIENCE_S = 1.0


def lock_path() -> Path:
    """The lock file: one for each user of the machine. The kernel frees the lock when its holder dies."""
    return Path(tempfile.gettempdir()) / f"intarsia-{os.getuid()}.lock"


@contextmanager
def machine_lock(watch: Watcher = unwatched, deadline: Deadline | None = None) -> Iterator[None]:
    """Hold the machine. Re-entrant within a process.

    Args:
        watch: Told when it has to wait for another.
        deadline: Where the wait does not count.
    """
    lock = FileLock(lock_path(), is_singleton=True)
    if deadline is None:
        _acquire(lock, watch)
    else:
        with deadline.waiting():
            _acquire(lock, watch)
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, watch: Watcher) -> None:
    try:
        lock.acquire(timeout=PATIENCE_S)
    except Timeout:
        watch(Progress(stage=WAIT, note="waiting for another compile, which is measuring on this machine"))
        lock.acquire()
