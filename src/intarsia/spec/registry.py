"""Named things that plug-ins and users may add to: the kinds of a level, and the tags of all levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TypeVar

from intarsia.errors import SpecError

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A read-only table with one explicit way to add a row.

    Adding swaps the whole table for a new one, so a reader in another thread sees the old or the new, never a mixture.
    """

    __slots__ = ("_rows", "_word")

    def __init__(self, word: str, rows: Mapping[str, T] | None = None) -> None:
        self._word = word
        self._rows: Mapping[str, T] = MappingProxyType(dict(rows or {}))

    def __getitem__(self, name: str) -> T:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def register(self, name: str, row: T, *, override: bool = False) -> None:
        """Add a row.

        Raises:
            SpecError: The name is taken and ``override`` was not asked for.
        """
        if name in self and not override:
            raise SpecError(f"{self._word} {name!r} has been previously defined; pass override=True to replace it")
        self._rows = MappingProxyType({**self._rows, name: row})

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo on leaving what is registered inside."""
        before = self._rows
        try:
            yield
        finally:
            self._rows = before
