"""What a store asks of its database. SQLite (`intarsia.cost.records.sqlite`) and PostgreSQL
(`intarsia.cost.records.postgres`) answer it alike; whether a row is a record, the store judges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol

from intarsia.errors import IntarsiaError

SCHEMA = 1
"""The format of the table."""
COLUMNS = ("key", "kind", "facts", "outcome", "provenance", "made_at")
OTHER = "; name another with --store"
Row = tuple[str, str, str, str, str, float]
"""A record as it is written, in the order of the columns."""
Found = tuple[object, ...]
"""What is read of a row: bytes where there is a text, as those of a damaged record may be none."""


class LostError(Exception):
    """A database does not answer; its text is what was said.

    Attributes:
        told: Makes the error for the user, with what to do.
    """

    def __init__(self, said: str, told: Callable[[], IntarsiaError]) -> None:
        super().__init__(said)
        self.told = told


class Database(Protocol):
    """One table of records. Each method is one transaction, and raises a `LostError` where it comes to no end.

    Attributes:
        place: What messages call it; it holds no password.
        folder: Where files that belong to the records lie.
    """

    place: str
    folder: Path

    def get(self, key: str) -> Found | None:
        """Kind and outcome of the row with this key."""

    def add(self, rows: Sequence[Row]) -> int:
        """Add rows, all or none; where a key is there already, that row stays. How many were added."""

    def remove(self, key: str, outcome: object = None) -> None:
        """Remove the row with this key; with ``outcome`` only while it says that, byte for byte."""

    def rows(self) -> Sequence[Found]:
        """All of them without their keys, the oldest first, those of one moment in the order of their keys."""

    def clear(self, models: Collection[str] | None) -> int:
        """Remove all rows, or those first made for the models at one of these paths; how many."""

    def count(self) -> int:
        """How many rows there are."""
