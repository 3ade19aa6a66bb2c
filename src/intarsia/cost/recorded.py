"""The reference's values at the places where a model may be cut: what pieces are fed, and what they must answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from intarsia.files import make_folder, replace_file, save_array, sweep
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.leeway import Leeway

VALUES = "values"
"""Name of the folder, or link to it, in a workspace."""
_INDEX = "values.json"
_LEEWAYS = "leeways.json"


def record_values(folder: Path, values: Mapping[str, np.ndarray]) -> None:
    """Write values, each as one ``.npy`` file, beside those already there or in their place; the index appears last."""
    make_folder(folder)
    sweep(folder)
    index = _read_index(folder)
    for name, array in values.items():
        if array.dtype.hasobject:  # strings are generated again where they are needed
            continue
        file = index.setdefault(name, f"{len(index)}.{array.dtype.name}.npy")
        save_array(folder / file, np.asarray(array, order="C"), lasts=False)  # who has mapped the one before keeps that
    replace_file(folder / _INDEX, json.dumps(index).encode(), lasts=False)


def recorded_names(folder: Path) -> frozenset[str]:
    """The values that are there."""
    return frozenset(_read_index(folder))


def recorded_values(folder: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those of the named values that are there, mapped."""
    index = _read_index(folder)
    return {name: _mapped(folder / index[name]) for name in names if name in index}


def record_leeways(folder: Path, leeways: Mapping[str, Leeway]) -> None:
    """Write what rounding inside the model leaves open of values, in place of what was there."""
    rows = {name: [each.largest, each.length] for name, each in leeways.items()}
    replace_file(folder / _LEEWAYS, json.dumps(rows, sort_keys=True).encode(), lasts=False)


def recorded_leeways(folder: Path) -> dict[str, Leeway]:
    """What is left open of each value; nothing where the model does not round inside."""
    try:
        rows = json.loads((folder / _LEEWAYS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {name: Leeway(largest=largest, length=length) for name, (largest, length) in rows.items()}


def _mapped(path: Path) -> np.ndarray:
    """The array, of the type that the file's name says: numpy's format has no name for those of ``ml_dtypes``."""
    array: np.ndarray = np.load(path, mmap_mode="r")
    return array.view(numpy_dtype(path.suffixes[-2][1:])) if array.dtype.kind == "V" else array


def _read_index(folder: Path) -> dict[str, str]:
    try:
        index: dict[str, str] = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {name: file for name, file in index.items() if file.count(".") > 1}  # earlier versions wrote no type
