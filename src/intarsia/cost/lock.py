"""One lock for everything heavy: two compiles on one machine take turns instead of spoiling each other's times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from intarsia.cost.progress import Progress, Watcher, unwatched

PATIENCE_S = 1.0


def lock_path() -> Path:
    """The lock file: one for each user of the machine. The kernel frees the lock when its holder dies."""
    return Path(tempfile.gettempdir()) / f"intarsia-{os.getuid()}.lock"


@contextmanager
def machine_lock(watch: Watcher = unwatched) -> Iterator[None]:
    """Hold the machine. Re-entrant within a process; tells ``watch`` when it has to wait for another."""
    lock = FileLock(lock_path(), is_singleton=True)
    try:
        lock.acquire(timeout=PATIENCE_S)
    except Timeout:
        watch(Progress(stage="wait", note="another compile is measuring on this machine"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
