"""The record store: one SQLite file, several writers, every measurement kept with what it depends on."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intarsia.cost.record import Key
from intarsia.errors import ConfigError
from intarsia.files import cache_folder, own_cache, temporary_cache
from intarsia.forks import NO_FORK

log = logging.getLogger(__name__)

SCHEMA = 1
STORE = "records.sqlite"
_OTHER = "; name another with --store"
_TABLES = """
CREATE TABLE IF NOT EXISTS record (
    key TEXT PRIMARY KEY,        -- digest of the facts
    kind TEXT NOT NULL,          -- 'piece', 'nodes', 'search' or 'duel'
    facts TEXT NOT NULL,         -- everything the figure depends on, canonical JSON
    outcome TEXT NOT NULL,       -- samples or failure, JSON
    provenance TEXT NOT NULL,    -- where it came from: model, configuration; not part of the key
    made_at REAL NOT NULL        -- seconds since 1970
) STRICT;
"""


Kind = Literal["piece", "nodes", "stages", "first look", "no time", "search", "duel", "footprint", "rough", "accuracy"]
"""What a record is of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row of the store.

    Attributes:
        kind: What it is of.
        facts: Everything the figure depends on; its key.
        outcome: Samples or a failure, or what was concluded from others.
        provenance: Where it came from; not part of the key.
        made_at: Seconds since 1970.
    """

    kind: Kind
    facts: Mapping[str, Any]
    outcome: Mapping[str, Any]
    provenance: Mapping[str, Any]
    made_at: float

    @property
    def row(self) -> tuple[str, str, str, str, str, float]:
        """As the table has it."""
        key = Key(facts=self.facts)
        return (key.digest, self.kind, key.text, json.dumps(self.outcome), json.dumps(self.provenance), self.made_at)


def default_store() -> Path:
    """The store in the user's cache folder."""
    return own_cache() / STORE


def open_store(named: str | os.PathLike[str] | None = None) -> Store:
    """The store that somebody named, else the user's; where that one cannot be used, a temporary one, with a warning.

    Raises:
        ConfigError: The named one cannot be used.
    """
    if named is not None:
        return Store(Path(named))
    path = default_store()
    try:
        if cache_folder() != path.parent:
            raise ConfigError(f"{path.parent} cannot be written to")
        store = Store(path)
        store.folder.mkdir(exist_ok=True)
    except (ConfigError, OSError) as error:
        reason = str(error).removesuffix(_OTHER)
        store = Store(temporary_cache() / STORE)
        log.warning(
            "%s; measurements are kept in %s instead, which may not last; --store, or store= in Python, names another "
            "place",
            reason,
            store.path,
        )
    return store


class Store:
    """Looks up and adds records. A record is added in one transaction: it is there whole, or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute()  # links to what lies beside it stand in other folders
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._connection() as db:
                db.execute("PRAGMA journal_mode=WAL")
                version = db.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, SCHEMA):
                    raise ConfigError(f"{path}: record store of format {version}, this Intarsia reads {SCHEMA}")
                db.executescript(_TABLES)
                db.execute(f"PRAGMA user_version={SCHEMA}")
        except (sqlite3.DatabaseError, OSError) as error:
            raise ConfigError(f"{path}: not a usable record store ({error}){_OTHER}") from error

    @property
    def folder(self) -> Path:
        """Where files that belong to the records lie: reference values, repro scripts, work in progress."""
        return self.path.with_name(f"{self.path.stem}.files")

    def get(self, key: Key) -> Mapping[str, Any] | None:
        """The outcome recorded for these facts."""
        with self._connection() as db:
            row = db.execute("SELECT outcome FROM record WHERE key=?", (key.digest,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, kind: Kind, key: Key, outcome: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Add a record; the first one for a key stays, so that plans made from it stay explained."""
        self.add([Record(kind=kind, facts=key.facts, outcome=outcome, provenance=provenance, made_at=time.time())])

    def add(self, records: Iterable[Record]) -> int:
        """Add records, all in one transaction; how many were not there yet."""
        rows = [record.row for record in records]
        with self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            before = db.total_changes
            db.executemany("INSERT OR IGNORE INTO record VALUES (?,?,?,?,?,?)", rows)
            added = db.total_changes - before
            db.execute("COMMIT")
        return added

    def records(self) -> list[Record]:
        """All of them, the oldest first."""
        with self._connection() as db:
            query = "SELECT kind, facts, outcome, provenance, made_at FROM record ORDER BY made_at, key"
            rows = db.execute(query).fetchall()
        return [
            Record(
                kind=kind, facts=json.loads(facts), outcome=json.loads(outcome), provenance=json.loads(by), made_at=at
            )
            for kind, facts, outcome, by, at in rows
        ]

    def clear(self, models: Collection[str] | None = None) -> int:
        """Remove records; how many. With ``models`` only those that were first made for one of these paths."""
        with self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            if models is None:
                removed = db.execute("DELETE FROM record").rowcount
            else:
                query = "DELETE FROM record WHERE json_extract(provenance, '$.model') = ?"
                removed = sum(db.execute(query, (model,)).rowcount for model in models)
            db.execute("COMMIT")
        return removed

    def count(self) -> int:
        """How many records there are."""
        with self._connection() as db:
            return int(db.execute("SELECT count(*) FROM record").fetchone()[0])

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # A connection per use: a few are made per second at most, and none is held while a worker runs.
        # SQLite's locks are its process's: a child that inherits an open connection would take them for its own.
        with NO_FORK:
            db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            try:
                yield db
            finally:
                db.close()
