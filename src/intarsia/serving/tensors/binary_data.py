"""Tensors as bytes: little endian, row-major, without gaps; text as a length of four bytes before each element."""

from __future__ import annotations

import struct
from math import prod

import numpy as np

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.statuses import bad
from intarsia.serving.tensors.datatypes import BY_DATATYPE, BYTES

_LENGTH = struct.Struct("<I")


def from_binary(content: bytes | memoryview, datatype: str, shape: tuple[int, ...], where: str) -> np.ndarray:
    """The array that these bytes are, on the same memory where that can be.

    Raises:
        RequestError: They are not as many as the shape says, or not of the datatype.
    """
    if datatype == BYTES:
        return _texts(bytes(content), shape, where)
    dtype = numpy_dtype(BY_DATATYPE[datatype])
    wanted = prod(shape) * dtype.itemsize
    if len(content) != wanted:
        raise bad(f"{where}: {len(content)} bytes, but {datatype} of the shape {list(shape)} takes {wanted}")
    if datatype == "BOOL":
        numbers = np.frombuffer(content, np.uint8)
        if numbers.size and numbers.max() > 1:
            raise bad(f"{where}: a byte of a BOOL is 0 or 1, and one is {numbers.max()}")
    array = np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape)
    return array if array.flags.aligned and array.dtype.isnative else array.astype(dtype)


def to_binary(array: np.ndarray) -> bytes:
    """The bytes of an array."""
    if array.dtype.kind in "OUS":
        encoded = [
            each if isinstance(each, bytes) else str(each).encode(errors="surrogateescape") for each in array.flat
        ]
        return b"".join(part for each in encoded for part in (_LENGTH.pack(len(each)), each))
    little = array if array.dtype.isnative and _LITTLE else array.astype(array.dtype.newbyteorder("<"))
    return little.tobytes()


_LITTLE = np.little_endian


def decoded(element: bytes, where: str) -> str:
    """The text of one element: ONNX's strings are text in UTF-8.

    Raises:
        RequestError: They are other bytes.
    """
    try:
        return element.decode()
    except UnicodeDecodeError as error:
        raise bad(f"{where}: an element is not text in UTF-8 ({error.reason}), as ONNX's strings are") from None


def _texts(content: bytes, shape: tuple[int, ...], where: str) -> np.ndarray:
    found: list[str] = []
    count, place = prod(shape), 0
    while place < len(content):
        if len(found) == count or place + _LENGTH.size > len(content):
            raise bad(f"{where}: {len(content) - place} bytes are left over behind {len(found)} elements")
        (length,) = _LENGTH.unpack_from(content, place)
        place += _LENGTH.size
        if place + length > len(content):
            raise bad(f"{where}: an element has {length} bytes, and {len(content) - place} are left")
        found.append(decoded(content[place : place + length], where))
        place += length
    if len(found) != count:
        raise bad(f"{where}: {len(found)} elements, but the shape {list(shape)} takes {count}")
    array = np.empty(count, object)
    array[:] = found
    return array.reshape(shape)
