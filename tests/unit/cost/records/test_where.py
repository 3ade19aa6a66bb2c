"""Which records a condition chooses: by what was measured, and by the configuration that it was measured for."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from intarsia.config import CompilationConfig
from intarsia.cost.records.record import Key
from intarsia.cost.records.records_file import export_records, import_records
from intarsia.cost.records.store import Record, Store
from intarsia.cost.records.where import config_of, parse_where
from intarsia.cost.worker.repro import Origin
from intarsia.errors import ConfigError, SpecError

OUTCOME = {"samples_ms": [1.0], "compile_s": 0.1, "load_s": 0.1, "error": None, "is_complete": True, "allowed": None}
CONFIG = CompilationConfig.of("openvino, aws/c5.4xlarge")


def record(target: str, config: CompilationConfig | None = CONFIG, model: str | None = "/here/net.onnx") -> Record:
    facts: dict[str, Any] = {"graph": "g", "partitions": [[target, [0]]], "engines": {target.split()[0]: "1"}}
    provenance = Origin(model=model, config="" if config is None else config.json()).provenance
    return Record(kind="partition", facts=facts, outcome=OUTCOME, provenance=provenance, made_at=1.0)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("target=openvino", True),
        ("target=aws/c5.4xlarge", True),
        ("target=aws/c5", True),
        ("target=llvm -num-cores=8", True),
        ("target=llvm", True),
        ("target=mnn -precision=low", True),
        ("target=mnn -precision=high", False),
        ("target=ncnn", False),
        ("target=aws/c5.2xlarge", False),
        ("target=openvino, aws/c5.4xlarge", True),
        ("target=openvino, ncnn", False),
        ("config=openvino, aws/c5.4xlarge", True),
        ("config=openvino", False),
        ("engine=mnn", True),
        ("engine=m*", True),
        ("engine=openvino", False),
        ("model=net.onnx", True),
        ("model=n*", True),
        ("model=/here/net.onnx", False),
        ("kind=partition", True),
        ("kind=nodes", False),
        ("machine=*", True),
        ("machine=nobody's", False),
    ],
)
def test_a_condition(where: str, chosen: bool) -> None:
    assert parse_where(where).holds(record("mnn -precision=low")) is chosen


def test_what_an_engine_generates_code_for_counts() -> None:
    found = record("mnn -base='llvm -mcpu=haswell -num-cores=2'", None)
    assert parse_where("target=llvm -mcpu=haswell").holds(found)
    assert not parse_where("target=llvm -mcpu=znver3").holds(found)


def test_older_records_have_no_configuration() -> None:
    found = record("mnn", None)
    assert config_of(found) is None
    assert parse_where("target=mnn").holds(found)
    assert not parse_where("config=mnn").holds(found)


@pytest.mark.parametrize("target", [None, 3, "no such kind", ["mnn"]])
def test_facts_that_name_no_target_are_passed_over(target: object) -> None:
    facts = {"graph": "g", "partitions": [[target, [0]]]}
    found = Record(kind="partition", facts=facts, outcome=OUTCOME, provenance={}, made_at=1.0)
    assert not parse_where("target=mnn").holds(found)


@pytest.mark.parametrize(
    ("where", "error", "words"),
    [
        ("target", ConfigError, "write FIELD=VALUE"),
        ("target=", ConfigError, "write FIELD=VALUE"),
        ("targets=mnn", ConfigError, "did you mean 'target'"),
        ("target=mnm", SpecError, "mnm"),
    ],
)
def test_what_is_no_condition(where: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        parse_where(where)


def filled(path: Path) -> Store:
    store = Store(path)
    for each in (record("mnn"), record("openvino", None), record("ncnn", CompilationConfig.of("ncnn"))):
        store.put(each.kind, Key(facts=each.facts), each.outcome, each.provenance)
    return store


def test_the_configuration_leaves_and_comes_back(tmp_path: Path) -> None:
    store, other = filled(tmp_path / "a.sqlite"), Store(tmp_path / "b.sqlite")
    assert export_records(store, tmp_path / "all.jsonl").written == 3
    assert import_records(other, tmp_path / "all.jsonl").added == 3
    assert [config_of(each) for each in other.records().records] == [CONFIG, None, CompilationConfig.of("ncnn")]


def test_only_what_is_wanted_is_exported(tmp_path: Path) -> None:
    wanted = parse_where("target=aws/c5.4xlarge")
    assert export_records(filled(tmp_path / "a.sqlite"), tmp_path / "some.jsonl", wanted.holds).written == 1
    _, line = (tmp_path / "some.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["facts"]["partitions"] == [["mnn", [0]]]


def test_it_is_no_part_of_the_key(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.sqlite")
    facts = record("mnn").facts
    assert store.get(Key(facts=facts), "partition") == OUTCOME
    store.put("partition", Key(facts=facts), OUTCOME, Origin(model=None, config='{"targets": ["mnn"]}').provenance)
    assert store.count() == 3


def test_files_and_stores_of_before_are_read(tmp_path: Path) -> None:
    store = filled(tmp_path / "a.sqlite")
    with sqlite3.connect(store.place) as db:  # as they were written: with a model alone
        db.execute('UPDATE record SET provenance = \'{"model": "/old/net.onnx"}\'')
    found = Store(store.place).records()
    assert (len(found.records), found.damaged) == (3, 0)
    assert {config_of(each) for each in found.records} == {None}
    export_records(store, tmp_path / "new.jsonl")
    header, *lines = (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()
    older = [json.dumps(json.loads(header) | {"version": 1})]
    older += [
        json.dumps({name: value for name, value in json.loads(line).items() if name != "config"}) for line in lines
    ]
    (tmp_path / "old.jsonl").write_text("\n".join(older), encoding="utf-8")
    assert import_records(Store(tmp_path / "b.sqlite"), tmp_path / "old.jsonl").added == 3
