"""Arrays of any element type in a file: numpy's format keeps neither the narrow types of ml_dtypes nor strings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from intarsia.graph.dtypes import STRING, numpy_dtype

_MARK = "|"


def save_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write them; an array of a type that numpy does not know goes as its bytes, with the type behind its name."""
    np.savez(path, **dict(_plain(name, np.asarray(array)) for name, array in arrays.items()))  # type: ignore[arg-type]


def load_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """What `save_arrays` wrote."""
    with np.load(path) as file:
        return dict(_restored(name, array) for name, array in file.items())


def _plain(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if array.dtype.kind in "OU":
        return f"{name}{_MARK}{STRING}", np.array([str(text) for text in array.reshape(-1)], str).reshape(array.shape)
    if array.dtype.isbuiltin == 1:
        return name, array
    whole = np.ascontiguousarray(array).reshape(array.shape)
    return f"{name}{_MARK}{array.dtype.name}", whole.view(f"u{array.dtype.itemsize}")


def _restored(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    name, mark, dtype = name.rpartition(_MARK)
    if not mark:
        return dtype, array
    return name, array.astype(object) if dtype == STRING else array.view(numpy_dtype(dtype))
