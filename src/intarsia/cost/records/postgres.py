"""Records in a database of PostgreSQL: the store of a fleet."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from intarsia.cost.records.database import COLUMNS, OTHER, SCHEMA, Found, LostError, Row
from intarsia.cost.records.postgres_connection import PostgresConnection
from intarsia.cost.records.postgres_failures import GRANT, TABLE
from intarsia.cost.records.store_url import StoreUrl
from intarsia.cost.thresholds import PATIENCE
from intarsia.errors import ConfigError
from intarsia.files import cache_folder

if TYPE_CHECKING:
    from psycopg import Connection

_TYPES = ("text", "text", "text", "text", "text", "double precision")
_MARK = "records of Intarsia, format "
"""What the comment on the table says before the format, by which it is known for ours."""
_CREATE = f"""
CREATE TABLE {TABLE} (
    key text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    facts text NOT NULL,
    outcome text NOT NULL,
    provenance text NOT NULL,
    made_at double precision NOT NULL
);
COMMENT ON TABLE {TABLE} IS '{_MARK}{SCHEMA}'
"""
_CREATORS = 0x696E7461
"""The advisory lock that whoever makes the table holds: of two, one finds it made."""
_LOOK = f"""
SELECT obj_description(c.oid, 'pg_class'),
    ARRAY(SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
          WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum),
    has_table_privilege(c.oid, 'SELECT')
        AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'DELETE')
FROM pg_class c WHERE c.oid = to_regclass('{TABLE}')
"""


class Postgres:
    """The table in a database; it is made where there is none.

    Raises:
        ConfigError: The URL is none, or there cannot be a store in that database; the message says what to do.
        DiskError: The disk of the server is full, or fails.
        BackendUnavailableError: psycopg is not installed.
    """

    def __init__(self, url: StoreUrl) -> None:
        self._connection = PostgresConnection(url)
        self.place = self._connection.place
        name = sha256(self.place.encode()).hexdigest()[:16]
        self.folder = cache_folder() / "stores" / f"{name}.files"
        try:
            self._connection.ask(self._prepare)
        except LostError as error:
            raise error.told() from error

    def get(self, key: str) -> Found | None:
        """Kind and outcome of the row with this key."""
        query = f"SELECT kind, outcome FROM {TABLE} WHERE key = %s"
        found: Found | None = self._connection.ask(lambda db: db.execute(query, (key,)).fetchone())
        return found

    def add(self, rows: Sequence[Row]) -> int:
        """Add rows whose keys are not there yet, in one transaction."""
        query = f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
        if len(rows) == 1:
            return self._connection.ask(lambda db: int(db.execute(query, rows[0]).rowcount))
        by_key = sorted(rows, key=lambda row: row[0])
        return self._connection.ask(lambda db: _add(db, query, by_key), is_limited=False)

    def remove(self, key: str, outcome: object = None) -> None:
        """Remove a row, if it says this."""
        query = (
            f"DELETE FROM {TABLE} WHERE key = %s "
            "AND (%s::bytea IS NULL OR convert_to(outcome, getdatabaseencoding()) = %s::bytea)"
        )
        self._connection.ask(lambda db: db.execute(query, (key, outcome, outcome)))

    def rows(self) -> Sequence[Found]:
        """All rows without their keys."""
        query = f"SELECT kind, facts, outcome, provenance, made_at FROM {TABLE} ORDER BY made_at, key"
        return self._connection.ask(lambda db: db.execute(query).fetchall(), is_limited=False)

    def clear(self, models: Collection[str] | None) -> int:
        """Remove all rows, or those made for some models."""
        return self._connection.ask(lambda db: _clear(db, models), is_limited=False)

    def count(self) -> int:
        """How many rows there are."""
        query = f"SELECT count(*) FROM {TABLE}"
        ((found,),) = self._connection.ask(lambda db: db.execute(query).fetchall(), is_limited=False)
        return int(found)

    def _prepare(self, db: Connection[Any]) -> None:
        found = db.execute(_LOOK).fetchone()
        if found is None:
            with db.transaction():
                db.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATORS,))
                found = db.execute(_LOOK).fetchone()
                if found is None:
                    db.execute(_CREATE)
        if found is not None:
            self._check(*found)
        ((only_reads,),) = db.execute("SHOW transaction_read_only").fetchall()
        if only_reads == b"on":
            db.execute(f"DELETE FROM {TABLE} WHERE false")  # which tells why not

    def _check(self, comment: bytes | None, columns: Sequence[bytes], may_write: bool) -> None:
        mark, ours, format_ = (comment or b"").decode(errors="replace").partition(_MARK)
        if not ours or mark:
            raise ConfigError(f"{self.place}: not a usable record store (its {TABLE} is something else's){OTHER}")
        if format_ != str(SCHEMA):
            raise ConfigError(f"{self.place}: record store of format {format_}, this Intarsia reads {SCHEMA}{OTHER}")
        names = [column.decode(errors="replace") for column in columns]
        if names != [f"{name} {type_}" for name, type_ in zip(COLUMNS, _TYPES, strict=True)]:
            told = f"its table {TABLE} has the columns {', '.join(names)}; restore it, or drop it to begin anew"
            raise ConfigError(f"{self.place}: not a usable record store ({told}){OTHER}")
        if not may_write:
            raise ConfigError(f"{self.place}: not a usable record store (the role may not write to it; {GRANT}){OTHER}")


def _add(db: Connection[Any], query: str, rows: Sequence[Row]) -> int:
    """Add rows that are in the order of their keys, so that of two who add the same ones only one waits."""
    with db.transaction(), db.cursor() as cursor:
        db.execute(f"SET LOCAL lock_timeout = '{PATIENCE.store_s}s'")
        cursor.executemany(query, rows)
        return max(0, int(cursor.rowcount))


def _clear(db: Connection[Any], models: Collection[str] | None) -> int:
    if models is None:
        return int(db.execute(f"DELETE FROM {TABLE}").rowcount)
    query = f"SELECT key, provenance FROM {TABLE} WHERE strpos(provenance, %s) > 0"
    with db.transaction():
        found = [row for model in models for row in db.execute(query, (json.dumps(model),)).fetchall()]
        # What is no JSON would end a query that asks for a field of it, so the field is looked at here.
        keys = [key.decode() for key, provenance in found if _model_of(provenance) in models]
        return int(db.execute(f"DELETE FROM {TABLE} WHERE key = ANY(%s)", (keys,)).rowcount)


def _model_of(provenance: bytes) -> object:
    try:
        found = json.loads(provenance)
    except ValueError:
        return None
    return found.get("model") if isinstance(found, dict) else None
