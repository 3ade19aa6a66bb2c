"""Element types: ONNX's numbers, and the names by which the rest of Intarsia knows them."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import onnx_ir as ir

STRING = "string"


@cache
def dtype_name(elem_type: int) -> str | None:
    """The numpy or ml_dtypes name of an ONNX element type; ``None`` if it is undefined."""
    if elem_type == onnx.TensorProto.UNDEFINED:
        return None
    if elem_type == onnx.TensorProto.STRING:
        return STRING
    try:
        return str(ir.DataType(elem_type).numpy().name)
    except (TypeError, ValueError):
        return None


@cache
def elem_type_of(dtype: str) -> int:
    """The ONNX element type of a dtype name."""
    if dtype == STRING:
        return int(onnx.TensorProto.STRING)
    return int(ir.DataType.from_numpy(numpy_dtype(dtype)))


@cache
def numpy_dtype(dtype: str) -> np.dtype:
    """The dtype of arrays that hold such elements."""
    if dtype == STRING:
        return np.dtype(object)
    return _BY_NAME[dtype]


@cache
def is_packed(dtype: str) -> bool:
    """Whether ONNX stores several such elements in one byte."""
    return dtype != STRING and ir.DataType(elem_type_of(dtype)).bitwidth < 8


def element_bytes(dtype: str) -> int:
    """Bytes of one element in memory; 0 for strings."""
    return 0 if dtype == STRING else numpy_dtype(dtype).itemsize


def _names() -> dict[str, np.dtype]:
    known = {}
    for kind in ir.DataType:
        name = dtype_name(int(kind))
        if name is not None and name != STRING:
            known[name] = np.dtype(kind.numpy())
    return known


_BY_NAME = _names()
