# ruff: noqa: D102 - what the methods of each type do is said once, by `OptionType`
"""Types of option values. Each reads and prints its values as text and as JSON data.

Text coerces (``-threads=2`` is an int); data does not (``{"threads": "2"}`` is a problem, and so is ``True``).
A value that cannot be read is noted and read as ``None``, so that the rest of the spec is still looked at.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from intarsia.spec.problems import Problems, Where, shown
from intarsia.spec.syntax import Piece, leaf, print_leaf, split

Value = Any
"""bool, int, float, str, a tuple or read-only mapping of values, or a spec."""

_MOST_DIGITS = 4000  # Python converts no more than 4300 between int and text
_TOO_LARGE = 10**_MOST_DIGITS
_BOOLS = MappingProxyType({"true": True, "1": True, "false": False, "0": False})


class Reader(Protocol):
    """The interface of the spec reader that a type uses for nested values."""

    problems: Problems

    def nested_text(self, level: str, piece: Piece, where: Where, *, in_list: bool) -> Value:
        """The spec of this level written here, or ``None``."""

    def nested_data(self, level: str, data: object, where: Where, *, in_list: bool) -> Value:
        """The spec of this level given here, or ``None``."""

    def split_list(self, level: str, piece: Piece) -> list[Piece]:
        """The specs of a priority list."""


class OptionType(ABC):
    """Reads and prints values of one type."""

    most: ClassVar[int | None] = None
    """How many of them a list may hold; ``None`` for any number."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the type in messages and docs."""

    @abstractmethod
    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """Read a value from text, or record a problem and return ``None``."""

    @abstractmethod
    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """Read a value from data, or record a problem and return ``None``."""

    @abstractmethod
    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        """Return the text that `from_text` reads as this value; ``inside`` a list or map, commas need quotes."""

    def data(self, value: Value) -> Value:
        """Return the JSON data that `from_data` reads as this value."""
        return value

    def split(self, piece: Piece, reader: Reader) -> list[Piece]:
        """The elements of a list of this type."""
        return split(piece, ",")

    @property
    def executes(self) -> bool:
        """Whether values of this type name files that are loaded or run as code; see `ExecutedPath`."""
        return False

    def executed(self, option: str, value: Value) -> Iterator[tuple[str, str]]:
        """Return option and path of each file that this value loads or runs as code, including nested specs."""
        nested = getattr(value, "executed", None)
        return iter(()) if nested is None else nested()


@dataclass(frozen=True, slots=True)
class Bool(OptionType):
    """``true`` or ``false``; in text also ``1``, ``0``, and the bare option for true."""

    label: ClassVar[str] = "bool"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        word = leaf(piece)
        value = _BOOLS.get(word.lower())
        if value is None:
            reader.problems.add(where.on(piece), f"{shown(word)} is not a bool; write true or false{_comma(word)}")
        return value

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        if isinstance(data, bool):
            return data
        return mistyped(data, "bool", where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        return "true" if value else "false"

    def reads(self, word: str) -> bool:
        """Whether the word after a bare option is its value, and not the next option."""
        return word.lower() in _BOOLS


@dataclass(frozen=True, slots=True)
class Int(OptionType):
    """A whole number of any size, not below ``minimum``."""

    minimum: int | None = None

    @property
    def label(self) -> str:
        return "int" if self.minimum is None else f"int ≥ {self.minimum}"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        word = leaf(piece)
        if not re.fullmatch(r"[+-]?[0-9]+", word) or len(word) > _MOST_DIGITS:
            reader.problems.add(where.on(piece), f"cannot parse integer from {shown(word)}{_comma(word)}")
            return None
        return self._bounded(int(word), where.on(piece), reader)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        if isinstance(data, bool) or not isinstance(data, int):
            return mistyped(data, "int", where, reader)
        if abs(data) >= _TOO_LARGE:
            reader.problems.add(where, "the integer has too many digits")
            return None
        return self._bounded(int(data), where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        return str(value)

    def _bounded(self, value: int, where: Where, reader: Reader) -> int | None:
        if self.minimum is not None and value < self.minimum:
            reader.problems.add(where, f"{shown(value)} is too small; the least value is {self.minimum}")
            return None
        return value


@dataclass(frozen=True, slots=True)
class PowerOfTwo(Int):
    """1, 2, 4 and so on: an alignment."""

    minimum: int | None = 1
    maximum: int = 1 << 16

    @property
    def label(self) -> str:
        return "power of 2"

    def _bounded(self, value: int, where: Where, reader: Reader) -> int | None:
        if value > self.maximum:
            reader.problems.add(where, f"{shown(value)} is too large; the greatest value is {self.maximum}")
            return None
        if value > 0 and value & (value - 1):
            below = 1 << (value.bit_length() - 1)
            reader.problems.add(where, f"{shown(value)} is no power of two; {below} and {2 * below} are")
            return None
        return Int._bounded(self, value, where, reader)


@dataclass(frozen=True, slots=True)
class Float(OptionType):
    """A finite number."""

    label: ClassVar[str] = "float"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        word = leaf(piece)
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", word):
            reader.problems.add(where.on(piece), f"cannot parse number from {shown(word)}{_comma(word)}")
            return None
        return self._finite(float(word), where.on(piece), reader)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        if isinstance(data, bool) or not isinstance(data, int | float):
            return mistyped(data, "float", where, reader)
        if isinstance(data, int) and data.bit_length() > 1000:
            return self._finite(math.inf, where, reader)
        return self._finite(float(data), where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        return repr(value)

    def _finite(self, value: float, where: Where, reader: Reader) -> float | None:
        if not math.isfinite(value):
            reader.problems.add(where, "the number must be finite")
            return None
        return value + 0.0  # minus zero means zero, and prints as it


class Word(OptionType):
    """A string that ``checked`` accepts."""

    __slots__ = ()

    def checked(self, word: str, where: Where, reader: Reader) -> str | None:
        """Return the word, or record a problem and return ``None``."""
        return word

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        return self.checked(leaf(piece), where.on(piece), reader)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        if isinstance(data, str):
            return self.checked(str(data), where, reader)
        return mistyped(data, "str", where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        return print_leaf(value)


@dataclass(frozen=True, slots=True)
class Str(Word):
    """Any string."""

    label: ClassVar[str] = "str"


@dataclass(frozen=True, slots=True)
class ExecutedPath(Word):
    """The absolute path of a library that is loaded, or of a program that is run.

    Every option whose value ends as code is declared with this type: by it whoever loads a foreign artifact is asked
    first. A relative path would name another file in each working directory, so there is none.
    """

    label: ClassVar[str] = "absolute path"

    @property
    def executes(self) -> bool:
        return True

    def executed(self, option: str, value: Value) -> Iterator[tuple[str, str]]:
        yield option, value

    def checked(self, word: str, where: Where, reader: Reader) -> str | None:
        is_absolute = PurePosixPath(word).is_absolute() or PureWindowsPath(word).is_absolute()
        if is_absolute and "\0" not in word:
            return word
        what = f"{shown(word)} is not an absolute path; a file that is loaded or run needs its full path"
        reader.problems.add(where, what)
        return None


@dataclass(frozen=True, slots=True)
class Enum(Word):
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def label(self) -> str:
        return " | ".join(self.choices)

    def checked(self, word: str, where: Where, reader: Reader) -> str | None:
        if word in self.choices:
            return word
        hint = reader.problems.nearest(word, self.choices) + _comma(word)
        reader.problems.add(where, f"{shown(word)} is not one of {', '.join(self.choices)}{hint}")
        return None


def mistyped(data: object, wanted: str, where: Where, reader: Reader) -> None:
    """Record that a value has the wrong type."""
    article = "an" if wanted == "int" else "a"
    reader.problems.add(where, f"must be {article} {wanted}, found {shown(data)}")


def _comma(word: str) -> str:
    return "; a comma ends a target only if a blank follows" if "," in word else ""
