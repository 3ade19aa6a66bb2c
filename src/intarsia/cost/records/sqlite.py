"""Records in a file of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from intarsia.cost.records.database import Found, LostError, Row
from intarsia.cost.records.store_file import connection, prepare, see_to_damage, store_folder, unusable


class Sqlite:
    """The database in a file at an absolute path, which is made where there is none.

    Raises:
        ConfigError: There cannot be one at this path.
        DiskError: The disk is full, or fails.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place = str(self._path)
        self.folder = store_folder(self._path)
        prepare(self._path)

    def get(self, key: str) -> Found | None:
        """Kind and outcome of the row with this key."""
        with self._asked() as db:
            found: Found | None = db.execute("SELECT kind, outcome FROM record WHERE key=?", (key,)).fetchone()
        return found

    def add(self, rows: Sequence[Row]) -> int:
        """Add rows whose keys are not there yet, in one transaction."""
        with self._asked() as db:
            db.execute("BEGIN IMMEDIATE")
            before = db.total_changes
            db.executemany("INSERT OR IGNORE INTO record VALUES (?,?,?,?,?,?)", rows)
            added = db.total_changes - before
            db.execute("COMMIT")
        return added

    def remove(self, key: str, outcome: object = None) -> None:
        """Remove a row, if it says this."""
        with self._asked() as db:
            # By their bytes: a text and a blob with the same ones are not equal.
            query = "DELETE FROM record WHERE key=? AND (? IS NULL OR CAST(outcome AS BLOB) IS CAST(? AS BLOB))"
            db.execute(query, (key, outcome, outcome))

    def rows(self) -> Sequence[Found]:
        """All rows without their keys."""
        with self._asked() as db:
            query = "SELECT kind, facts, outcome, provenance, made_at FROM record ORDER BY made_at, key"
            return db.execute(query).fetchall()

    def clear(self, models: Collection[str] | None) -> int:
        """Remove all rows, or those made for some models."""
        with self._asked() as db:
            db.execute("BEGIN IMMEDIATE")
            if models is None:
                removed = db.execute("DELETE FROM record").rowcount
            else:
                query = (
                    "DELETE FROM record WHERE CASE WHEN json_valid(provenance) "
                    "THEN json_extract(provenance, '$.model') = ? ELSE 0 END"
                )
                removed = sum(db.execute(query, (model,)).rowcount for model in models)
            db.execute("COMMIT")
        return removed

    def count(self) -> int:
        """How many rows there are."""
        with self._asked() as db:
            return int(db.execute("SELECT count(*) FROM record").fetchone()[0])

    @contextmanager
    def _asked(self) -> Iterator[sqlite3.Connection]:
        try:
            with connection(self._path) as db:
                yield db
        except (sqlite3.Error, OSError, OverflowError) as caught:
            error = caught
            see_to_damage(self._path, error)
            told = "the record store cannot be used"
            raise LostError(str(error), lambda: unusable(self._path, told, error)) from error
