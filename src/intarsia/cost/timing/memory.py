"""How much memory a plan takes: read where the kernel tells it, so that nothing has to be sampled meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
from pydantic import Field

_PROCESSES = Path("/proc")
Bytes = Annotated[int, Field(ge=0, le=2**60)]
_RESET_PEAK = "5"
"""What ``clear_refs`` takes to put the peak down to what is held now (proc(5))."""
_POPULATE_READ = 22
"""What ``madvise`` takes to map pages that are in memory already (Linux 5.14; ``MADV_POPULATE_READ``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What a plan adds to its process, in bytes: from before its engines are imported, so they count.

    Counted is resident memory, private and shared: the engines' libraries, weights (mapped ones too, as far as they
    were read), compiled code, buffers, and all of the processes that an engine starts. Python, numpy and Intarsia
    itself, which were there before, are not.

    Attributes:
        peak: The most that was held at one time while the plan was loaded and run.
        steady: What is held between runs.
    """

    peak: Bytes
    steady: Bytes


class MemoryGauge:
    """Measures how much this process grows from the moment the gauge is made."""

    def __init__(self) -> None:
        gc.collect()
        _map_files()
        self._process = psutil.Process()
        with contextlib.suppress(OSError):  # where it cannot be put down, the peak is that of the whole process
            (_PROCESSES / "self" / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
        self._start = self._rss()

    def read(self) -> Memory:
        """What was added since."""
        gc.collect()
        started = [held for child in self._process.children(recursive=True) if (held := _held(child.pid))]
        steady = self._rss() - self._start + sum(held.steady for held in started)
        own = _held(self._process.pid)
        peak = steady if own is None else own.peak - self._start + sum(held.peak for held in started)
        return Memory(peak=max(0, peak, steady), steady=max(0, steady))

    def _rss(self) -> int:
        return int(self._process.memory_info().rss)


def _map_files() -> None:
    """Map all pages of the files that this process has mapped, where the system can do that.

    A page counts as held once it was touched. A forked process has touched none of a file's, so code that runs for the
    first time would count as growth.
    """
    try:
        maps = (_PROCESSES / "self" / "maps").read_text(encoding="utf-8", errors="replace")
    except OSError:  # a system that is no Linux
        return
    advise = ctypes.CDLL(None).madvise
    for line in maps.splitlines():
        addresses, rights, *_, last = line.split(maxsplit=5)
        if last.startswith("/") and rights.startswith("r"):
            start, end = (int(each, 16) for each in addresses.split("-"))
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _POPULATE_READ)


def _held(pid: int) -> Memory | None:
    """What a whole process holds and held at most; ``None`` where the system does not tell, or it has ended.

    Not ``ru_maxrss``: on Linux that starts with what the parent held.
    """
    try:
        lines = (_PROCESSES / str(pid) / "status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    kilobytes = {name: words.split()[0] for name, _, words in (line.partition(":") for line in lines) if words.strip()}
    if not {"VmHWM", "VmRSS"} <= kilobytes.keys():
        return None
    return Memory(peak=1024 * int(kilobytes["VmHWM"]), steady=1024 * int(kilobytes["VmRSS"]))
