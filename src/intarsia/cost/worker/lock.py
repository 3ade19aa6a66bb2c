"""One lock for everything that is timed: two compiles on one machine take turns instead of spoiling each other's times.

What is not timed does not wait for it. The lock file lies in a folder that all users share: what another user may have
put there in its place is not opened, and then the lock lies in a folder of the user's own.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path

from filelock import FileLock, Timeout

from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import WAIT, Progress, Watcher, unwatched
from intarsia.errors import DiskError
from intarsia.files import cache_folder, own_cache, temporary_cache, temporary_root

log = logging.getLogger(__name__)
_PRIVATE = 0o600
_NAME = "machine.lock"


def lock_path() -> Path:
    """The lock file: one for each user of the machine. The kernel frees the lock when its holder dies.

    All processes of a user find the same one, as long as they have the same folder for temporary files.
    """
    usual = temporary_root() / f"intarsia-{os.getuid()}.lock"
    fault = _fault(usual)
    if not fault:
        return usual
    others = (own_cache() / _NAME, cache_folder() / _NAME)
    other = next((path for path in others if not _fault(path)), temporary_cache() / _NAME)
    _remark(f"{usual} {fault}: the lock that keeps compiles from measuring at one time is {other} instead; remove it")
    return other


@contextmanager
def machine_lock(watch: Watcher = unwatched, deadline: Deadline | None = None) -> Iterator[None]:
    """Hold the machine; having to wait for another does not count for the deadline. Re-entrant within a process.

    Raises:
        DiskError: The lock file cannot be opened.
    """
    lock = FileLock(lock_path(), is_singleton=True)
    with nullcontext() if deadline is None else deadline.waiting():
        _acquire(lock, watch)
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, watch: Watcher) -> None:
    try:
        try:
            lock.acquire(timeout=PATIENCE.lock_s)
        except Timeout:
            watch(Progress(stage=WAIT, note="waiting for another compile, which is measuring on this machine"))
            lock.acquire()
    except OSError as error:
        raise DiskError(
            f"the lock {lock.lock_file} cannot be opened ({error.strerror or error}); remove what is there, or name "
            "another folder for temporary files in TMPDIR"
        ) from error


def _fault(path: Path) -> str:
    """What keeps a file from being the lock, made now if there is none; empty if nothing does."""
    try:
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE))
        facts = path.lstat()
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    faults = {
        "is a link": stat.S_ISLNK(facts.st_mode),
        "is a folder": stat.S_ISDIR(facts.st_mode),
        "is no file": not stat.S_ISREG(facts.st_mode),
        "is another user's": facts.st_uid != os.geteuid(),
        "has another name": facts.st_nlink > 1,
        "cannot be opened": not os.access(path, os.R_OK | os.W_OK),
    }
    return next((fault for fault, is_so in faults.items() if is_so), "")


@cache
def _remark(text: str) -> None:
    """Say it once."""
    log.warning("%s", text)
