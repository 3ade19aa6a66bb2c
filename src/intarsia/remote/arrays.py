"""Arrays by name as bytes: a head in JSON, then what each holds, in the order of the machine's least byte first."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np

from intarsia import json_types
from intarsia.json_types import Fault, Field
from intarsia.runtime.dtypes import numpy_dtype

_LENGTH: Final = struct.Struct("<I")
_STRING: Final = "string"
_TEXT: Final = ("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Arrays, and facts beside them."""

    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    arrays: tuple[_Row, ...]
    facts: Mapping[str, Any]


_ROW = json_types.record(
    _Row,
    {
        "name": json_types.text,
        "dtype": json_types.text,
        "shape": json_types.several(json_types.count),
        "nbytes": json_types.count,
    },
)
_HEAD = json_types.record(
    _Head, {"arrays": json_types.several(_ROW), "facts": Field(json_types.table(json_types.anything), {})}
)


def packed(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any] | None = None) -> bytes:
    """Arrays as bytes; `unpacked` gives them back."""
    contents = {name: _content(array) for name, array in arrays.items()}
    rows = [
        {
            "name": name,
            "dtype": _STRING if array.dtype.kind in "OUS" else array.dtype.name,
            "shape": list(array.shape),
            "nbytes": len(contents[name]),
        }
        for name, array in arrays.items()
    ]
    head = json.dumps({"arrays": rows, "facts": dict(facts or {})}).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *contents.values()))


def unpacked(content: bytes) -> Packed:
    """What was packed; a ``ValueError`` that says what is wrong where it was not, or not whole."""
    if len(content) < _LENGTH.size:
        raise ValueError("the arrays are cut short")
    (length,) = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    faults: list[Fault] = []
    head: _Head = _HEAD(json_types.parsed(content[_LENGTH.size : start]), "arrays", faults)
    if faults:
        raise ValueError("; ".join(f"{at}: {what}" for at, what in faults))
    found = {}
    for row in head.arrays:
        end = start + row.nbytes
        if end > len(content):
            raise ValueError(f"{row.name}: cut short")
        found[row.name] = _array(row, content[start:end])
        start = end
    return Packed(arrays=found, facts=head.facts)


def _content(array: np.ndarray) -> bytes:
    if array.dtype.kind not in "OUS":
        in_order = array.astype(array.dtype.newbyteorder("<")) if array.dtype.byteorder == ">" else array
        return np.ascontiguousarray(in_order).tobytes()
    texts = [each if isinstance(each, bytes) else str(each).encode(*_TEXT) for each in array.reshape(-1).tolist()]
    return b"".join((*(_LENGTH.pack(len(text)) for text in texts), *texts))


def _array(row: _Row, content: bytes) -> np.ndarray:
    count = prod(row.shape)
    if row.dtype == _STRING:
        return _strings(row, content, count)
    try:
        dtype = numpy_dtype(row.dtype)
    except (AttributeError, TypeError):
        raise ValueError(f"{row.name}: no element type is called {row.dtype!r}") from None
    if dtype.hasobject or count * dtype.itemsize != row.nbytes:
        raise ValueError(f"{row.name}: {row.nbytes} bytes are no {row.dtype} of shape {list(row.shape)}")
    return np.frombuffer(content, dtype).reshape(row.shape).copy()


def _strings(row: _Row, content: bytes, count: int) -> np.ndarray:
    start = count * _LENGTH.size
    if start > len(content):
        raise ValueError(f"{row.name}: cut short")
    lengths = [_LENGTH.unpack_from(content, place * _LENGTH.size)[0] for place in range(count)]
    if start + sum(lengths) != len(content):
        raise ValueError(f"{row.name}: its texts are of another length than it says")
    found = np.empty(count, object)
    for place, length in enumerate(lengths):
        found[place] = content[start : start + length].decode(*_TEXT)
        start += length
    return found.reshape(row.shape)
