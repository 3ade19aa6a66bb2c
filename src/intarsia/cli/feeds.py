"""Inputs of a model from files on the command line."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.errors import FeedError

if TYPE_CHECKING:
    import numpy as np

_ZIP = b"PK"
"""How archives begin, and so the ``.npz`` files of numpy."""
_LARGE_BYTES = 1 << 28
"""Less than this any machine has."""


def read_feeds(files: Mapping[str, Path]) -> dict[str, np.ndarray]:
    """The array of each ``.npy`` file, by the name of its input; a `FeedError` where a file is none."""
    return {name: _read(name, path) for name, path in files.items()}


def _read(name: str, path: Path) -> np.ndarray:
    import numpy as np

    try:
        _check(path)
        return np.asarray(np.load(path, allow_pickle=False))
    except Exception as error:  # the bytes are anybody's: whatever reading them raises, it is the file that is wrong
        raise FeedError(f"input {name}: cannot read {path} as a .npy file: {error}") from error


def _check(path: Path) -> None:
    """Raise an `OSError`, or a `ValueError` for what is no array, before anything of its size is allocated."""
    from numpy.lib import format as npy

    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        start = file.read(len(npy.MAGIC_PREFIX))
        if start.startswith(_ZIP):
            raise ValueError("it holds several arrays; save one with numpy.save")
        if start != npy.MAGIC_PREFIX:
            raise ValueError("it does not begin as one; write it with numpy.save")
        file.seek(0)
        version = npy.read_magic(file)
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        if version not in readers:  # 3.0 is for names of fields, which no input has
            raise ValueError(f"it is of format {'.'.join(map(str, version))}; write it with numpy.save")
        shape, _, dtype = readers[version](file)
        if dtype.hasobject:
            raise ValueError("it holds Python objects, which are not read; save numbers or text, without pickle")
        wanted, there = prod(shape) * dtype.itemsize, facts.st_size - file.tell()
        if wanted > there or min(shape, default=0) < 0:
            raise ValueError(f"it promises {wanted} bytes of elements ({dtype.name}{list(shape)}) and holds {there}")
    if wanted > _LARGE_BYTES and wanted > _memory_bytes():  # a file of holes
        raise ValueError(f"its {wanted} bytes of elements are more than the memory of this machine")


def _memory_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().total)
