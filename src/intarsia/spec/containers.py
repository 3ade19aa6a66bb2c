# ruff: noqa: D102 - what the methods of each type do is said once, by `OptionType`
"""Types of option values that hold others: lists, maps and nested specs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType
from typing import ClassVar

from intarsia.spec.problems import Where
from intarsia.spec.syntax import Piece, divide, layer, leaf, print_container, print_leaf, split
from intarsia.spec.types import OptionType, Reader, Value, mistyped

MOST_SPECS = 200
"""In one list: far more than a machine has, and few enough for any text to be read in a blink."""


class Order(StrEnum):
    """What the order of a list's elements means."""

    KEPT = "ordered"
    FREE = "unordered"
    """Printed sorted, each element once."""
    SIGNED = "by sign"
    """Elements ``+x`` and ``-x``: the last mention of ``x`` wins, sorted within runs of one sign."""


@dataclass(frozen=True, slots=True)
class ListOf(OptionType):
    """Elements of one type."""

    element: OptionType
    order: Order = Order.KEPT

    @property
    def label(self) -> str:
        return f"list of {self.element.label}, {self.order}"

    @property
    def executes(self) -> bool:
        return self.element.executes

    def executed(self, option: str, value: Value) -> Iterator[tuple[str, str]]:
        for item in value:
            yield from self.element.executed(option, item)

    def _are_too_many(self, count: int, where: Where, reader: Reader) -> bool:
        most = self.element.most
        if most is None or count <= most:
            return False
        reader.problems.add(where, f"the list has {count} elements; one machine has at most {most}")
        return True

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        inner = layer(piece)
        if reader.problems.are_quotes_open(where, inner):
            return None
        parts = self.element.split(inner, reader)
        if self._are_too_many(len(parts), where, reader):
            return None
        return self._all(self.element.from_text(part, where.item(i).on(part), reader) for i, part in enumerate(parts))

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        if isinstance(data, str | bytes) or not isinstance(data, Sequence):
            return mistyped(data, "list", where, reader)
        if self._are_too_many(len(data), where, reader):
            return None
        return self._all(self.element.from_data(item, where.item(i), reader) for i, item in enumerate(data))

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        body = ",".join(self.element.text(item, tags=tags, inside=True) for item in value)
        return print_container(body, inside=inside)

    def data(self, value: Value) -> Value:
        return [self.element.data(item) for item in value]

    def _all(self, items: Iterable[Value]) -> tuple[Value, ...] | None:
        read = list(items)
        if any(item is None for item in read):
            return None
        if self.order is Order.FREE:
            read = list({self.element.text(item): item for item in read}.values())
            return tuple(sorted(read, key=self.element.text))
        return last_signs(read) if self.order is Order.SIGNED else tuple(read)


def last_signs(items: Iterable[str]) -> tuple[str, ...]:
    """The list with only the last mention of each feature kept, and each run of equal signs sorted."""
    last: dict[str, str] = {}
    for item in items:
        name = item[1:] if item[:1] in {"+", "-"} else item
        last.pop(name, None)
        last[name] = item
    runs = groupby(last.values(), key=lambda item: item[:1] if item[:1] in {"+", "-"} else "")
    return tuple(item for _, run in runs for item in sorted(run))


@dataclass(frozen=True, slots=True)
class MapOf(OptionType):
    """A map from strings to values of one type, written ``name=value, …``. Order has no meaning."""

    value: OptionType

    @property
    def label(self) -> str:
        return f"map to {self.value.label}"

    @property
    def executes(self) -> bool:
        return self.value.executes

    def executed(self, option: str, value: Value) -> Iterator[tuple[str, str]]:
        for item in value.values():
            yield from self.value.executed(option, item)

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        inner = layer(piece)
        if reader.problems.are_quotes_open(where, inner):
            return None
        entries: list[tuple[str, Value]] = []
        for part in split(inner, ","):
            name, value = divide(part, "=")
            if value is None:
                reader.problems.add(where.on(part), "write an entry of a map as name=value")
                entries.append(("", None))
                continue
            key = leaf(name)
            entries.append((key, self.value.from_text(value, where.field(key).on(value), reader)))
        return self._all(entries, where, reader)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        if not isinstance(data, Mapping):
            return mistyped(data, "map", where, reader)
        entries: list[tuple[str, Value]] = []
        for key, value in data.items():
            if isinstance(key, str):
                entries.append((str(key), self.value.from_data(value, where.field(key), reader)))
            else:
                mistyped(key, "str", where, reader)
                entries.append(("", None))
        return self._all(entries, where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        entries = (
            f"{print_leaf(key, shun='=')}={self.value.text(item, tags=tags, inside=True)}"
            for key, item in value.items()
        )
        return print_container(",".join(entries), inside=inside)

    def data(self, value: Value) -> Value:
        return {key: self.value.data(item) for key, item in value.items()}

    def _all(self, entries: Sequence[tuple[str, Value]], where: Where, reader: Reader) -> Mapping[str, Value] | None:
        if any(value is None for _, value in entries):
            return None
        table = dict(sorted(entries, key=lambda entry: entry[0]))
        if len(table) < len(entries):
            reader.problems.add(where, "a name appears more than once")
            return None
        return MappingProxyType(table)


class NestedType(OptionType):
    """A value that prints and exports itself, as specs do."""

    __slots__ = ()
    most: ClassVar[int | None] = MOST_SPECS

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        return print_container(value.text(tags=tags), inside=inside)

    def data(self, value: Value) -> Value:
        return value.export()


@dataclass(frozen=True, slots=True)
class SpecOf(NestedType):
    """A nested spec of the named level. As an element of a list it may be placed (``opencl:1``)."""

    level: str
    in_list: bool = False

    @property
    def label(self) -> str:
        return self.level

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        return reader.nested_text(self.level, piece, where.deeper(), in_list=self.in_list)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        return reader.nested_data(self.level, data, where.deeper(), in_list=self.in_list)

    def split(self, piece: Piece, reader: Reader) -> list[Piece]:
        return reader.split_list(self.level, piece) if piece.text else []


def list_of_specs(level: str) -> ListOf:
    """An ordered list of specs of one level, each of which may be placed."""
    return ListOf(SpecOf(level, in_list=True))
