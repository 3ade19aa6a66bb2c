"""`intarsia.h` called from Python by ctypes: what a binding for another language has to do, and no more."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64"}
_INT64S = ctypes.POINTER(ctypes.c_int64)


class Options(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("engine_folders", ctypes.c_char_p),
        ("allow", ctypes.POINTER(ctypes.c_char_p)),
        ("allow_count", ctypes.c_size_t),
        ("refuse_machine_code", ctypes.c_int),
    )


class Value(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_size_t),
        ("shape", _INT64S),
        ("bytes", ctypes.c_size_t),
    )


class Tensor(ctypes.Structure):
    _fields_ = (*Value._fields_[:4], ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


class Model:
    """A model of the library at a path."""

    def __init__(self, library: Path, artifact: Path, **options: Any) -> None:
        self.library: Any = ctypes.CDLL(str(library))
        self.library.intarsia_error_text.restype = ctypes.c_char_p
        self.library.intarsia_remarks.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        given = Options(size=ctypes.sizeof(Options), **options)
        self.check(self.library.intarsia_load(bytes(artifact), ctypes.byref(given), ctypes.byref(self.handle)))
        self.inputs, self.outputs = self._side("input"), self._side("output")

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(f"{status}: {self.library.intarsia_error_text().decode()}")

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        results = {name: np.empty(shape, dtype) for name, (dtype, shape) in self.outputs.items()}
        given, wanted = self._tensors(feeds), self._tensors(results)
        self.check(self.library.intarsia_run(self.handle, given, len(feeds), wanted, len(results)))
        return results

    def close(self) -> None:
        self.library.intarsia_free(self.handle)
        self.handle = ctypes.c_void_p()

    def _side(self, side: str) -> dict[str, tuple[str, tuple[int, ...]]]:
        found, value = {}, Value()
        for place in range(getattr(self.library, f"intarsia_{side}_count")(self.handle)):
            self.check(getattr(self.library, f"intarsia_{side}")(self.handle, place, ctypes.byref(value)))
            found[value.name.decode()] = (DTYPES[value.dtype], tuple(value.shape[: value.rank]))
        return found

    def _tensors(self, arrays: Mapping[str, np.ndarray]) -> Any:
        numbers = {name: number for number, name in DTYPES.items()}
        rows = [
            (name.encode(), numbers[array.dtype.name], array.ndim, array.ctypes.data_as(ctypes.c_void_p), array)
            for name, array in arrays.items()
        ]
        shapes = [(ctypes.c_int64 * array.ndim)(*array.shape) for array in arrays.values()]
        return (Tensor * len(rows))(
            *(
                Tensor(name, number, rank, ctypes.cast(shape, _INT64S), data, array.nbytes)
                for (name, number, rank, data, array), shape in zip(rows, shapes, strict=True)
            )
        )
