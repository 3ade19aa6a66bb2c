"""Reads a large model file in one pass: its weights into one array, and the rest as a message without them.

Protobuf would hold the file, a message with every weight in it, and then each weight as an array: three copies.
The layout of messages is that of https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import BinaryIO, Final, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto

from intarsia.graph.dtypes import dtype_name, numpy_dtype
from intarsia.graph.export import ALIGNMENT

LARGE_FILE: Final = 4 << 20
"""Bytes from which a file is read in this way; of a smaller one all copies are cheap."""
_LARGE_WEIGHT: Final = 1 << 16
_WINDOW: Final = 1 << 16
"""Bytes that are read in one go while fields are looked for."""
_ELSEWHERE: Final = "beside this message"
_GRAPH: Final = 7
"""The number of the field in a model, as `_INITIALIZER` in a graph and `_RAW` in a tensor."""
_INITIALIZER: Final = 5
_RAW: Final = 9
_VARINT, _LENGTH = 0, 2
"""How the content of a field is written; `_FIXED` ways take so many bytes."""
_FIXED: Final = MappingProxyType({1: 8, 5: 4})
_MOVABLE: Final = frozenset(
    {
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT8,
        TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32,
        TensorProto.INT64, TensorProto.UINT64,
    }
)  # fmt: skip
"""Element types whose bytes in a file are those in memory."""


class LargeWeights(NamedTuple):
    """A model in two parts.

    Attributes:
        message: The file without the large weights. Each of these says instead that it is in another file.
        arrays: Their content by name, all in one piece of memory.
    """

    message: bytes
    arrays: dict[str, np.ndarray]


def read_large_weights(file: BinaryIO) -> LargeWeights | None:
    """Read a model from an open file; ``None`` where protobuf is to read it, and to say what is wrong with it.

    Raises:
        OSError: It cannot be read.
    """
    try:
        message, weights = _Model(file).parts()
        return LargeWeights(message, _contents(file, weights))
    except (_OddError, DecodeError):
        return None


class _OddError(Exception):
    """The file is not laid out as a sound one is."""


class _Field(NamedTuple):
    number: int
    kind: int
    begin: int
    content: int
    """Where its content begins, behind the number and the length."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where in the file a weight's content is."""

    name: str
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    nbytes: int


class _Model:
    """A walk through the fields of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begin = 0
        self._window = b""

    def parts(self) -> tuple[bytes, list[_Place]]:
        """The message without large weights, and the places of these."""
        weights: list[_Place] = []
        fields = list(self._fields(0, os.fstat(self._file.fileno()).st_size))
        graphs = [field for field in fields if field.number == _GRAPH]
        if [graph.kind for graph in graphs] != [_LENGTH]:  # protobuf joins several
            raise _OddError
        message = bytearray()
        for field in fields:
            if field.number == _GRAPH:
                message += _encoded(_GRAPH, self._graph(field, weights))
            else:
                message += self._bytes(field.begin, field.end)
        return bytes(message), weights

    def _graph(self, graph: _Field, weights: list[_Place]) -> bytes:
        kept = bytearray()
        for field in self._fields(graph.content, graph.end):
            is_tensor = field.number == _INITIALIZER and field.kind == _LENGTH
            is_large = is_tensor and field.end - field.content >= _LARGE_WEIGHT
            weight = self._weight(field) if is_large else None
            if weight is None:
                kept += self._bytes(field.begin, field.end)
            else:
                tensor, place = weight
                kept += _encoded(_INITIALIZER, tensor)
                weights.append(place)
        return bytes(kept)

    def _weight(self, field: _Field) -> tuple[bytes, _Place] | None:
        """The tensor without its content, and the place of that; ``None`` if it is to stay in the message."""
        raw: _Field | None = None
        rest = bytearray()
        for part in self._fields(field.content, field.end):
            if part.number != _RAW:
                rest += self._bytes(part.begin, part.end)
            elif raw is None and part.kind == _LENGTH:
                raw = part
            else:
                return None
        tensor = TensorProto.FromString(bytes(rest))
        if raw is None or tensor.data_type not in _MOVABLE or _has_more(tensor) or min(tensor.dims, default=0) < 0:
            return None
        dtype = numpy_dtype(dtype_name(tensor.data_type) or "")
        shape, nbytes = tuple(tensor.dims), raw.end - raw.content
        if nbytes != dtype.itemsize * prod(shape) or not isinstance(tensor.name, str):
            return None
        place = _Place(name=tensor.name, offset=raw.content, dtype=dtype, shape=shape, nbytes=nbytes)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=_ELSEWHERE)
        tensor.external_data.add(key="length", value=str(nbytes))
        return tensor.SerializeToString(), place

    def _fields(self, begin: int, end: int) -> Iterator[_Field]:
        at = begin
        while at < end:
            key, content = self._varint(at)
            kind = key & 7
            if kind == _LENGTH:
                length, content = self._varint(content)
                after = content + length
            elif kind == _VARINT:
                _, after = self._varint(content)
            elif kind in _FIXED:
                after = content + _FIXED[kind]
            else:
                raise _OddError
            if after > end:
                raise _OddError
            yield _Field(key >> 3, kind, at, content, after)
            at = after

    def _varint(self, at: int) -> tuple[int, int]:
        """A number, and where what follows it begins."""
        start = at - self._begin
        if not 0 <= start <= len(self._window) - 10:
            self._file.seek(at)
            self._begin, self._window, start = at, self._file.read(_WINDOW), 0
        value = shift = 0
        for place in range(start, min(start + 10, len(self._window))):
            byte = self._window[place]
            value |= (byte & 127) << shift
            if byte < 128:
                return value, self._begin + place + 1
            shift += 7
        raise _OddError

    def _bytes(self, begin: int, end: int) -> bytes:
        start, stop = begin - self._begin, end - self._begin
        if start >= 0 and stop <= len(self._window):
            return self._window[start:stop]
        content = bytearray(end - begin)
        _read(self._file, memoryview(content), begin)
        return bytes(content)


def _has_more(tensor: onnx.TensorProto) -> bool:
    """Whether it says anything else of its content."""
    lists = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data", "external_data")
    return any(map(tensor.HasField, ("segment", "data_location"))) or any(len(getattr(tensor, each)) for each in lists)


def _encoded(number: int, content: bytes) -> bytes:
    """A field of bytes, as protobuf writes it."""
    length, size = bytearray(), len(content)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes((number << 3 | _LENGTH, *length)) + content


def _contents(file: BinaryIO, weights: list[_Place]) -> dict[str, np.ndarray]:
    """Each weight at an address that is a multiple of `ALIGNMENT`, read from the file to where it stays."""
    begins, end = [], 0
    for weight in weights:
        begins.append(end)
        end += weight.nbytes + -weight.nbytes % ALIGNMENT
    memory = np.empty(end + ALIGNMENT, np.uint8)
    memory = memory[-memory.ctypes.data % ALIGNMENT :]
    found = {}
    for weight, begin in zip(weights, begins, strict=True):
        content = memory[begin : begin + weight.nbytes]
        _read(file, content.data, weight.offset)
        found[weight.name] = content.view(weight.dtype).reshape(weight.shape)
    return found


def _read(file: BinaryIO, into: memoryview, offset: int) -> None:
    file.seek(offset)
    while into:
        count = file.readinto(into)  # type: ignore[attr-defined] # that `open` returns has it
        if not count:  # the file became shorter
            raise _OddError
        into = into[count:]
