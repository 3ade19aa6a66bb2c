"""What a process did to the world beyond itself: the files it opened for writing, the addresses it connected to.

A small library is loaded before all others (``LD_PRELOAD``), in the process and in every process it starts, and notes
each call in a file. It sees whatever goes through the C library, which is all that engines do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("preload.cpp")
LOG = "SIDE_EFFECTS_LOG"
COMPILER = shutil.which("g++") or shutil.which("c++")


@dataclass(frozen=True, slots=True)
class Effect:
    """One call.

    Attributes:
        kind: ``write`` or ``connect``.
        place: The file, or the address.
    """

    kind: str
    place: str


def built(folder: Path) -> Path:
    """The library, built into a folder."""
    assert COMPILER is not None
    library = folder / "side_effects.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def watching(library: Path, log: Path) -> Mapping[str, str]:
    """The variables with which a process is started that is to be watched."""
    return {"LD_PRELOAD": str(library), LOG: str(log)}


def as_user(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables without those by which a library could tell that it is tested, or that it is to send nothing."""
    told = re.compile("CI|PYTEST_.*|ORT_DISABLE_TELEMETRY")
    return {name: value for name, value in environment.items() if not told.fullmatch(name)}


def effects(log: Path) -> Iterator[Effect]:
    """What was noted, each once, in order."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    for line in dict.fromkeys(lines):
        kind, _, place = line.partition(" ")
        yield Effect(kind, place)


def outside(found: Iterator[Effect], *folders: Path) -> list[Effect]:
    """Connections, and what was written neither inside these folders nor to a device, nor to a process's own facts."""
    inside = tuple(f"{os.path.realpath(folder)}/" for folder in folders)
    return [
        effect
        for effect in found
        if effect.kind == "connect" or not f"{effect.place}/".startswith((*inside, "/dev/", "/proc/"))
    ]
