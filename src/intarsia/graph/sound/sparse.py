"""Sparse tensors: values, and places that are inside of the shape, ascending, each once."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from intarsia.errors import ModelError
from intarsia.graph.sound.tensors import check_dims, check_tensor


def check_sparse(sparse: onnx.SparseTensorProto, what: str) -> int:
    """The bytes that it takes once it is dense.

    Raises:
        ModelError: It contradicts itself.
    """
    if not sparse.HasField("values"):
        raise ModelError(f"{what} has no values; export the model again")
    held = check_tensor(sparse.values, f"{what}, its values,", may_be_outside=False)
    check_dims(sparse.dims, what)
    if not sparse.dims or any(dim == 0 for dim in sparse.dims):
        raise ModelError(f"{what} has the shape {list(sparse.dims)}; a sparse tensor has at least one element")
    if len(sparse.values.dims) != 1:
        raise ModelError(f"{what} has values of {len(sparse.values.dims)} dimensions; they are a list")
    count: int = sparse.values.dims[0]
    if sparse.HasField("indices"):
        _check_places(sparse, what, count)
    elif count:
        raise ModelError(f"{what} has {count} values and no places for them; export the model again")
    elements: int = prod(sparse.dims)
    return elements * (held // count if count else 8)


def _check_places(sparse: onnx.SparseTensorProto, what: str, count: int) -> None:
    places = sparse.indices
    check_tensor(places, f"{what}, the places of its values,", may_be_outside=False)
    if places.data_type != TensorProto.INT64:
        raise ModelError(f"{what} has places of {TensorProto.DataType.Name(places.data_type)}; they are INT64")
    if list(places.dims) not in ([count], [count, len(sparse.dims)]):
        raise ModelError(
            f"{what} has {count} values and places of the shape {list(places.dims)}; "
            f"it takes [{count}] or [{count}, {len(sparse.dims)}]"
        )
    flat = _flat(numpy_helper.to_array(places), np.array(sparse.dims, np.int64), what)
    if flat.size > 1 and not (flat[1:] > flat[:-1]).all():
        raise ModelError(f"{what} has places that do not ascend; sort them with their values, each place once")


def _flat(places: np.ndarray, dims: np.ndarray, what: str) -> np.ndarray:
    """Places counted from the first element on, all of them inside of the shape."""
    ends = dims if places.ndim == 2 else np.array([dims.prod()])
    within = places.reshape(-1, len(ends))
    outside = ((within < 0) | (within >= ends)).any(axis=1)
    if outside.any():
        raise ModelError(
            f"{what} has a value at {within[outside.argmax()].tolist()}, outside of its shape {dims.tolist()}"
        )
    if places.ndim == 1:
        return places
    strides = np.append(np.cumprod(dims[:0:-1])[::-1], 1).astype(np.int64)
    flat: np.ndarray = within @ strides
    return flat
