"""Element types: ONNX's enumeration, and the names that the rest of Intarsia uses."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import onnx
from onnx import helper

STRING = "string"
_NARROW = re.compile(r"(u?int|float)[1-7](_\w+)?")


@cache
def dtype_name(elem_type: int) -> str | None:
    """The numpy or ml_dtypes name of an ONNX element type; ``None`` if it is undefined."""
    if elem_type == onnx.TensorProto.UNDEFINED:
        return None
    if elem_type == onnx.TensorProto.STRING:
        return STRING
    try:
        return str(helper.tensor_dtype_to_np_dtype(elem_type).name)
    except KeyError:
        return None


@cache
def elem_type_of(dtype: str) -> int:
    """The ONNX element type of a dtype name."""
    if dtype == STRING:
        return int(onnx.TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype)))


@cache
def numpy_dtype(dtype: str) -> np.dtype:
    """The dtype of arrays that hold such elements."""
    if dtype == STRING:
        return np.dtype(object)
    return _BY_NAME[dtype]


@cache
def is_packed(dtype: str) -> bool:
    """Whether ONNX stores several such elements in one byte."""
    return _NARROW.fullmatch(dtype) is not None


def element_bytes(dtype: str) -> int:
    """Bytes of one element in memory; 0 for strings."""
    return 0 if dtype == STRING else numpy_dtype(dtype).itemsize


def _names() -> dict[str, np.dtype]:
    known = {}
    for elem_type in onnx.TensorProto.DataType.values():
        name = dtype_name(elem_type)
        if name is not None and name != STRING:
            known[name] = np.dtype(helper.tensor_dtype_to_np_dtype(elem_type))
    return known


_BY_NAME = _names()
