"""Builds ``faults.c``, and says what is to happen to the processes that it is preloaded into."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("faults.c")
DISK_FULL = ("full", "full-once")
KILLS = ("before", "after", "half")
WATCHED = "watched"
"""Nothing fails: each write waits for who looks at the folders."""


class State(ctypes.Structure):
    """``struct shared`` of ``faults.c``, which says what each field holds."""

    _fields_ = (
        ("count", ctypes.c_long),
        ("fired", ctypes.c_long),
        ("asked", ctypes.c_long),
        ("answered", ctypes.c_long),
        ("owner", ctypes.c_int),
        ("writer", ctypes.c_int),
        ("what", ctypes.c_char * 500),
    )


def compiler() -> str | None:
    """The machine's C compiler."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def built(folder: Path) -> Path:
    """The library, to be named in ``LD_PRELOAD``."""
    found = compiler()
    assert found is not None
    library = folder / "faults.so"
    subprocess.run([found, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True, timeout=120)
    return library


@dataclass(frozen=True)
class Seen:
    """What came of a fault.

    Attributes:
        count: Writes under the folders, as far as they were counted.
        fired: The write that the fault came at; 0 if it was never reached.
        what: The call and the path.
    """

    count: int
    fired: int
    what: str


@dataclass(frozen=True)
class Fault:
    """A fault at one write.

    Attributes:
        folder: Where writes count.
        state: A file that the processes share; it lies elsewhere.
        how: Of `DISK_FULL` or `KILLS`, or `WATCHED`.
        at: Which write, counted from 1; 0 only counts.
        whose: ``first``: only the process that writes first counts; ``all``: those that it starts do as well;
            ``others``: only those.
    """

    folder: Path
    state: Path
    how: str
    at: int
    whose: str = "first"

    def begin(self) -> None:
        """Let it happen to this process, which has the library preloaded, and to those that it starts."""
        os.environ["FAULTS_FOLDERS"] = str(self.folder)
        os.environ["FAULTS_HOW"], os.environ["FAULTS_AT"] = self.how, str(self.at)
        os.environ["FAULTS_STATE"], os.environ["FAULTS_WHOSE"] = str(self.state), self.whose
        ctypes.CDLL(None).faults_begin()

    def prepare(self) -> None:
        """Forget what has come of it before; to be called before the process that `begin` is called in is started."""
        self.state.write_bytes(bytes(ctypes.sizeof(State)))

    def shared(self) -> State:
        """What the processes share with this one."""
        with self.state.open("r+b") as file:
            return State.from_buffer(mmap.mmap(file.fileno(), 0))

    def seen(self) -> Seen:
        """What has come of it."""
        state = State.from_buffer_copy(self.state.read_bytes())
        return Seen(count=state.count, fired=state.fired, what=state.what.decode(errors="replace"))
