from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.backends import registry
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress
from intarsia.driver.preparation import prepare_engines
from intarsia.partitioning import Capability
from intarsia.planning.problem import Problem
from intarsia.target import Target


class _Engine:
    def __init__(self, *, is_prepared: bool) -> None:
        self.given: list[float] = []
        self.is_prepared = lambda: is_prepared or bool(self.given)

    def prepare(self, within_s: float) -> None:
        self.given.append(within_s)


def test_the_only_engine_gets_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _Engine(is_prepared=False)
    monkeypatch.setattr(registry, "get", lambda _: engine)
    able = {Target("winograd"): Capability(refusals={})}
    problem: Any = SimpleNamespace(graph=SimpleNamespace(nodes=("one",)), capabilities=able)
    prepare_engines(cast("Problem", problem), Deadline(5.0), lambda _: None)
    assert engine.given == [600.0]


def test_engines_that_take_a_part_and_lack_something_get_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = {name: _Engine(is_prepared=name == "mnn") for name in ("winograd", "mnn", "openvino")}
    monkeypatch.setattr(registry, "get", lambda name: engines[name])
    refused = {"openvino": {"one": "no", "two": "no"}, "winograd": {"one": "no"}}
    able = {Target(name): Capability(refusals=refused.get(name, {})) for name in engines}
    problem: Any = SimpleNamespace(graph=SimpleNamespace(nodes=("one", "two")), capabilities=able)
    told: list[Progress] = []
    for _ in range(2):
        prepare_engines(cast("Problem", problem), Deadline(60.0, clock=lambda: 20.0), told.append)
    assert {name: engine.given for name, engine in engines.items()} == {"winograd": [30.0], "mnn": [], "openvino": []}
    assert [(each.stage, each.note) for each in told] == [("build", "what winograd needs on this machine, once")]
