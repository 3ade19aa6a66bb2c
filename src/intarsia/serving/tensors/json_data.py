"""Tensors as JSON: numbers, truth values or texts, flat or nested as the shape is."""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any

import numpy as np

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.statuses import bad
from intarsia.serving.tensors.datatypes import BF16, BY_DATATYPE, BYTES

_ELEMENTS: dict[str, tuple[frozenset[type], str]] = {
    "b": (frozenset({bool}), "true or false"),
    "i": (frozenset({int}), "whole numbers"),
    "u": (frozenset({int}), "whole numbers"),
    "f": (frozenset({int, float}), "numbers"),
    "O": (frozenset({str}), "texts"),
}
"""Which elements JSON has for each sort of dtype, and what a message calls them."""


def from_json(data: Any, datatype: str, shape: tuple[int, ...], where: str) -> np.ndarray:
    """The array that a value of JSON is.

    Raises:
        RequestError: It is no list, of other elements, or not of the shape.
    """
    if not isinstance(data, list):
        raise bad(f"{where}: the data is a list, flat or nested as the shape is")
    if datatype == BF16:
        raise bad(f"{where}: {BF16} has no form in JSON; send it as binary data")
    flat = _flat(data, shape, where)
    if len(flat) != prod(shape):
        raise bad(f"{where}: {len(flat)} elements, but the shape {list(shape)} takes {prod(shape)}")
    dtype = numpy_dtype(BY_DATATYPE[datatype])
    allowed, called = _ELEMENTS[dtype.kind]
    if others := set(map(type, flat)) - allowed:
        named = ", ".join(sorted("null" if each is type(None) else each.__name__ for each in others))
        raise bad(f"{where}: {datatype} takes {called}, and among the data is {named}")
    if datatype == BYTES:
        _check_text(flat, where)
    try:
        return np.array(flat, dtype).reshape(shape)
    except OverflowError:
        raise bad(f"{where}: a number is outside of the range of {datatype}") from None


def to_json(array: np.ndarray, datatype: str, where: str) -> np.ndarray | list[str]:
    """The elements of an array in a row: numbers as an array, texts as a list.

    Raises:
        RequestError: JSON has no form for one of them.
    """
    if datatype == BF16:
        raise bad(f"{where}: {BF16} has no form in JSON; ask for it with binary_data")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise bad(f"{where}: an element is no finite number, which JSON has no form for; ask for it with binary_data")
    if datatype != BYTES:
        return array.ravel()
    try:
        return [each.decode() if isinstance(each, bytes) else str(each) for each in array.flat]
    except UnicodeDecodeError:
        raise bad(f"{where}: an element is not text in UTF-8; ask for it with binary_data") from None


def _flat(data: list[Any], shape: tuple[int, ...], where: str) -> list[Any]:
    """The elements in a row; a list that is nested must be so as the shape says."""
    if not data or not isinstance(data[0], list) or not shape:
        return data
    level = data
    if len(level) != shape[0]:
        raise bad(f"{where}: nested data of the shape {list(shape)} begins with {shape[0]} lists, and not {len(level)}")
    for size in shape[1:]:
        if not all(isinstance(each, list) and len(each) == size for each in level):
            raise bad(f"{where}: nested data of the shape {list(shape)} has lists of {size} at one of its levels")
        level = list(chain.from_iterable(level))
    return level


def _check_text(flat: list[str], where: str) -> None:
    try:
        for each in flat:
            each.encode()
    except UnicodeEncodeError:
        raise bad(f"{where}: a text holds half of a surrogate pair, which is no text") from None
