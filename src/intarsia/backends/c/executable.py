"""A library that was compiled of a module, with its constants and memory, bound to arrays and called."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends.c import ENTRY
from intarsia.backends.contract import BoundCall, Executable, Slot, following, guarded, signatures
from intarsia.errors import LoadError
from intarsia.files import cache_folder, scratch

_NAME = "c"
_ALIGNED = 64
"""Bytes: constants and memory start at a multiple of it, as vectors are widest."""


class Compiled(Executable):
    """One function of a library. Each bound call has memory of its own, so that two may run at one time."""

    def __init__(self, content: bytes, constants: bytes, meta: Mapping[str, Any]) -> None:
        """Map the library.

        Args:
            content: Of the library.
            constants: All of them, one behind the other.
            meta: Of the artifact.

        Raises:
            LoadError: It cannot be mapped here.
        """
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        self._workspace = int(meta["workspace"])
        self._library: ctypes.CDLL | None = _opened(content)
        self._run: Any = getattr(self._library, ENTRY)
        self._run.restype = None
        self._constants = _aligned(len(constants))
        self._constants[: len(constants)] = np.frombuffer(constants, np.uint8)
        first = self._constants.ctypes.data
        self._places = _addresses([first + offset for offset in meta["constants"]])

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """The function reads and writes the arrays where they are."""
        run, constants = self._run, self._places
        given, wanted = _addresses([0] * len(self.inputs)), _addresses([0] * len(self.outputs))
        workspace = _aligned(self._workspace)
        address = ctypes.c_void_p(workspace.ctypes.data)
        places = [(_Pointer(given, at, value.shape), inputs[value.name]) for at, value in enumerate(self.inputs)]
        places += [(_Pointer(wanted, at, value.shape), outputs[value.name]) for at, value in enumerate(self.outputs)]

        def call() -> None:
            run(given, wanted, address, constants)

        kept = (workspace, self._constants, self._library, given, wanted)
        return guarded(following(places, call), _NAME, kept)

    def close(self) -> None:
        """Drop library and constants; calls bound to them keep them alive until they are dropped too."""
        self._run = self._library = None
        self._constants = _aligned(0)


class _Pointer:
    """One of several addresses that are handed over."""

    def __init__(self, addresses: Any, place: int, shape: Sequence[int] | None) -> None:
        self._addresses = addresses
        self._place = place
        self._shape = shape
        self._array: np.ndarray | None = None

    def __call__(self, array: np.ndarray) -> None:
        self._array = array
        self._addresses[self._place] = array.ctypes.data if prod(self._shape or ()) else 0


def _addresses(values: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(1, len(values)))(*values)


def _aligned(size: int) -> np.ndarray:
    """So many bytes of memory of our own, from the start of a page."""
    return np.frombuffer(mmap.mmap(-1, max(size, _ALIGNED)), np.uint8)


def _opened(content: bytes) -> ctypes.CDLL:
    """A library, mapped; its file is removed at once. Each has a name of its own, or the loader takes them for one."""
    faults = []
    for parent in (None, cache_folder()):
        with suppress(OSError):
            if parent is not None:
                parent.mkdir(parents=True, exist_ok=True)
        try:
            with scratch(parent) as folder:
                path = Path(folder) / "model.so"
                path.write_bytes(content)
                return ctypes.CDLL(str(path))
        except OSError as error:  # a folder that nothing may be executed from, or that is full
            faults.append(str(error))
    raise LoadError(_NAME, f"the library cannot be mapped: {'; '.join(faults)}")
