"""What the system says when something cannot be written, as one of our errors: what, where, and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from intarsia.errors import DiskError, IntarsiaError, OutputError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FAILING = frozenset({errno.EIO, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM})

_CURES = MappingProxyType(
    {
        **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), "{folder} is not a folder; make it, or name another place"),
        **dict.fromkeys((errno.EACCES, errno.EPERM), "no right to write in {folder}; name another place"),
        errno.EROFS: "{folder} can only be read; name another place",
        errno.ELOOP: "its links lead in a circle; name another place",
        errno.ENAMETOOLONG: "the name is too long; name a shorter one",
        errno.EPIPE: "whoever read from it has closed it",
        errno.ENXIO: "nobody reads from it; name a file",
        **dict.fromkeys((errno.EMFILE, errno.ENFILE), "{said}; raise the limit of open files (ulimit -n)"),
    }
)
"""What to say of a number, with the folder that was to be written in and what the system says."""


def is_of_disk(error: OSError) -> bool:
    """Whether it says that a disk is full or fails, or that the system's limits are reached: no place was wrong."""
    return error.errno in _FULL | _FAILING


def output_error(path: Path, error: OSError, needed: int | None = None) -> IntarsiaError:
    """The error that a write to a path ended in, as ours; ``needed`` are the bytes that it takes, if that is known."""
    if error.errno in _FULL:
        reason = _disk_full(path, error, needed)
    else:
        cure = _CURES.get(error.errno or 0, "{said}; see to the disk, or name another place")
        reason = cure.format(folder=path.parent, said=error.strerror or error)
    kind = DiskError if is_of_disk(error) else OutputError
    made = kind(f"cannot write {path}: {reason}")
    if error.errno != errno.EPIPE:  # click takes one with this number for its own, and ends with 1
        made.errno = error.errno
    return made


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Raise a `DiskError` where a disk is full or fails, naming what is written at or below a place."""
    try:
        yield
    except IntarsiaError:
        raise
    except OSError as error:
        if not is_of_disk(error):
            raise
        name = error.filename2 or error.filename
        named = Path(os.fsdecode(name)) if isinstance(name, str | bytes) else place
        raise output_error(named, error) from error


def _disk_full(path: Path, error: OSError, needed: int | None) -> str:
    limit = "the disk is full" if error.errno == errno.ENOSPC else "the quota of the disk is used up"
    figures = [f"it takes {size(needed)}"] if needed is not None else []
    if path.is_file() or not path.exists():
        with suppress(OSError):
            found = os.statvfs(path.parent)
            figures.append(f"{size(found.f_bavail * found.f_frsize)} are free in {path.parent}")
    sizes = f" ({', '.join(figures)})" if figures else ""
    return f"{limit}{sizes}; make room there, or name another place"


def size(count: int) -> str:
    """Bytes in words: ``1.5 MB``."""
    for unit, several in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= several:
            return f"{count / several:.1f} {unit}"
    return f"{count} bytes"
