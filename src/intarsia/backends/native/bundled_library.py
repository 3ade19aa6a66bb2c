"""The native library inside an artifact: put there with what it serves, and opened where there may be no compiler.

A library that serves this machine is used as it came; what does not is built anew by `library`, where that is possible.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from intarsia.backends.contract import EngineArtifact
from intarsia.backends.native import KERNELS, library, recipe
from intarsia.errors import CompileError, LoadError
from intarsia.files import replacing

FILE = KERNELS
FACTS = "library"
"""Under which an artifact's ``meta`` says what its library serves."""


def packed() -> tuple[bytes, dict[str, Any]]:
    """This machine's library, built now if it was not before, and what it serves.

    Raises:
        CompileError: It cannot be built here.
    """
    content = library.built().read_bytes()
    return content, {
        "sha256": hashlib.sha256(content).hexdigest(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "instruction_sets": list(library.instruction_sets()),
        "sources": recipe.fingerprint(),
    }


def opened(artifact: EngineArtifact) -> Path:
    """Where the library lies that an artifact's operators are in, ready to be loaded.

    Raises:
        LoadError: The artifact's own does not serve this machine, and none can be built here.
    """
    fault = "the artifact was made without it"
    if FILE in artifact.files:
        fault = _unserved(artifact.meta[FACTS])
        for path in () if fault else _places(artifact.files[FILE]):
            try:
                ctypes.CDLL(str(path))
            except OSError as error:  # another C library, or a folder that nothing may be executed from
                fault = str(error)
            else:
                return path
        fault = fault or "there is no folder to put it into"
    try:
        return library.built()
    except CompileError as error:
        raise LoadError("native library", f"{fault}; it cannot be built here either: {error.detail}") from error


def _unserved(facts: Mapping[str, Any]) -> str:
    """Why a library must not be loaded here; empty if it may."""
    for what, here in (("system", platform.system()), ("architecture", platform.machine())):
        if facts[what] != here:
            return f"the artifact's is built for {facts[what]}, and this machine is {here}"
    missing = sorted(set(facts["instruction_sets"]) - library.cpu_features())
    return f"the artifact's is built with {', '.join(missing)}, which this machine lacks" if missing else ""


def _places(content: bytes) -> Iterator[Path]:
    """Files with this content: the one that was built here, one in the cache, one in memory if the others do not do."""
    own = library.built_before()
    if own is not None and own.read_bytes() == content:
        yield own
    with suppress(OSError):  # the folder cannot be written, or is full
        yield _cached(content)
    if hasattr(os, "memfd_create"):
        yield _in_memory(content)


def _cached(content: bytes) -> Path:
    """A file in the user's cache, called by its content. Whatever lies there already is compared, and not trusted."""
    place = library.folder() / f"carried-{hashlib.sha256(content).hexdigest()}.so"
    if not place.is_file() or place.read_bytes() != content:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as draft:
            draft.write_bytes(content)
    return place


@cache
def _in_memory(content: bytes) -> Path:
    """A file without a folder. It stays open while the process lives: its number must not come to mean another file."""
    descriptor = os.memfd_create("intarsia-kernels")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    return Path(f"/proc/self/fd/{descriptor}")
