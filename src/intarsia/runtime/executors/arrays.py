"""Arrays of other libraries, as feeds and as results, by DLPack: no library is named here, and none is imported.

What is a tensor of PyTorch, an array of JAX or CuPy is told by the protocol that they have in common. An element type
that DLPack or numpy lacks (bfloat16, float8) crosses as integers of its size.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from intarsia.runtime.dtypes import numpy_dtype

_HOST_MEMORY = (1, 3, 11)
"""DLPack's numbers of devices whose memory the processor reads: its own, and what CUDA and ROCm pin in it."""
FromDlpack = Callable[[np.ndarray], Any]


class NotAnArrayError(Exception):
    """Why something cannot be taken as an array; who takes it says which input it is of."""


def as_numpy(value: Any, dtype: np.dtype) -> np.ndarray:
    """The value, as numpy's array on the same memory where that can be.

    Numbers and lists of them have no element type of their own, so they take the one that is wanted where it holds
    them. All else keeps its own.

    Raises:
        NotAnArrayError: It is no array, or in memory that is not the host's, or its numbers do not fit.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise NotAnArrayError("has masked elements, which engines do not know; say what they are, as by x.filled(0)")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return _by_dlpack(value)
    if isinstance(value, bool | int | float | list | tuple):
        return _of_numbers(value, dtype)
    try:
        return np.asarray(value)
    except Exception as error:  # whatever the object's own __array__ raises
        raise NotAnArrayError(f"is a {type(value).__name__}, which is no array: {error}") from error


def pointer_of(array: np.ndarray) -> ctypes.c_void_p:
    """Where an array's object has the address of its memory: ``value`` is it, as long as the array lives.

    The first field behind the head that all objects have, since numpy has a C interface. Reading it takes a tenth of
    the time of ``array.ctypes.data``, and numpy tells in no other way that an array was resized in place.
    """
    return ctypes.c_void_p.from_address(id(array) + object.__basicsize__)


def array_at(address: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """The array that lies at an address; whoever gives the address keeps what is there alive."""
    memory = (ctypes.c_ubyte * (prod(shape) * dtype.itemsize)).from_address(address)
    return np.ndarray(tuple(shape), dtype, buffer=memoryview(memory))


def library_of(feeds: Iterable[Any]) -> FromDlpack | None:
    """What makes a result an array of the feeds' library: ``None`` where that is numpy, or there are several."""
    others = [array for array in feeds if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__")]
    found = {getattr(_namespace(array), "from_dlpack", None) for array in others} - {None}
    return found.pop() if len(found) == 1 else None


def handed_back(results: Mapping[str, np.ndarray], make: FromDlpack) -> dict[str, Any]:
    """The results as arrays of another library, on the same memory. Text, which none of them has, stays numpy's."""
    return {name: array if array.dtype.hasobject else _made(array, make) for name, array in results.items()}


def cure(value: Any, dtype: np.dtype) -> str:
    """How its user converts an array to an element type, in the words of the array's library."""
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "to"):
        return f".astype({dtype.name!r})"
    return f".to({getattr(_namespace(value), '__name__', 'numpy')}.{dtype.name})"


def _by_dlpack(value: Any) -> np.ndarray:
    try:
        device = value.__dlpack_device__()[0]
        if device not in _HOST_MEMORY:
            raise NotAnArrayError("is in a device's memory; copy it to the host first, as x.cpu() does")
        borrowed = _borrowed(str(value.dtype).rpartition(".")[2]) if hasattr(value, "dtype") else None
        if borrowed is None:
            return np.from_dlpack(value)
        return np.from_dlpack(value.view(getattr(_namespace(value), _carrier(borrowed).name))).view(borrowed)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise NotAnArrayError(f"cannot be read by DLPack: {error}") from error


def _of_numbers(value: Any, dtype: np.dtype) -> np.ndarray:
    try:
        array = np.asarray(value)
        whole = array.dtype.kind in "iu" and dtype.kind in "iu"
        if array.dtype.kind in "biuf" and (whole or array.size == 0 or np.can_cast(array.dtype, dtype, "same_kind")):
            return np.asarray(value, dtype)
    except (ValueError, OverflowError, TypeError) as error:
        raise NotAnArrayError(f"is no array of {dtype.name}: {error}") from error
    return array


def _made(array: np.ndarray, make: FromDlpack) -> Any:
    if array.dtype.isbuiltin == 1:
        return make(array)
    integers = make(array.view(_carrier(array.dtype)))
    return integers.view(getattr(_namespace(integers), array.dtype.name))


@cache
def _borrowed(name: str) -> np.dtype | None:
    """The element type of this name, if numpy has it from elsewhere, so that DLPack does not carry it to numpy."""
    if hasattr(np, name):
        return None
    try:
        return numpy_dtype(name)
    except (AttributeError, TypeError):
        return None


def _carrier(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def _namespace(value: Any) -> Any:
    """The module of the functions on this array: as the array-API standard tells it, else the one of its class."""
    if hasattr(value, "__array_namespace__"):
        return value.__array_namespace__()
    modules = (sys.modules.get(cls.__module__.partition(".")[0]) for cls in type(value).__mro__)
    return next((module for module in modules if hasattr(module, "from_dlpack")), None)
