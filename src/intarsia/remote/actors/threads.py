"""How many threads a process of Ray may have: a plan's to say, and not Ray's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_THREADS: Final = "OMP_NUM_THREADS"


def take_threads_back() -> None:
    """Remove what Ray sets in a process that it starts, where nobody stated it."""
    try:
        stated = Path("/proc/self/environ").read_bytes()
    except OSError:
        stated = b""
    if f"{_THREADS}=".encode() not in stated:
        os.environ.pop(_THREADS, None)
