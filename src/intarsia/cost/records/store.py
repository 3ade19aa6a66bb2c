"""The record store: one database, several writers, every measurement kept with what it depends on.

What is read is checked (`intarsia.cost.records.outcomes`): a record that is not as it was written is none, and makes
way for the next. A store that cannot be read or written any more ends no compile; what it did not take is remembered by
the process.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intarsia.cost.records import outcomes
from intarsia.cost.records.database import OTHER, Database, Found, LostError, Row
from intarsia.cost.records.postgres import Postgres
from intarsia.cost.records.record import Key
from intarsia.cost.records.sqlite import Sqlite
from intarsia.cost.records.store_url import url_of
from intarsia.errors import ConfigError
from intarsia.files import AnyPath, cache_folder, own_cache, temporary_cache

log = logging.getLogger(__name__)

STORE = "records.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row of the store.

    Attributes:
        facts: Everything the figure depends on; its key.
        outcome: Samples or a failure, or what was concluded from others.
        provenance: Where it came from; not part of the key.
        made_at: Seconds since 1970.
    """

    kind: outcomes.Kind
    facts: Mapping[str, Any]
    outcome: Mapping[str, Any]
    provenance: Mapping[str, Any]
    made_at: float

    @property
    def row(self) -> Row:
        """As the table has it."""
        key = Key(facts=self.facts)
        return (key.digest, self.kind, key.text, json.dumps(self.outcome), json.dumps(self.provenance), self.made_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What a store holds.

    Attributes:
        records: The oldest first.
        damaged: How many rows are none.
    """

    records: tuple[Record, ...]
    damaged: int


def open_store(named: AnyPath | None = None) -> Store:
    """The store that somebody named, else the user's; where that one cannot be used, a temporary one, with a warning.

    Raises:
        ConfigError: The named one cannot be used.
        DiskError: Its disk is full, or fails.
        BackendUnavailableError: It is in a database of PostgreSQL, and what speaks with one is not installed.
    """
    if named is not None:
        return Store(named)
    path = own_cache() / STORE
    try:
        if cache_folder() != path.parent:
            raise ConfigError(f"{path.parent} cannot be written to")
        store = Store(path)
        store.folder.mkdir(exist_ok=True)
    except (ConfigError, OSError) as error:
        store = Store(temporary_cache() / STORE)
        log.warning(
            "%s; measurements are kept in %s instead, which may not last; --store, or store= in Python, names another "
            "place",
            str(error).removesuffix(OTHER),
            store.place,
        )
    return store


class Store:
    """Looks up and adds records. A record is added in one transaction: it is there whole, or not at all.

    Attributes:
        named: What opens it again: the path of a file of SQLite, or the URL of a database of PostgreSQL as a text,
            which may hold a password.

    Raises:
        IntarsiaError: There cannot be a store at this place, as `open_store` says; or later, what all records are asked
            of cannot be used.
    """

    def __init__(self, named: AnyPath) -> None:
        url = url_of(named)
        self.named: AnyPath = Path(named).absolute() if url is None else url  # links beside it stand elsewhere
        self._database: Database = Sqlite(Path(self.named)) if url is None else Postgres(url)
        self._unkept: dict[tuple[str, outcomes.Kind], Mapping[str, Any]] = {}
        self._is_lost = False
        self._has_told = False

    @property
    def place(self) -> str:
        """What messages call it: the path of its file, or its URL without a password."""
        return self._database.place

    @property
    def folder(self) -> Path:
        """Where files that belong to the records lie: reference values, repro scripts, work in progress."""
        return self._database.folder

    def get(self, key: Key, kind: outcomes.Kind) -> Mapping[str, Any] | None:
        """The outcome of this kind that is recorded for these facts; ``None`` also if the record is damaged."""
        unkept = self._unkept.get((key.digest, kind))
        if unkept is not None or self._is_lost:
            return unkept
        try:
            row = self._database.get(key.digest)
        except LostError as error:
            self._lose(error)
            return None
        if row is None:
            return None
        try:
            if row[0] != kind.encode():
                raise ValueError(f"it is no record of kind {kind!r}")
            return outcomes.checked_outcome(kind, _text(row[1]))
        except ValueError as error:
            self._discard(key, row[1], outcomes.what_is_wrong(error))
            return None

    def put(self, kind: outcomes.Kind, key: Key, outcome: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        """Add a record; the first one for a key stays, so that plans made from it stay explained.

        Where the store does not take it any more, it is known to this process alone.
        """
        record = Record(kind=kind, facts=key.facts, outcome=outcome, provenance=provenance, made_at=time.time())
        try:
            if not self._is_lost:
                self._database.add([record.row])
                return
        except LostError as error:
            self._lose(error)
        self._unkept.setdefault((key.digest, kind), json.loads(json.dumps(outcome)))

    def discard(self, key: Key, why: str) -> None:
        """Remove a record that is as it should be, but does not fit what it is asked for."""
        self._unkept = {known: outcome for known, outcome in self._unkept.items() if known[0] != key.digest}
        self._discard(key, None, why)

    def add(self, records: Iterable[Record]) -> int:
        """Add records, all in one transaction; how many were not there yet."""
        with _told():
            return self._database.add([record.row for record in records])

    def records(self) -> Records:
        """All of them."""
        with _told():
            rows = self._database.rows()
        found = [_record(row) for row in rows]
        records = tuple(each for each in found if each is not None)
        return Records(records=records, damaged=len(rows) - len(records))

    def clear(self, models: Collection[str] | None = None) -> int:
        """Remove records; how many. With ``models`` only those that were first made for one of these paths."""
        with _told():
            return self._database.clear(models)

    def count(self) -> int:
        """How many records there are."""
        with _told():
            return self._database.count()

    def _discard(self, key: Key, outcome: object, why: str) -> None:
        """Remove a record, so that the next one for its key is kept; only while it says what is known to be wrong."""
        log.info("%s: a record is left out: %s", self.place, why)
        if not self._has_told and not outcomes.is_of_an_earlier_version(why):
            self._has_told = True
            log.warning("%s: a record that is damaged is made anew (%s)", self.place, why)
        if self._is_lost:
            return
        try:
            self._database.remove(key.digest, outcome)
        except LostError as error:
            self._lose(error)

    def _lose(self, error: LostError) -> None:
        """From now on nothing is read from it or written to it: each try would wait for what does not come."""
        if not self._is_lost:
            log.warning(
                "%s: the record store cannot be used any more (%s); measurements are not kept", self.place, error
            )
        self._is_lost = True


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except LostError as error:
        raise error.told() from error


def _record(row: Found) -> Record | None:
    try:
        kind, facts, outcome, provenance, made_at = row
        name = _text(kind).decode()
        if name not in outcomes.KINDS:
            return None
        return Record(
            kind=name,
            facts=outcomes.checked_facts(_text(facts)),
            outcome=outcomes.checked_outcome(name, _text(outcome)),
            provenance=outcomes.checked_provenance(_text(provenance)),
            made_at=outcomes.checked_moment(made_at),
        )
    except ValueError:
        return None


def _text(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("it is no text")
    return value
