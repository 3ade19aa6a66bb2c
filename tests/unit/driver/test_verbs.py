"""What is refused is refused before anything is measured; models that are tuned share the budget."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from intarsia import driver
from intarsia.cost.thresholds import PATIENCE
from intarsia.devices import Constraint
from intarsia.driver import CompileSettings, verbs
from intarsia.errors import ConfigError, Interrupted, MissingStageError, ModelError, PlanError
from intarsia.partitioning import Partitioning, parse_plan
from intarsia.target import Target
from tests.unit.graph.models import two_layers


def refused(tmp_path: Path, **settings: Any) -> None:
    driver.compile(two_layers(), "reference", store=tmp_path / "records.sqlite", **settings)


@pytest.fixture(autouse=True)
def _no_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    def measurer(*_: object) -> None:
        raise AssertionError("something was about to be measured")

    monkeypatch.setattr("intarsia.driver.stages.Measurer", measurer)
    monkeypatch.setattr("intarsia.cost.worker.lock.PATIENCE", replace(PATIENCE, lock_s=0.05))


def test_a_plan_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("absent.yaml", "binary.yaml"):
        with pytest.raises(PlanError, match=rf"{name}: cannot be read"):
            refused(tmp_path, partition="manual", plan=tmp_path / name)


@pytest.mark.parametrize("threads", [-1, 1025, 10**9])
def test_a_thread_count_that_makes_no_sense(tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intarsia.cost.worker.lock.lock_path", lambda: tmp_path / "lock")
    with pytest.raises(ConfigError, match=f"{threads} threads: give a number from 1 on"):
        refused(tmp_path, partition="single", threads=threads)
    assert list((tmp_path / "records.files" / "work").iterdir()) == []


def test_a_refused_compile_leaves_no_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        refused(tmp_path, partition="best")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_compiled_here_is_planned_and_nothing_is_measured(tmp_path: Path) -> None:
    config = {
        "targets": ["reference"],
        "executor": "graph -link-params=true",
        "devices": {"one": "cpu:0", "two": "cpu:1"},
    }
    resolved = [Constraint.node("first", "one"), Constraint.node("relu", "two")]
    with pytest.raises(MissingStageError, match="could be linked into") as caught:
        driver.compile(two_layers(), config, store=tmp_path / "records.sqlite", constraints=resolved)
    plan = parse_plan(caught.value.plan)
    assert [plan.devices[each.nodes[0]] for each in plan.partitions] == ["one", "two", "one"]
    assert list((tmp_path / "records.files" / "work").iterdir()) == []


def test_constraints_are_a_list_or_a_file(tmp_path: Path) -> None:
    config = {"targets": ["reference"], "devices": {"one": "cpu:0", "two": "cpu:1"}}
    (tmp_path / "devices.yaml").write_text("nodes: {relu: two}", encoding="utf-8")
    from_file = driver.partition(two_layers(), config, constraints=tmp_path / "devices.yaml")
    assert from_file == driver.partition(two_layers(), config, constraints=[Constraint.node("relu", "two")])
    assert [each.nodes for each in from_file.partitions] == [("first", "relu"), ("MatMul_2", "Relu_3")]


def test_a_partitioning_that_does_not_cover_the_model_is_not_built(tmp_path: Path) -> None:
    draft = driver.partition(two_layers(), "reference").moved(["relu"], Target("reference"))
    short = Partitioning(partitions=draft.partitions[1:])
    with pytest.raises(PlanError, match="3 of 4 nodes are in no partition"):
        driver.build(two_layers(), short, "reference", store=tmp_path / "records.sqlite")


def test_models_that_are_tuned_share_the_budget_and_one_that_fails_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def compile_(
        model: str, target: object, *, settings: CompileSettings, **_: object
    ) -> AbstractContextManager[SimpleNamespace]:
        asked.append((model, target, settings.budget))
        if model == "b":
            raise ModelError("b is no ONNX model")
        return nullcontext(SimpleNamespace(report={"model": model}))

    monkeypatch.setattr(verbs, "compile", compile_)
    first, second, third = driver.tune(["a", "b", "c"], "mnn", budget=30.0)
    assert (first, third) == ({"model": "a"}, {"model": "c"})
    assert isinstance(second, ModelError)
    assert asked == [("a", "mnn", 10.0), ("b", "mnn", 10.0), ("c", "mnn", 10.0)]


def test_the_best_so_far_of_what_is_not_kept_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def compile_(*_: object, **__: object) -> None:
        raise Interrupted(best=SimpleNamespace(close=lambda: closed.append(True)))

    monkeypatch.setattr(verbs, "compile", compile_)
    with pytest.raises(Interrupted) as caught:
        next(driver.tune(["a"]))
    assert (closed, caught.value.best) == ([True], None)


VERBS: dict[str, Callable[..., object]] = {
    "partition": lambda **stated: driver.partition(two_layers(), "reference", **stated),
    "build": lambda **stated: driver.build(two_layers(), Partitioning(partitions=()), **stated),
    "compare": lambda **stated: driver.compare(two_layers(), **stated),
}


@pytest.mark.parametrize(
    ("verb", "stated", "reason"),
    [
        ("partition", {"budget": 3.0}, "budget: nothing is searched or measured"),
        ("partition", {"strict": True}, "strict: nothing is searched or measured"),
        ("build", {"partition": "single"}, "partition: the partitioning says it"),
        ("compare", {"footprints": True}, "footprints: those of every engine are measured"),
    ],
)
def test_a_setting_without_effect_is_refused(verb: str, stated: Any, reason: str) -> None:
    for arguments in (stated, {"settings": CompileSettings(**stated)}):
        with pytest.raises(ConfigError, match=rf"{verb}\(\) takes no {reason}"):
            VERBS[verb](**arguments)


def test_a_partitioning_is_built_by_no_plan_file() -> None:
    with pytest.raises(ConfigError, match=r"build\(\) takes no plan: the partitioning says it"):
        VERBS["build"](plan="p.yaml")
