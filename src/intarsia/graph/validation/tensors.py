"""Tensors: element type, shape, and content that is exactly as long as these two say; and those that are sparse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, numpy_helper

from intarsia.errors import ModelError
from intarsia.graph.limits import LIMITS
from intarsia.numbers import shown

_FIELDS: Mapping[int, tuple[str, int]] = MappingProxyType(
    {
        TensorProto.FLOAT: ("float_data", 1),
        TensorProto.COMPLEX64: ("float_data", 2),
        TensorProto.DOUBLE: ("double_data", 1),
        TensorProto.COMPLEX128: ("double_data", 2),
        TensorProto.INT64: ("int64_data", 1),
        TensorProto.UINT32: ("uint64_data", 1),
        TensorProto.UINT64: ("uint64_data", 1),
        TensorProto.STRING: ("string_data", 1),
    }
)
"""The field that holds elements of a type, and entries an element; ``int32_data`` holds one of any other type."""
_ALL_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
_STRING_BITS = 8
_NUMBER = re.compile("[0-9]{1,30}")
_PLACE = frozenset({"location", "offset", "length", "checksum", "basepath"})
"""What ONNX says of content in another file."""


def check_tensor(tensor: onnx.TensorProto, what: str, *, may_be_outside: bool = True) -> int:
    """The bytes that its content takes; a `ModelError`, which begins with ``what``, where it contradicts itself.

    ``may_be_outside``: it may keep its content in a file beside the model.
    """
    bits = _bits(tensor, what)
    check_dims(tensor.dims, what)
    count: int = prod(tensor.dims)
    nbytes: int = (count * bits + 7) // 8
    if nbytes > LIMITS.value_bytes:
        raise ModelError(f"{what} has the shape {list(tensor.dims)}, which is {nbytes:.1e} bytes; export it again")
    if tensor.HasField("segment"):
        raise ModelError(f"{what} is stored in segments, which nothing reads any more; export the model again")
    if tensor.data_location == TensorProto.EXTERNAL:
        if not may_be_outside:
            raise ModelError(f"{what} keeps its content in another file, which no sparse weight may; save it inside")
        _check_external(tensor, what, nbytes)
    else:
        _check_content(tensor, what, count, nbytes)
    return nbytes


def check_dims(dims: Sequence[int], what: str) -> None:
    """Raise a `ModelError` for too many dimensions, a negative one, or more elements than can be counted."""
    if len(dims) > LIMITS.rank:
        raise ModelError(f"{what} has {len(dims)} dimensions; {LIMITS.rank} are the most that arrays have")
    if any(dim < 0 for dim in dims):
        raise ModelError(f"{what} has the negative dimension {min(dims)} in its shape {list(dims)}; export it again")
    if prod(max(1, dim) for dim in dims) > LIMITS.value_bytes:
        raise ModelError(f"{what} has the shape {list(dims)}, more elements than any machine holds; export it again")


def _bits(tensor: onnx.TensorProto, what: str) -> int:
    if tensor.data_type == TensorProto.STRING:
        return _STRING_BITS
    try:
        return int(ir.DataType(tensor.data_type).bitwidth)
    except (TypeError, ValueError):
        raise ModelError(
            f"{what} has the element type {tensor.data_type}, which onnx {onnx.__version__} does not know; "
            "export the model again, or update onnx"
        ) from None


def _check_external(tensor: onnx.TensorProto, what: str, nbytes: int) -> None:
    if tensor.data_type == TensorProto.STRING:
        raise ModelError(f"{what} keeps texts in another file, which ONNX does not allow; store them in the model")
    check_text((text for entry in tensor.external_data for text in (entry.key, entry.value)), what)
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if not entries.get("location"):
        raise ModelError(f"{what} is said to be in another file, and none is named; save the model again")
    if unknown := entries.keys() - _PLACE:
        what_is_odd = f"{what} has the entry {shown(min(unknown))} about its file"
        raise ModelError(f"{what_is_odd}, which ONNX does not know; save it again")
    for key in ("offset", "length"):
        if key in entries and not _NUMBER.fullmatch(entries[key]):
            raise ModelError(
                f"{what} has the {key} {shown(entries[key])} in {entries['location']!r}; give a number from 0 on"
            )
    if int(entries.get("offset", 0)) > 2 * LIMITS.value_bytes:
        raise ModelError(f"{what} begins at byte {entries['offset']} of {entries['location']!r}, where no file reaches")
    if "length" in entries and int(entries["length"]) != nbytes:
        raise ModelError(
            f"{what} has {entries['length']} bytes in {entries['location']!r}, and its shape asks for {nbytes}; "
            "the model and that file do not belong together"
        )
    if _filled(tensor, len(tensor.raw_data)):
        raise ModelError(f"{what} is in another file and in the model at once; save the model again")


def _check_content(tensor: onnx.TensorProto, what: str, count: int, nbytes: int) -> None:
    raw = len(tensor.raw_data)  # asked once: each time is a copy
    filled = _filled(tensor, raw)
    if len(filled) > 1:
        raise ModelError(f"{what} has its content twice, in {' and '.join(filled)}; export the model again")
    if count and not filled:
        raise ModelError(
            f"{what} has no content, and its shape {list(tensor.dims)} asks for {nbytes} bytes; "
            "was its data in another file? Save the model again with its weights"
        )
    if filled == ["raw_data"]:
        if tensor.data_type == TensorProto.STRING:
            raise ModelError(f"{what} holds texts as raw bytes, which have no ends; export the model again")
        _check_length(what, raw, (nbytes, nbytes), "bytes")
        return
    field, entries = _FIELDS.get(tensor.data_type, ("int32_data", 1))
    if filled and filled != [field]:
        kind = TensorProto.DataType.Name(tensor.data_type)
        raise ModelError(f"{what} is of {kind}, which belongs in {field}, and has {filled[0]}; export the model again")
    _check_length(what, len(getattr(tensor, field)), _entries(tensor, count, entries), "numbers")
    if filled == ["int32_data"] and (bits := int(ir.DataType(tensor.data_type).bitwidth)) in {8, 16}:
        least, most = min(tensor.int32_data), max(tensor.int32_data)
        if least < -(1 << bits - 1) or most >= 1 << bits:
            raise ModelError(f"{what} holds numbers from {least} to {most}, beyond its {bits} bits; export it again")


def _entries(tensor: onnx.TensorProto, count: int, entries: int) -> tuple[int, int]:
    """How many entries a field may have: elements of 2 and 4 bits lie in whole bytes, one or four of them an entry."""
    bits = 8 if tensor.data_type == TensorProto.STRING else int(ir.DataType(tensor.data_type).bitwidth)
    if bits not in {2, 4}:
        return count * entries, count * entries
    nbytes = (count * bits + 7) // 8
    return (nbytes + 3) // 4, nbytes


def _check_length(what: str, has: int, asked: tuple[int, int], unit: str) -> None:
    least, most = asked
    if not least <= has <= most:
        less, bound = ("fewer", least) if has < least else ("more", most)
        raise ModelError(
            f"{what} has {less} {unit} than its shape says, {has} for {bound}: the file is cut short or damaged"
        )


def _filled(tensor: onnx.TensorProto, raw: int) -> list[str]:
    found = [field for field in _ALL_FIELDS if len(getattr(tensor, field))]
    return [*found, "raw_data"] if raw else found


def check_text(names: Iterable[object], where: str) -> None:
    """Raise a `ModelError` for names that are no text: protobuf hands such out as bytes."""
    for name in names:
        if not isinstance(name, str):
            raise ModelError(f"{where} is damaged: {name!r} is a name in it, and no text")


def check_sparse(sparse: onnx.SparseTensorProto, what: str) -> int:
    """The bytes that it takes once it is dense; a `ModelError` where it contradicts itself."""
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
