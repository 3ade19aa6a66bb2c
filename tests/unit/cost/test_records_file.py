"""Records leave as lines of text and come back the same; what another machine measured stays its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from intarsia.cost.record import Failure, Key, Measurement, to_json
from intarsia.cost.records_file import export_records, import_records, machine_name, machine_of
from intarsia.cost.store import Kind, Store
from intarsia.errors import ConfigError, OutputError
from intarsia.runtime.machine import this_machine

HERE = this_machine().fingerprint
KEY = Key(facts={"graph": "a", "engines": {"mnn": "3.6.1"}, "machine": HERE})
CRASH = Key(facts={"graph": "b", "engines": {"mnn": "3.6.1"}, "machine": HERE})
MEASURED = to_json(Measurement(samples_ms=(1.0, 2.5), compile_s=0.1, load_s=0.2, error=None))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "ours.sqlite")
    made.put("piece", KEY, MEASURED, {"model": "/home/me/models/net.onnx"})
    crash = Failure(stage="crash", reason="SIGSEGV", repro="/home/me/repro.py")
    made.put("piece", CRASH, to_json(crash), {"model": None})
    return made


def test_what_was_exported_is_found_where_it_is_imported(store: Store, tmp_path: Path) -> None:
    assert export_records(store, tmp_path / "team.jsonl") == 2
    other = Store(tmp_path / "theirs.sqlite")
    assert import_records(other, tmp_path / "team.jsonl") == 2
    assert import_records(other, tmp_path / "team.jsonl") == 0
    found = other.get(KEY)
    assert found is not None
    assert found["samples_ms"] == [1.0, 2.5]
    assert [record.made_at for record in other.records()] == [record.made_at for record in store.records()]


@pytest.mark.parametrize("kind", [each for each in get_args(Kind) if each != "piece"])
def test_records_of_every_kind_leave_and_come_back(kind: Kind, tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours.sqlite"), Store(tmp_path / "theirs.sqlite")
    ours.put(kind, KEY, {"told": 1}, {"model": None})
    export_records(ours, tmp_path / "team.jsonl")
    import_records(theirs, tmp_path / "team.jsonl")
    assert [(record.kind, record.outcome) for record in theirs.records()] == [(kind, {"told": 1})]


def test_no_path_of_this_machine_leaves(store: Store, tmp_path: Path) -> None:
    export_records(store, tmp_path / "team.jsonl")
    text = (tmp_path / "team.jsonl").read_text()
    assert "/home/me" not in text
    assert '"model":"net.onnx"' in text


def test_another_machine_keeps_its_name_and_its_records(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "team.jsonl"
    export_records(store, file)
    file.write_text(file.read_text().replace(HERE, "feedfeedfeedfeed").replace(machine_name(), "A board, 4 threads"))
    ours = Store(tmp_path / "new.sqlite")
    import_records(ours, file)
    assert ours.get(KEY) is None  # another machine's figure is none of ours
    assert {machine_of(record) for record in ours.records()} == {("feedfeedfeedfeed", "A board, 4 threads")}
    export_records(ours, file)
    assert json.loads(file.read_text().splitlines()[0])["machines"] == {"feedfeedfeedfeed": "A board, 4 threads"}


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda text: text.replace('"version":1', '"version":7'), 1),
        (lambda text: text.replace('"kind":"piece"', '"kind":"song"', 1), 2),
        (lambda text: text.replace('"samples_ms"', '"samples"'), 2),
        (lambda text: text + "{", 4),
    ],
    ids=["another format", "unknown kind", "not a measurement", "cut short"],
)
def test_of_a_file_that_is_wrong_nothing_is_taken(
    spoil: Callable[[str], str], line: int, store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "team.jsonl"
    export_records(store, file)
    file.write_text(spoil(file.read_text()))
    other = Store(tmp_path / "theirs.sqlite")
    with pytest.raises(ConfigError, match=f"line {line} is not what"):
        import_records(other, file)
    assert other.count() == 0


def test_a_file_that_is_not_there_or_empty_is_told(tmp_path: Path, store: Store) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        import_records(store, tmp_path / "none.jsonl")
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(ConfigError, match="holds no records"):
        import_records(store, tmp_path / "none.jsonl")
    with pytest.raises(OutputError, match="cannot write"):
        export_records(store, tmp_path / "no" / "such" / "folder")


def test_records_are_removed_by_the_model_that_they_were_made_for(store: Store) -> None:
    assert store.clear(["net.onnx"]) == 0
    assert store.clear(["/home/me/models/net.onnx"]) == 1
    assert store.clear() == 1
    assert store.count() == 0
