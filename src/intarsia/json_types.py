"""Types of JSON values: they check files that anybody may have made.

A type is a function of a value, its place in the document, and a list of faults. It returns the value as code wants it
(lists as tuples, objects as frozen values), or adds a fault to the list. Nothing is converted: ``"2"`` is no integer,
and ``true`` is none either. Types are plain functions because a run reads its manifest by them and must start fast.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

Fault = tuple[str, str]
"""Where in the document, as a JSON path below its root, and what is wrong there."""
JsonType = Callable[[Any, str, list[Fault]], Any]

_SHOWN = 60
_MOST = 2**46


class Field(NamedTuple):
    """A field of an object that may be left out, and what it is then."""

    type: JsonType
    default: Any


Fields = Mapping[str, JsonType | Field]


def parsed(content: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        ValueError: It is none, is nested too deeply, or holds characters that no text can have.
    """
    try:
        value = json.loads(content.decode())
        if b"\\u" in content:  # the only way to half a character
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def text(value: Any, at: str, faults: list[Fault]) -> Any:
    """Text."""
    return _checked(value, isinstance(value, str), "a string", at, faults)


def flag(value: Any, at: str, faults: list[Fault]) -> Any:
    """``true`` or ``false``."""
    return _checked(value, isinstance(value, bool), "a boolean", at, faults)


def integer(value: Any, at: str, faults: list[Fault]) -> Any:
    """A whole number of any size and sign."""
    return _checked(value, isinstance(value, int) and not isinstance(value, bool), "an integer", at, faults)


def count(value: Any, at: str, faults: list[Fault]) -> Any:
    """A number of bytes or elements: from 0 to 64 TiB, of which 64 bits hold every sum."""
    is_one = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return _checked(value, is_one, f"an integer from 0 to {_MOST}", at, faults)


def number(value: Any, at: str, faults: list[Fault]) -> Any:
    """A number, which may be no finite one."""
    is_one = isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool))
    try:
        return float(value) if is_one else _checked(value, False, "a number", at, faults)
    except OverflowError:
        return _checked(value, False, "a number", at, faults)


def anything(value: Any, at: str, faults: list[Fault]) -> Any:
    """Whatever it is: somebody else checks it."""
    return value


def optional(type_: JsonType) -> JsonType:
    """A value of a type, or ``null``."""
    return lambda value, at, faults: None if value is None else type_(value, at, faults)


def either(first: JsonType, second: JsonType) -> JsonType:
    """A value of one of two types; the fault of any other value is that of the second type."""

    def read(value: Any, at: str, faults: list[Fault]) -> Any:
        tried: list[Fault] = []
        found = first(value, at, tried)
        return second(value, at, faults) if tried else found

    return read


def word(choices: type[StrEnum]) -> JsonType:
    """One of a few words."""
    known = {each.value: each for each in choices}

    def read(value: Any, at: str, faults: list[Fault]) -> Any:
        is_one = isinstance(value, str) and value in known
        return known[value] if is_one else _checked(value, False, f"one of {', '.join(known)}", at, faults)

    return read


def several(type_: JsonType) -> JsonType:
    """A list of values of one type, as a tuple."""

    def read(value: Any, at: str, faults: list[Fault]) -> Any:
        if not isinstance(value, list | tuple):
            return _checked(value, False, "a list", at, faults)
        return tuple(type_(each, f"{at}[{place}]", faults) for place, each in enumerate(value))

    return read


def row(*types: JsonType) -> JsonType:
    """A list with one value of each of these types, as a tuple."""

    def read(value: Any, at: str, faults: list[Fault]) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(types):
            return _checked(value, False, f"a list of {len(types)}", at, faults)
        pairs = zip(types, value, strict=True)
        return tuple(type_(each, f"{at}[{place}]", faults) for place, (type_, each) in enumerate(pairs))

    return read


def table(type_: JsonType) -> JsonType:
    """An object whose values are of one type, by any name."""

    def read(value: Any, at: str, faults: list[Fault]) -> Any:
        if not isinstance(value, Mapping):
            return _checked(value, False, "an object", at, faults)
        return {name: type_(each, _below(at, name), faults) for name, each in value.items()}

    return read


def record(make: Callable[..., Any], fields: Fields, *, is_open: bool = False) -> JsonType:
    """An object with these fields, as the value that ``make`` makes of them.

    Args:
        make: Called with the fields by name, once all of them are right; a ``ValueError`` of it is a fault.
        is_open: Whether it may have other fields too, which nobody looks at.
    """

    def read(value: Any, at: str, faults: list[Fault]) -> Any:
        if not isinstance(value, Mapping):
            return _checked(value, False, "an object", at, faults)
        before = len(faults)
        found = {}
        for name, field in fields.items():
            type_ = field.type if isinstance(field, Field) else field
            if name in value:
                found[name] = type_(value[name], _below(at, name), faults)
            elif isinstance(field, Field):
                found[name] = field.default
            else:
                faults.append((_below(at, name), "it is missing"))
        if not is_open:
            faults += [(_below(at, name), "there is no such field") for name in value if name not in fields]
        if len(faults) > before:
            return None
        try:
            return make(**found)
        except ValueError as error:
            faults.append((at, str(error)))
            return None

    return read


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _checked(value: Any, is_right: bool, wanted: str, at: str, faults: list[Fault]) -> Any:
    if is_right:
        return value
    shown = json.dumps(value, ensure_ascii=True)
    faults.append((at, f"must be {wanted}, found {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}"))
    return None
