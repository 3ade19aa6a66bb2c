"""The connection is opened again, given up in time, and never shared with a fork."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from intarsia.cost.records import postgres, postgres_connection
from intarsia.cost.records.postgres_connection import PostgresConnection
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Record, Store
from intarsia.cost.records.store_url import StoreUrl
from intarsia.cost.thresholds import PATIENCE
from intarsia.errors import ConfigError
from tests.postgres import PATIENCE_S, Cluster, running

ROW = {"ms": [1.5]}
FORKING = """
import os, sys
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store
store, row = Store(sys.argv[1]), {"ms": [1.5]}
store.put("nodes", Key(facts={"n": 0}), row, {})
for number in range(1, 4):
    child = os.fork()
    if not child:
        store.put("nodes", Key(facts={"n": number}), row, {})
        sys.exit(store.get(Key(facts={"n": number - 1}), "nodes") != row)  # its end is an ordinary one
    assert os.waitpid(child, 0)[1] == 0
    assert store.get(Key(facts={"n": number}), "nodes") == row
print(store.count())
"""


def key(number: int) -> Key:
    return Key(facts={"n": number})


def record(number: int) -> Record:
    return Record(kind="nodes", facts={"n": number}, outcome=ROW, provenance={}, made_at=1.0)


def wait(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have a server waited for this long from now on."""
    for module in (postgres, postgres_connection):
        monkeypatch.setattr(module, "PATIENCE", replace(PATIENCE, store_s=seconds))


@pytest.fixture
def own() -> Iterator[Cluster]:
    """A server that is killed."""
    with running() as made:
        yield made


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://u:secret@h:1/d", "postgresql://u@h:1/d"),
        ("postgres://h", "postgresql://h/"),
        ("postgresql:///d", "postgresql:///d"),
        ("postgresql://h/d?sslmode=require&password=secret", "postgresql://h/d?sslmode=require"),
        ("postgresql://u%40x:secret@h1,h2:2/d%20d", "postgresql://u%40x@/d%20d?host=h1,h2&port=,2"),
        (
            "postgresql://u@/d?host=/tmp/a&application_name=secret",
            "postgresql://u@/d?application_name=secret&host=/tmp/a",
        ),
        ("postgresql://[::1]:7/d", "postgresql:///d?host=::1&port=7"),
    ],
)
def test_the_place_is_the_url_without_the_password(url: str, place: str) -> None:
    pytest.importorskip("psycopg")
    assert PostgresConnection(StoreUrl(url)).place == place
    assert PostgresConnection(StoreUrl(place)).place == place


@pytest.mark.parametrize("url", ["postgresql://u:se%zzcret@h/d", "postgresql://h/d?secret=1", "postgresql://[secret/d"])
def test_what_is_no_url_is_told_without_it(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(ConfigError, match="this is no URL of a database; write postgresql://USER@HOST") as told:
        PostgresConnection(StoreUrl(url))
    assert "cret" not in str(told.value)
    assert told.value.__cause__ is None


def test_a_server_that_is_not_there_is_told(tmp_path: os.PathLike[str]) -> None:
    pytest.importorskip("psycopg")
    for place in ("127.0.0.1:1/d", f"/d?host={tmp_path}", "nowhere.invalid/d"):
        with pytest.raises(ConfigError, match=r"not a usable record store \(.*; name another with --store") as told:
            Store(f"postgresql://u:secret@{place}")
        assert "secret" not in str(told.value)


def test_a_server_that_does_not_answer_is_given_up() -> None:
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ConfigError, match="timeout"):
        Store(f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=2")


def test_forks_have_connections_of_their_own(cluster: Cluster) -> None:
    line = [sys.executable, "-W", "error", "-c", FORKING, cluster.url(cluster.schema())]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_a_connection_that_is_cut_is_opened_again(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(cluster.url(cluster.schema()))
    for number in range(3):
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'intarsia'"
        cluster.sql(cut)
        store.put("nodes", key(number), ROW, {})
        assert store.get(key(number), "nodes") == ROW
    assert store.count() == 3
    assert caplog.text == ""


def test_one_connection_serves_a_process(cluster: Cluster) -> None:
    store = Store(f"{cluster.url(cluster.schema())}&application_name=counted")
    asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'counted'"
    first = cluster.sql(asked)
    for number in range(3):
        store.put("nodes", key(number), ROW, {})
    assert len(first) == 1
    assert cluster.sql(asked) == first
    del store
    end = time.monotonic() + PATIENCE_S
    while cluster.sql(asked):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_record_that_another_is_writing_is_waited_for_and_given_up(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import psycopg

    schema = cluster.schema()
    store, other = Store(cluster.url(schema)), Store(cluster.url(schema))
    other.put("nodes", key(2), ROW, {})
    with psycopg.connect(cluster.url(schema)) as theirs:
        theirs.execute("INSERT INTO intarsia_record VALUES (%s, 'nodes', '{}', '{}', '{}', 1.0)", (key(1).digest,))
        wait(monkeypatch, 0.5)
        store.put("nodes", key(1), ROW, {})
        assert store.get(key(1), "nodes") == ROW  # known to this process
        assert caplog.text.count("cannot be used any more") == 1
        with pytest.raises(ConfigError, match=r"cannot be used .*another process holds its records"):
            other.add([record(1), record(3)])
        theirs.rollback()
    assert Store(cluster.url(schema)).get(key(2), "nodes") == ROW


@pytest.mark.slow
def test_a_server_that_hangs_or_goes_ends_no_compile(
    own: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = own.url(own.schema())
    hung, gone = Store(url), Store(url)
    wait(monkeypatch, 0.5)
    own.pause()
    hung.put("nodes", key(1), ROW, {})
    own.resume()
    own.kill()
    assert gone.get(key(1), "nodes") is None
    gone.put("nodes", key(1), ROW, {})
    for store in (hung, gone):
        assert store.get(key(1), "nodes") == ROW
        store.discard(key(1), "it is of other plans")
        assert store.get(key(1), "nodes") is None
        with pytest.raises(ConfigError, match="the record store cannot be used"):
            store.count()
    assert caplog.text.count("cannot be used any more") == 2
    own.start()
    wait(monkeypatch, PATIENCE_S)
    assert gone.count() == Store(url).count()


@pytest.mark.slow
def test_a_server_killed_under_load_loses_no_record_that_was_taken(
    own: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait(monkeypatch, PATIENCE_S)
    url = own.url(own.schema())
    rng, stop = random.Random(0), threading.Event()
    taken: list[list[int]] = [[], []]
    stores = [Store(url) for _ in taken]

    def write(which: int) -> None:
        number = which
        while not stop.is_set():
            stores[which].add([record(number)])
            taken[which].append(number)
            number += len(taken)

    writers = [threading.Thread(target=write, args=(which,)) for which in range(len(taken))]
    for each in writers:
        each.start()
    for _ in range(3):
        before = min(map(len, taken))
        end = time.monotonic() + PATIENCE_S
        while min(map(len, taken)) < before + 5:  # both go on: a server that comes back in time is waited for
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.1))
        own.kill()
        own.start()
    stop.set()
    for each in writers:
        each.join()
    store = Store(url)
    assert store.records().damaged == 0
    assert all(store.get(key(number), "nodes") == ROW for numbers in taken for number in numbers)
