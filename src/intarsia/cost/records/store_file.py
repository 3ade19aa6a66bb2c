"""The file of the record store: made, checked, and put aside if it is damaged.

A file that never was a record store is never touched: somebody named it by mistake.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path

from intarsia.cost.records.database import COLUMNS, OTHER, SCHEMA
from intarsia.cost.thresholds import PATIENCE
from intarsia.errors import ConfigError, DiskError, IntarsiaError
from intarsia.files import is_of_disk, replace_file, scratch
from intarsia.forks import NO_FORK

log = logging.getLogger(__name__)
_TABLE = """
CREATE TABLE IF NOT EXISTS record (
    key TEXT PRIMARY KEY,        -- digest of the facts
    kind TEXT NOT NULL,          -- 'partition', 'nodes', 'search' or 'paired_benchmark'
    facts TEXT NOT NULL,         -- everything the figure depends on, canonical JSON
    outcome TEXT NOT NULL,       -- samples or failure, JSON
    provenance TEXT NOT NULL,    -- where it came from: model, configuration; not part of the key
    made_at REAL NOT NULL        -- seconds since 1970
) STRICT;
"""
_MAGIC = b"SQLite format 3\0"
_OF_THE_MOMENT = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_FULL", "SQLITE_IOERR"),
    *("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_NOMEM"),
)
"""Errors of SQLite that the place or another process is to blame for, not what the file holds."""
_OF_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
CHECKED_BYTES = 2**26
"""A store up to this size is checked as a whole whenever it is opened, in 60 ms at most; a larger one once reading it
shows damage. A million records are 1.4 GB, which took 1.4 s."""
_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside a file; parted from it, none of them means anything."""


class _DamagedError(Exception):
    """It was a record store, and cannot be read as one."""


def prepare(path: Path, *, is_suspect: bool = False) -> None:
    """Have a usable record store at a path. One that is damaged is put aside, with a warning, and made anew.

    A large one is checked as a whole only if it ``is_suspect``.

    Raises:
        ConfigError: There is something else, or nothing can be there; the message says what to do.
        DiskError: The disk is full, or fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: not a usable record store (it is no file){OTHER}")
        try:
            _open(path, is_checked=is_suspect or not _is_large(path))
        except _DamagedError as error:
            _put_aside(path, str(error))
            _open(path, is_checked=False)
    except IntarsiaError:
        raise
    except (_DamagedError, sqlite3.Error, OSError) as error:
        raise unusable(path, "not a usable record store", error) from error


def see_to_damage(path: Path, error: Exception) -> None:
    """Have a large store checked that was found damaged while it was used, so that the next compile has a usable one.

    A small one is checked when it is opened the next time.
    """
    if getattr(error, "sqlite_errorname", "").startswith(_OF_DAMAGE) and _is_large(path):
        with suppress(IntarsiaError):
            prepare(path, is_suspect=True)


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size > CHECKED_BYTES
    except OSError:
        return False


def unusable(path: Path, what: str, error: Exception) -> IntarsiaError:
    """The error that the store ended in, as ours: of a disk that is full or fails, or of the place that was named."""
    if is_of_disk(error) if isinstance(error, OSError) else _is_of_its_disk(path, error):
        return DiskError(f"{path}: {what} ({error}); see to its disk, or make room there{OTHER}")
    return ConfigError(f"{path}: {what} ({error}){OTHER}")


def _is_of_its_disk(path: Path, error: Exception) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_FULL", "SQLITE_IOERR")) or (name == "SQLITE_CANTOPEN" and _is_full(path.parent))


def _is_full(folder: Path) -> bool:
    """Whether there is no room for another file: SQLite does not say why it cannot make one."""
    with suppress(OSError):
        try:
            with scratch(folder) as place:
                replace_file(place / "file", b"content")
        except DiskError:
            return True
    return False


def store_folder(path: Path) -> Path:
    """Where files that belong to the records of a store lie."""
    return path.with_name(f"{path.stem}.files")


@contextmanager
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one use: a few are made per second at most, and none is held while a worker runs.

    Texts come as bytes, as those of a damaged record are none.
    """
    # SQLite's locks are its process's: a child that inherits an open connection would take them for its own.
    with NO_FORK, closing(sqlite3.connect(path, timeout=PATIENCE.store_s, isolation_level=None)) as db:
        db.text_factory = bytes
        yield db


def _open(path: Path, *, is_checked: bool) -> None:
    try:
        with connection(path) as db:
            db.execute("PRAGMA journal_mode=WAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA):
                raise ConfigError(f"{path}: record store of format {version}, this Intarsia reads {SCHEMA}{OTHER}")
            tables = {name.decode(errors="replace") for (name,) in db.execute("SELECT name FROM sqlite_master")}
            if version == 0 and tables and "record" not in tables:
                raise ConfigError(f"{path}: not a usable record store (a database of something else){OTHER}")
            db.executescript(_TABLE)
            db.execute(f"PRAGMA user_version={SCHEMA}")
            columns = tuple(row[1].decode(errors="replace") for row in db.execute("PRAGMA table_info(record)"))
            if columns != COLUMNS:
                raise _DamagedError(f"its table has the columns {', '.join(columns)}")
            if is_checked:
                _check(db)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "").startswith(_OF_THE_MOMENT):
            raise
        raise _damage(path, error) from error
    except sqlite3.DatabaseError as error:
        raise _damage(path, error) from error


def _check(db: sqlite3.Connection) -> None:
    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != b"ok":
        raise _DamagedError(found.decode(errors="replace").splitlines()[-1])


def _damage(path: Path, error: sqlite3.Error) -> Exception:
    """The error as one of a damaged store, if the file was one; else as it is."""
    try:
        with path.open("rb") as file:
            was_ours = file.read(len(_MAGIC)) == _MAGIC or store_folder(path).is_dir()
    except OSError:
        was_ours = False
    return _DamagedError(str(error)) if was_ours else sqlite3.DatabaseError(*error.args)


def _put_aside(path: Path, why: str) -> None:
    marks = chain(("damaged",), (f"damaged-{number}" for number in count(2)))
    names = (path.with_name(f"{path.stem}.{mark}{path.suffix}") for mark in marks)
    aside = next(each for each in names if not each.exists())
    for suffix in _BESIDE:
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.replace(aside.with_name(aside.name + suffix))
    log.warning("%s: the record store was damaged (%s); it is now %s, and a new one was begun", path, why, aside.name)
