"""SQLite and PostgreSQL answer a store alike, and records go from one to the other and back unchanged."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.cost.records.record import Key
from intarsia.cost.records.records_file import export_records, import_records
from intarsia.cost.records.store import Record, Store
from tests.postgres import Cluster
from tests.unit.cost.records.test_records_file import OUTCOMES

ROW = {"ms": [1.5]}
MODELS = ("/models/a.onnx", "/models/b.onnx", "/models/ünïcødé.onnx", 'with "signs" \\ and %s.onnx')


def key(number: int) -> Key:
    return Key(facts={"n": number, "näme": "é\u0000\ud800"})  # signs that no text of a database could hold as they are


def spoil(store: Store, number: int, outcome: str) -> None:
    """Write what no record says, as a hand could."""
    place, digest = store.place, key(number).digest
    if not place.startswith("postgresql:"):
        with closing(sqlite3.connect(place)) as db:
            db.execute("UPDATE record SET outcome = ? WHERE key = ?", (outcome, digest))
            db.commit()
        return
    import psycopg

    with psycopg.connect(place, autocommit=True) as server:
        server.execute("UPDATE intarsia_record SET outcome = %s WHERE key = %s", (outcome, digest))


def content(store: Store) -> tuple[Any, ...]:
    """All that it holds, but for the times."""
    found = store.records()
    rows = sorted((each.row[:-1] for each in found.records), key=str)
    return rows, found.damaged, store.count()


def test_a_record_is_added_once(place: str) -> None:
    store = Store(place)
    records = [
        Record(kind="nodes", facts={"n": n % 3}, outcome={"ms": [n]}, provenance={"model": None}, made_at=float(n))
        for n in range(9)
    ]
    assert store.add(records) == 3
    assert store.add(reversed(records)) == 0
    assert [each.outcome["ms"] for each in store.records().records] == [[0], [1], [2]]
    assert store.add([]) == 0


def test_a_damaged_record_is_absent_and_makes_way(place: str, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(place)
    store.put("nodes", key(1), ROW, {})
    spoil(store, 1, "{ü")
    assert store.records().damaged == 1
    assert store.get(key(1), "nodes") is None
    assert "a record that is damaged is made anew" in caplog.text
    assert store.count() == 0
    store.put("nodes", key(1), ROW, {})
    assert Store(place).get(key(1), "nodes") == ROW


def test_only_the_record_that_was_seen_to_be_damaged_goes(place: str) -> None:
    """Another process may have made it anew between the look and the removal."""
    store = Store(place)
    store.put("nodes", key(1), ROW, {})
    store._discard(key(1), b"what was seen \xff before", "damaged")
    assert store.get(key(1), "nodes") == ROW
    store.discard(key(1), "it is of other plans")
    assert store.get(key(1), "nodes") is None


def test_a_record_of_another_kind_answers_nothing(place: str) -> None:
    store = Store(place)
    store.put("prefilter", key(1), {"reason": "slow"}, {})
    assert store.get(key(1), "nodes") is None
    store.put("nodes", key(1), ROW, {})
    assert store.get(key(1), "nodes") == ROW


def test_the_records_of_a_model_are_removed(place: str) -> None:
    store = Store(place)
    for number, model in enumerate(MODELS):
        store.put("nodes", key(number), ROW, {"model": model})
    store.put("nodes", key(9), ROW, {})
    assert store.clear(["a.onnx"]) == 0
    assert store.clear(MODELS[1:]) == 3
    assert store.get(key(0), "nodes") == ROW
    assert store.clear() == 2


def test_threads_share_a_store(place: str) -> None:
    store = Store(place)
    found: list[object] = []

    def write(first: int) -> None:
        for number in range(first, first + 10):
            store.put("nodes", key(number), {"ms": [first]}, {})
            found.append(store.get(key(number), "nodes"))

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 5, 5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 30
    assert None not in found
    assert store.count() == 15


NUMBERS = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("put"), NUMBERS, st.integers(0, 5), st.sampled_from(MODELS)),
    st.tuples(st.just("get"), NUMBERS),
    st.tuples(st.just("discard"), NUMBERS),
    st.tuples(st.just("spoil"), NUMBERS, st.sampled_from(["{", "[]", '{"ms": [-1]}', "é"])),
    st.tuples(st.just("add"), st.lists(st.tuples(NUMBERS, st.integers(0, 5)), max_size=4)),
    st.tuples(st.just("clear"), st.none() | st.lists(st.sampled_from(MODELS), max_size=2)),
)


def step(store: Store, name: str, arguments: tuple[Any, ...]) -> object:
    match name, *arguments:
        case "put", number, ms, model:
            store.put("nodes", key(number), {"ms": [ms]}, {"model": model})
        case "get", number:
            return store.get(key(number), "nodes")
        case "discard", number:
            store.discard(key(number), "a reason")
        case "spoil", number, outcome:
            spoil(store, number, outcome)
        case "add", rows:
            return store.add(
                Record(kind="nodes", facts=key(n).facts, outcome={"ms": [ms]}, provenance={"model": None}, made_at=1.0)
                for n, ms in rows
            )
        case "clear", models:
            return store.clear(models)
    return None


@pytest.fixture(scope="module")
def both(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    return Store(tmp_path_factory.mktemp("law") / "r.sqlite"), Store(cluster.url(cluster.schema()))


@given(steps=st.lists(STEPS, max_size=12))
@settings(max_examples=40)
def test_any_sequence_gives_the_same_on_both(both: tuple[Store, Store], steps: list[tuple[Any, ...]]) -> None:
    for store in both:
        store.clear()
    for name, *arguments in steps:
        sqlite, postgres = (step(store, name, tuple(arguments)) for store in both)
        assert sqlite == postgres
    assert content(both[0]) == content(both[1])


def test_records_move_to_postgresql_and_back(cluster: Cluster, tmp_path: Path) -> None:
    ours = Store(tmp_path / "ours.sqlite")
    for kind, outcome in OUTCOMES.items():
        ours.put(kind, Key(facts={"of": kind, "machine": "m"}), outcome, {"model": "/models/a.onnx"})
    hops: list[Callable[[], Store]] = [
        lambda: Store(cluster.url(cluster.schema())),
        lambda: Store(tmp_path / "back.sqlite"),
    ]
    files, store = [], ours
    for number, following in enumerate([*hops, None]):
        files.append(tmp_path / f"{number}.jsonl")
        assert export_records(store, files[-1]).written == len(OUTCOMES)
        if following is not None:
            store = following()
            assert import_records(store, files[-1]).added == len(OUTCOMES)
    assert len({file.read_bytes() for file in files}) == 1
    for kind in OUTCOMES:
        asked = Key(facts={"of": kind, "machine": "m"})
        assert store.get(asked, kind) == ours.get(asked, kind) is not None
