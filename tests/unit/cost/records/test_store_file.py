"""Whatever lies where the store should be: there is a usable store or one clear error, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from intarsia.cost.records import store_file
from intarsia.cost.records.database import COLUMNS
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store
from intarsia.cost.thresholds import PATIENCE
from intarsia.errors import ConfigError

KEY = Key(facts={"n": 1})
ROW = {"ms": [1.5]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a record."""
    Store(tmp_path / "r.sqlite").put("nodes", KEY, ROW, {})
    return tmp_path / "r.sqlite"


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def test_what_is_no_database_stays_as_it_is(tmp_path: Path) -> None:
    text = tmp_path / "model.onnx"
    text.write_text("somebody's model" * 99)
    with pytest.raises(ConfigError, match=r"not a usable record store .*name another with --store"):
        Store(text)
    assert text.read_text() == "somebody's model" * 99
    with pytest.raises(ConfigError, match="it is no file"):
        Store(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="it is no file"):
        Store(tmp_path / "pipe")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    sql(tmp_path / "theirs.db", "CREATE TABLE places (id)")
    before = (tmp_path / "theirs.db").read_bytes()
    with pytest.raises(ConfigError, match="a database of something else"):
        Store(tmp_path / "theirs.db")
    assert (tmp_path / "theirs.db").read_bytes()[100:] == before[100:]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: os.truncate(path, 4096 + 100),
    "only its first page": lambda path: os.truncate(path, 4096),
    "another table": lambda path: sql(path, "DROP TABLE record", "CREATE TABLE record (a, b)"),
    "a view": lambda path: sql(path, "DROP TABLE record", "CREATE VIEW record AS SELECT 1 AS key"),
    "pages of noise": lambda path: path.write_bytes(path.read_bytes()[:4096] + random.Random(0).randbytes(8192)),
    "no database any more": lambda path: path.write_text("x" * 5000),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_put_aside_and_begun_anew(path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    path.with_name("r.files").mkdir()
    sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    DAMAGES[damage](path)
    spoilt = path.read_bytes()
    store = Store(path)
    assert (store.count(), store.get(KEY, "nodes")) == (0, None)
    assert "the record store was damaged" in caplog.text
    assert "r.damaged.sqlite" in caplog.text
    assert path.with_name("r.damaged.sqlite").read_bytes()[100:4096] == spoilt[100:4096]
    store.put("nodes", KEY, ROW, {})
    assert Store(path).get(KEY, "nodes") == ROW
    DAMAGES[damage](path)
    Store(path)
    assert path.with_name("r.damaged-2.sqlite").exists()


def test_a_large_store_is_checked_once_reading_it_shows_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store_file, "CHECKED_BYTES", 4096)
    sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    DAMAGES["pages of noise"](path)
    store = Store(path)
    assert not caplog.text
    assert store.get(KEY, "nodes") is None
    assert "r.damaged.sqlite" in caplog.text
    assert "cannot be used any more" in caplog.text
    Store(path).put("nodes", KEY, ROW, {})
    assert Store(path).get(KEY, "nodes") == ROW


def test_what_a_writer_left_beside_it_is_fixed_by_the_database(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).write_bytes(b"noise" * 999)
    assert Store(path).get(KEY, "nodes") == ROW


def test_a_store_that_another_holds_is_told_in_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_file, "PATIENCE", replace(PATIENCE, store_s=0.05))
    store = Store(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        store.put("nodes", Key(facts={"n": 2}), ROW, {})
        assert store.get(Key(facts={"n": 2}), "nodes") == ROW  # known to this process
        with pytest.raises(ConfigError, match="database is locked"):
            store.add([])
    assert Store(path).get(Key(facts={"n": 2}), "nodes") is None


def test_a_store_that_vanishes_or_breaks_ends_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(path)
    for beside in path.parent.glob("r.sqlite*"):
        beside.unlink()
    path.write_text("noise" * 2000)
    assert store.get(KEY, "nodes") is None
    store.put("nodes", KEY, ROW, {})
    assert store.get(KEY, "nodes") == ROW
    assert caplog.text.count("cannot be used any more") == 1
    for ask in (store.records, store.count, store.clear):
        with pytest.raises(ConfigError, match="cannot be used"):
            ask()


def write(path: Path, column: str, value: object) -> None:
    """Put a value where a hand or a disk could have put it, whatever the table's types."""
    with closing(sqlite3.connect(path)) as db:
        row = dict(zip(COLUMNS, db.execute("SELECT * FROM record").fetchone(), strict=True))
        db.execute("DROP TABLE record")
        db.execute(f"CREATE TABLE record ({', '.join(COLUMNS)}, PRIMARY KEY (key))")
        db.execute("INSERT INTO record VALUES (?,?,?,?,?,?)", tuple((row | {column: value}).values()))
        db.commit()


@pytest.mark.parametrize(
    "value", ["{", "[]", "null", '{"ms": [-1]}', '{"ms": ["a"]}', "{}", b"\xff\xfe", 7, None, "[" * 9999]
)
def test_a_record_that_is_none_is_absent_and_makes_way(path: Path, value: object) -> None:
    write(path, "outcome", value)
    store = Store(path)
    assert store.records().damaged == 1
    assert store.get(KEY, "nodes") is None
    store.put("nodes", KEY, ROW, {})
    assert Store(path).get(KEY, "nodes") == ROW


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("kind", value) for value in ("song", b"\xff", None, 3)),
        *(("facts", value) for value in ("[]", "{}", "{", b"\xff", '{"engines": 3}', '{"machine": []}')),
        *(("provenance", value) for value in ("[]", "{", '{"model": 3}', '{"model": "\\u001b[2J"}', None)),
        *(("made_at", value) for value in ("noon", float("inf"), -1.0, 1e300, None, b"")),
    ],
)
def test_a_row_that_cannot_be_told_is_counted(path: Path, column: str, value: object) -> None:
    write(path, column, value)
    store = Store(path)
    assert (store.records().records, store.records().damaged) == ((), 1)
    assert store.clear(["a model"]) == 0
    assert store.clear() == 1


def test_a_record_of_another_kind_answers_nothing(path: Path) -> None:
    store = Store(path)
    assert store.get(KEY, "partition") is None
    store.put("nodes", KEY, ROW, {})
    assert store.get(KEY, "nodes") == ROW


def test_a_failure_without_a_cause_is_of_an_earlier_version_and_asked_again(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = {"stage": "crash", "reason": "the process was killed by SIGKILL", "repro": None}
    store = Store(path)
    sql(path, f"UPDATE record SET kind='partition', outcome='{json.dumps(old)}'")
    assert store.get(KEY, "partition") is None
    assert store.count() == 0
    assert caplog.text == ""


def test_only_the_record_that_was_seen_to_be_damaged_goes(path: Path) -> None:
    """Another process may have made it anew between the look and the removal."""
    store = Store(path)
    store._discard(KEY, b"what was seen before", "damaged")
    assert store.get(KEY, "nodes") == ROW
    store.discard(KEY, "it is of other plans")
    assert store.get(KEY, "nodes") is None
