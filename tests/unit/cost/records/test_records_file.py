"""Records leave as lines of text and come back the same; what another machine measured stays its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.outcomes import Kind
from intarsia.cost.records.record import Failure, Key, Measurement
from intarsia.cost.records.records_file import (
    Exported,
    Imported,
    export_records,
    import_records,
    machine_name,
    machine_of,
)
from intarsia.cost.records.store import Store
from intarsia.errors import ConfigError, OutputError
from intarsia.runtime.artifact.machine import this_machine

HERE = this_machine().fingerprint
KEY = Key(facts={"graph": "a", "engines": {"mnn": "3.6.1"}, "machine": HERE})
CRASH = Key(facts={"graph": "b", "engines": {"mnn": "3.6.1"}, "machine": HERE})
MEASURED = asdict(Measurement(samples_ms=(1.0, 2.5), compile_s=0.1, load_s=0.2, error=None))

FOOTPRINT: dict[str, Any] = {"cold_s": [0.5], "memory": [{"peak": 100, "steady": 90}]}
OUTCOMES: dict[Kind, dict[str, Any]] = {
    "nodes": {"ms": [1.0, 0.0]},
    "stages": {"stages": 3, "fault": None, "skipped": None, "cause": None},
    "prefilter": {"reason": "too late"},
    "no time": {"budget_s": 5.0},
    "search": {
        "segments": 2,
        "rounds": 1,
        "is_finished": True,
        "candidates": 3,
        "shares": {"mnn": [1.0, None]},
        "known": [[0, 1, "mnn", None, 1.5], [1, 2, "ncnn", "mnn", None]],
        "mixes": [
            {
                "name": "collage",
                "partitions": [["mnn", [0]], ["ncnn", [1]]],
                "spin": "call",
                "embed": False,
                "parallel": False,
                "predicted_ms": [1.0, None],
                "measured_ms": 2.0,
            }
        ],
    },
    "paired_benchmark": {
        "rounds_ms": {"mnn": [1.0, 1.0], "control": [1.0, 1.0]},
        "set_sizes": [2],
        "profile_ms": {"mnn": [1.0]},
        "errors": {"mnn": 0.0},
        "failed": {"ncnn": ["crash", "SIGSEGV"]},
        "causes": {"ncnn": "engine"},
        "is_void": False,
        "footprints": {"mnn": FOOTPRINT},
    },
    "footprint": FOOTPRINT,
    "reduced_precision": {
        "found": [
            {
                "error": 0.01,
                "name": "mnn",
                "label": "mnn",
                "partitions": [["mnn", ["n0", "n1"], [[["n0", "int8-static"]], [["x", -1.0, 1.0]], [["x", "ADw="]]]]],
                "spin": "free",
                "parallel": False,
                "predicted_ms": [1.0],
            }
        ],
        "dropped": [["ncnn", "it is slower"]],
        "reason": "",
    },
    "accuracy": {"max_error": 0.05, "inputs": 8, "worst": {"y": 0.01}, "mean": {"y": 0.005}},
}
"""What a record of each kind but ``partition`` may say."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "ours.sqlite")
    made.put("partition", KEY, MEASURED, {"model": "/home/me/models/net.onnx"})
    crash = Failure(stage="crash", reason="SIGSEGV", cause=Cause.ENGINE, repro="/home/me/repro.py")
    made.put("partition", CRASH, asdict(crash), {"model": None})
    return made


def test_what_was_exported_is_found_where_it_is_imported(store: Store, tmp_path: Path) -> None:
    assert export_records(store, tmp_path / "team.jsonl") == Exported(written=2, damaged=0)
    other = Store(tmp_path / "theirs.sqlite")
    assert import_records(other, tmp_path / "team.jsonl") == Imported(added=2, left_out=0, first="")
    assert import_records(other, tmp_path / "team.jsonl") == Imported(added=0, left_out=0, first="")
    found = other.get(KEY, "partition")
    assert found is not None
    assert found["samples_ms"] == [1.0, 2.5]
    assert [each.made_at for each in other.records().records] == [each.made_at for each in store.records().records]


@pytest.mark.parametrize("kind", OUTCOMES)
def test_records_of_every_kind_leave_and_come_back(kind: Kind, tmp_path: Path) -> None:
    ours, theirs = Store(tmp_path / "ours.sqlite"), Store(tmp_path / "theirs.sqlite")
    ours.put(kind, KEY, OUTCOMES[kind], {"model": None})
    export_records(ours, tmp_path / "team.jsonl")
    import_records(theirs, tmp_path / "team.jsonl")
    assert [(record.kind, record.outcome) for record in theirs.records().records] == [(kind, OUTCOMES[kind])]


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
    assert ours.get(KEY, "partition") is None  # another machine's figure is none of ours
    assert {machine_of(record) for record in ours.records().records} == {("feedfeedfeedfeed", "A board, 4 threads")}
    export_records(ours, file)
    assert json.loads(file.read_text().splitlines()[0])["machines"] == {"feedfeedfeedfeed": "A board, 4 threads"}


def test_of_a_file_of_another_format_nothing_is_taken(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "team.jsonl"
    export_records(store, file)
    file.write_text(file.read_text().replace('"version":2', '"version":7'))
    other = Store(tmp_path / "theirs.sqlite")
    with pytest.raises(ConfigError, match="line 1 is not what"):
        import_records(other, file)
    assert other.count() == 0


SPOILT: dict[str, tuple[Callable[[str], str], int]] = {
    "unknown kind": (lambda text: text.replace('"kind":"partition"', '"kind":"song"', 1), 2),
    "no samples": (lambda text: text.replace("[1.0,2.5]", "[]"), 2),
    "samples that are words": (lambda text: text.replace("[1.0,2.5]", '["a"]'), 2),
    "a time below zero": (lambda text: text.replace("[1.0,2.5]", "[-1]"), 2),
    "a time that is none": (lambda text: text.replace("[1.0,2.5]", "[NaN]"), 2),
    "a time without end": (lambda text: text.replace("[1.0,2.5]", "[1e999]"), 2),
    "a truth for a time": (lambda text: text.replace("[1.0,2.5]", "[true]"), 2),
    "not a measurement": (lambda text: text.replace('"samples_ms"', '"samples"'), 2),
    "an empty outcome": (lambda text: text.replace('"outcome":{"samples_ms"', '"outcome":{},"was":{"samples_ms"'), 2),
    "a failure without a cause": (lambda text: text.replace('"cause":"engine",', ""), 3),
    "a failure of the machine": (lambda text: text.replace('"cause":"engine"', '"cause":"killed"'), 3),
    "control characters": (lambda text: text.replace('"model":"net.onnx"', '"model":"\\u001b[2J"'), 2),
    "a moment that no calendar has": (lambda text: re.sub(r'"made_at":[\d.]+', '"made_at":1e300', text, count=1), 2),
    "facts that are none": (lambda text: text.replace('"engines":{"mnn":"3.6.1"}', '"engines":[1]', 1), 2),
    "cut short": (lambda text: text + "{", 4),
    "nested without end": (lambda text: text + "[" * 100_000, 4),
    "no text": (lambda text: text + "\udcff", 4),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_line_that_is_no_record_is_left_out_and_named(name: str, store: Store, tmp_path: Path) -> None:
    spoil, line = SPOILT[name]
    file = tmp_path / "team.jsonl"
    export_records(store, file)
    file.write_text(spoil(file.read_text()), errors="surrogateescape")
    other = Store(tmp_path / "theirs.sqlite")
    found = import_records(other, file)
    assert found.left_out == 1
    assert found.first.startswith(f"line {line} is not what `tune --export` writes (")
    assert found.added == other.count() == (2 if line == 4 else 1)


def test_a_file_without_a_single_record_is_refused(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "team.jsonl"
    export_records(store, file)
    file.write_text(file.read_text().replace('"made_at"', '"made"'))
    with pytest.raises(ConfigError, match="holds no record that can be used: line 2 is not what"):
        import_records(store, file)


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
