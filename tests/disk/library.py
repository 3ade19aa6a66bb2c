"""Builds ``faults.c``, and says what is to happen to the processes that it is preloaded into."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("faults.c")
DISK_FULL = ("full", "full-once")
KILLS = ("before", "after", "half")
_STATE = struct.Struct("lli500s")
"""``struct shared`` of ``faults.c``."""


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
        how: Of `DISK_FULL` or `KILLS`.
        at: Which write, counted from 1; 0 only counts.
        whose: ``first``: only the process that writes first counts; ``all``: those that it starts do as well.
    """

    folder: Path
    state: Path
    how: str
    at: int
    whose: str = "first"

    def begin(self) -> None:
        """Let it happen to this process, which has the library preloaded, and to those that it starts."""
        self.state.write_bytes(bytes(_STATE.size))
        os.environ["FAULTS_FOLDERS"] = str(self.folder)
        os.environ["FAULTS_HOW"], os.environ["FAULTS_AT"] = self.how, str(self.at)
        os.environ["FAULTS_STATE"], os.environ["FAULTS_WHOSE"] = str(self.state), self.whose
        ctypes.CDLL(None).faults_begin()

    def seen(self) -> Seen:
        """What has come of it."""
        count, fired, _, what = _STATE.unpack(self.state.read_bytes())
        return Seen(count=count, fired=fired, what=what.split(b"\0")[0].decode(errors="replace"))
