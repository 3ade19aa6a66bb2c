"""The reference's values at the places where a model may be cut: what partitions are fed, and what they must answer.

Each file's digest is in the index, and each index holds its own: what a disk or a hand changed is not there.
"""

from __future__ import annotations

import errno
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from intarsia.files import make_folder, replace_file, save_array, sweep
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.tolerance import Tolerance

VALUES = "values"
"""Name of the folder, or link to it, in a workspace."""
_INDEX = "values.json"
_TOLERANCES = "tolerances.json"
_FILE: Final = re.compile(r"[0-9a-f]{16}\.\w+\.npy")
"""What a file of a value is called: a digest of its name, its element type."""
_CHUNK: Final = 1 << 22


def record_values(folder: Path, values: Mapping[str, np.ndarray]) -> None:
    """Write values, each as one ``.npy`` file, beside those already there or in their place; the index appears last."""
    make_folder(folder)
    sweep(folder)
    index = _read_index(folder)
    for name, array in values.items():
        if array.dtype.hasobject:  # strings are generated again where they are needed
            continue
        # By name, not by number: of two who record at one time, neither writes over what the other calls so.
        file = f"{xxhash.xxh3_64_hexdigest(name.encode())}.{array.dtype.name}.npy"
        save_array(folder / file, np.asarray(array, order="C"), lasts=False)  # who has mapped the one before keeps that
        index[name] = (file, _digest_of(folder / file))
    _write_sealed(folder / _INDEX, {name: list(entry) for name, entry in index.items()})


def link_values(folder: Path, values: Path) -> None:
    """Have a workspace use these values, in place of those that it used before."""
    link = folder / VALUES
    link.unlink(missing_ok=True)
    link.symlink_to(values, target_is_directory=True)


def recorded_names(folder: Path) -> frozenset[str]:
    """The values that are there."""
    return frozenset(_read_index(folder))


def recorded_values(folder: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those of the named values that are there, mapped; an `OSError` if a file of one is damaged or gone."""
    index = _read_index(folder)
    return {name: _mapped(folder / index[name][0]) for name in names if name in index}


def forget_damaged(folder: Path) -> tuple[str, ...]:
    """Take out of the index what is not as it was written, and return the names of that."""
    index = _read_index(folder)
    damaged = tuple(name for name, (file, digest) in index.items() if not _is_whole(folder / file, digest))
    if damaged:
        kept = {name: list(entry) for name, entry in index.items() if name not in damaged}
        _write_sealed(folder / _INDEX, kept)
    return damaged


def record_tolerances(folder: Path, tolerances: Mapping[str, Tolerance]) -> None:
    """Write what rounding inside the model leaves open of values, in place of what was there."""
    rows = {name: [each.largest, each.length] for name, each in tolerances.items()}
    _write_sealed(folder / _TOLERANCES, rows)


def recorded_tolerances(folder: Path) -> dict[str, Tolerance]:
    """What is left open of each value; nothing where the model does not round inside."""
    found = {}
    for name, row in _read_sealed(folder / _TOLERANCES).items():
        match row:
            case [float() | int() as largest, float() | int() as length] if not math.isnan(largest + length):
                found[name] = Tolerance(largest=largest, length=length)
            case _:
                return {}
    return found


def _mapped(path: Path) -> np.ndarray:
    """The array, of the type that the file's name says: numpy's format has no name for those of ``ml_dtypes``."""
    try:
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        return array.view(numpy_dtype(path.suffixes[-2][1:])) if array.dtype.kind == "V" else array
    except (ValueError, EOFError, TypeError, SyntaxError) as error:  # an `OSError` is one already
        raise OSError(errno.EIO, f"the recorded value {path} is damaged ({error}); remove {path.parent}") from error


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return _digest_of(path) == digest
    except OSError:
        return False


def _digest_of(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _read_index(folder: Path) -> dict[str, tuple[str, str]]:
    """The file of each value and its digest. What earlier versions wrote had no digest, and is not there."""
    index = {}
    for name, entry in _read_sealed(folder / _INDEX).items():
        match entry:
            case [str() as file, str() as digest] if _FILE.fullmatch(file):
                index[name] = (file, digest)
            case _:
                return {}
    return index


def _write_sealed(path: Path, rows: Mapping[str, Any]) -> None:
    text = json.dumps(rows, sort_keys=True)
    replace_file(path, json.dumps({"digest": _seal(text), "rows": rows}, sort_keys=True).encode(), lasts=False)


def _read_sealed(path: Path) -> Mapping[str, Any]:
    """What `_write_sealed` wrote; nothing if it is not there, or not as it was written.

    Raises:
        OSError: It is there and cannot be read.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        match found:
            case {"digest": str() as digest, "rows": dict() as rows}:
                return rows if digest == _seal(json.dumps(rows, sort_keys=True)) else {}
    except (FileNotFoundError, ValueError, RecursionError):  # a text that is no JSON, or no UTF-8, is a `ValueError`
        pass
    return {}


def _seal(text: str) -> str:
    return xxhash.xxh3_128_hexdigest(text.encode())
