"""Records are kept whole, once, and survive a killed writer."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.outcomes import value_of
from intarsia.cost.records.record import Failure, Key, Measurement
from intarsia.cost.records.store import Store, open_store
from intarsia.errors import ConfigError

MEASURED = Measurement(samples_ms=(1.5, 2.0, 1.75), compile_s=0.1, load_s=0.2, error=1e-6)


def key(number: int) -> Key:
    return Key(facts={"n": number, "engine": "x"})


def test_a_record_comes_back(place: str) -> None:
    store = Store(place)
    assert store.get(key(1), "partition") is None
    store.put("partition", key(1), asdict(MEASURED), {"model": "m"})
    found = store.get(key(1), "partition")
    assert found is not None
    assert value_of("partition", found) == MEASURED
    assert Store(place).count() == 1


def test_failures_are_records_too() -> None:
    failure = Failure(stage="crash", reason="SIGSEGV", cause=Cause.ENGINE, repro="x.py")
    assert value_of("partition", asdict(failure)) == failure
    assert failure.cost_ms == float("inf")


def test_a_folder_for_the_store_is_made(tmp_path: Path) -> None:
    assert Store(tmp_path / "new" / "records.sqlite").count() == 0


def test_the_first_record_of_a_key_stays(place: str) -> None:
    store = Store(place)
    store.put("nodes", key(1), {"ms": [1]}, {})
    store.put("nodes", key(1), {"ms": [2]}, {})
    assert store.get(key(1), "nodes") == {"ms": [1]}


def test_facts_in_any_order_are_one_key() -> None:
    assert Key(facts={"a": 1, "b": 2}).digest == Key(facts={"b": 2, "a": 1}).digest
    assert Key(facts={"a": 1}).digest != Key(facts={"a": 2}).digest


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(ConfigError, match="not a usable record store"):
        Store(path)


def test_a_store_of_the_future_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.sqlite")
    with sqlite3.connect(store.place) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(ConfigError, match="format 99"):
        Store(store.place)


WRITER = """
import sys
from dataclasses import asdict
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store
store = Store(sys.argv[1])
for n in range(100000):
    store.put("nodes", Key(facts={"n": n}), {"ms": [n] * 200}, {})
    print(n, flush=True)
"""


def test_writers_killed_at_any_moment_leave_whole_records_and_lose_none(place: str) -> None:
    rng = random.Random(0)
    kept = -1
    for _ in range(2):
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, place], stdout=subprocess.PIPE) for _ in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.1))
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            told = writer.communicate()[0].rpartition(b"\n")[0].splitlines()
            kept = max(kept, *map(int, told or [b"0"]))
    store = Store(place)
    count = store.count()
    assert count > kept
    assert all(store.get(Key(facts={"n": n}), "nodes") == {"ms": [n] * 200} for n in range(count))


def test_a_store_that_is_named_from_here_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compile links the reference's values into its folder of work: a link that led nowhere left them unchecked."""
    monkeypatch.chdir(tmp_path)
    store = Store(Path("r.sqlite"))
    assert (store.place, store.folder) == (str(tmp_path / "r.sqlite"), tmp_path / "r.files")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_user_s_store_is_taken_where_it_can_be_used(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert open_store().place == str(tmp_path / "cache" / "intarsia" / "records.sqlite")
    assert open_store(tmp_path / "named.sqlite").place == str(tmp_path / "named.sqlite")
    assert caplog.records == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("cause", ["no folder", "damaged", "full"])
def test_without_a_usable_cache_there_is_a_temporary_store_and_a_remark(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cause: str
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    match cause:
        case "no folder":
            cache.touch()
        case "damaged":
            (cache / "intarsia").mkdir(parents=True)
            (cache / "intarsia" / "records.sqlite").write_text("no database" * 99)
        case "full":
            opened = sqlite3.connect

            def full(path: Path, *args: Any, **settings: Any) -> Any:
                if cache in Path(path).parents:
                    raise sqlite3.OperationalError("database or disk is full")
                return opened(path, *args, **settings)

            monkeypatch.setattr(sqlite3, "connect", full)
    store = open_store()
    assert temporary in Path(store.place).parents
    store.put("partition", key(1), asdict(MEASURED), {})
    assert store.count() == 1
    [remark] = caplog.messages
    assert str(cache / "intarsia") in remark
    assert f"measurements are kept in {store.place} instead" in remark
    assert remark.count("--store") == 1


def test_a_store_that_somebody_named_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="not a usable record store"):
        open_store(tmp_path / "file" / "records.sqlite")
