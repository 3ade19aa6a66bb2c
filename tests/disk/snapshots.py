"""What is on disk at each moment of one run, so that each moment can be gone on from.

A process that is killed leaves what it has written, and nothing else: the kernel keeps what the process gave it. So the
folder at a moment is what ``kill -9`` of all processes leaves at that moment. A power failure is another thing: it may
lose what was not flushed, and is not shown here.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.disk.library import Fault

PATIENCE_S = 300.0
AFTER_ALL = "after all"
_PAUSE_S = 0.0002


@dataclass(frozen=True)
class Entry:
    """A file, a folder or a link.

    Attributes:
        path: Relative to the folder of the snapshot.
        mode: Kind and permissions.
        content: A file's bytes, a link's target; nothing of a folder.
        same: The first file that this one is another name of; its own path if it is the first.
    """

    path: str
    mode: int
    content: bytes
    same: str


@dataclass(frozen=True)
class Snapshot:
    """What was on disk at a moment.

    Attributes:
        what: The moment, as ``before rename /path (process 7)``.
        entries: In the order of their paths, folders before what is in them.
        changed: When each entry was changed, in nanoseconds; two snapshots may be equal but for this.
    """

    what: str
    entries: tuple[Entry, ...]
    changed: tuple[int, ...]

    @property
    def digest(self) -> str:
        """Equal for two moments with the same names and bytes."""
        return hashlib.sha256(repr(self.entries).encode()).hexdigest()

    def put(self, folder: Path) -> None:
        """Make the folder so again, but for the numbers of its files (inodes); it is there and empty."""
        for entry in self.entries:
            path = folder / entry.path
            if stat.S_ISDIR(entry.mode):
                path.mkdir()
            elif stat.S_ISLNK(entry.mode):
                path.symlink_to(os.fsdecode(entry.content))
            elif entry.same != entry.path:
                path.hardlink_to(folder / entry.same)
            else:
                path.write_bytes(entry.content)
        for entry, changed in reversed(list(zip(self.entries, self.changed, strict=True))):
            path = folder / entry.path
            if not stat.S_ISLNK(entry.mode):
                path.chmod(stat.S_IMODE(entry.mode))
            os.utime(path, ns=(changed, changed), follow_symlinks=False)


def taken(folder: Path, what: str) -> Snapshot:
    """The folder as it is; nobody writes to it meanwhile."""
    entries, changed = [], []
    first: dict[int, str] = {}
    for path in sorted(folder.rglob("*")):
        name, facts = str(path.relative_to(folder)), path.lstat()
        is_file = stat.S_ISREG(facts.st_mode)
        content = path.read_bytes() if is_file else os.fsencode(path.readlink()) if path.is_symlink() else b""
        same = first.setdefault(facts.st_ino, name) if is_file else name
        entries.append(Entry(name, facts.st_mode, content, same))
        changed.append(facts.st_mtime_ns)
    return Snapshot(what, tuple(entries), tuple(changed))


def watched(child: int, fault: Fault) -> Iterator[Snapshot]:
    """Each moment of a process, and of those that it starts: before each write, half-way in it, and when it has ended.

    Args:
        child: A child of this process, with a fault that is only watched. It is waited for.
        fault: Was prepared before the child was started.
    """
    state, last = fault.shared(), time.monotonic()
    while True:
        if state.asked != state.answered:
            yield taken(fault.folder, state.what.decode(errors="replace"))
            state.answered += 1
            last = time.monotonic()
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0, f"what was watched ended with {os.waitstatus_to_exitcode(status)}"
            break
        assert time.monotonic() < last + PATIENCE_S, f"nothing was written for long after {state.what!r}"
        time.sleep(_PAUSE_S)
    yield taken(fault.folder, AFTER_ALL)
