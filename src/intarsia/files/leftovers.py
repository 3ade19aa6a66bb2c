"""Drafts and folders of processes that were killed: told from those of the living by a lock, and removed.

Whoever writes holds a shared lock on the draft, which the kernel frees when the process dies. A process id alone would
not tell: in containers every process has the same one.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

DRAFT = re.compile(r"\.intarsia-(\d+)-[0-9a-f]{8}\.tmp")
"""Name of a draft that lies beside the file or folder that it becomes."""
SCRATCH = re.compile(r"intarsia-(\d+)-[0-9a-f]{8}")
"""Name of a folder among temporary files."""
WORK = re.compile(r"(\d+)-[0-9a-f]{8}")
"""Name of a folder of work in progress, in a folder that holds nothing else."""


def own_name(before: str = ".intarsia-", behind: str = ".tmp") -> str:
    """A name that no other process and no other thread takes."""
    return f"{before}{os.getpid()}-{secrets.token_hex(4)}{behind}"


def claim(path: Path) -> int:
    """A descriptor that shows others that the writer of a file or folder lives, until it is closed.

    Raises:
        FileNotFoundError: It is not there, or was taken for a leftover just now; make another.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: the process id has to do
            fcntl.flock(descriptor, fcntl.LOCK_SH)  # whoever looks for leftovers holds it for a moment
        if os.fstat(descriptor).st_nlink == 0:
            raise FileNotFoundError(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def sweep(folder: Path, names: re.Pattern[str] = DRAFT) -> None:
    """Remove what dead processes of this user left in a folder under such names. What cannot be removed stays."""
    try:
        with os.scandir(folder) as entries:
            found = [Path(entry.path) for entry in entries if names.fullmatch(entry.name)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            _remove_left(path, names)


def _remove_left(path: Path, names: re.Pattern[str]) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        facts = os.fstat(descriptor)
        if facts.st_uid != os.getuid() or not _is_left(descriptor, path, names):
            return
        if stat.S_ISDIR(facts.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(facts.st_mode):
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _is_left(descriptor: int, path: Path, names: re.Pattern[str]) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        import psutil  # only here, and slow to import

        found = names.fullmatch(path.name)
        return found is not None and not psutil.pid_exists(int(found[1]))
    return True
