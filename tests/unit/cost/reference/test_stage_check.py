"""An engine's rounding stages, asked for in a worker and judged by the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.reference.reference_io import record_values, recorded_values
from intarsia.cost.reference.stage_check import StageCheck, check_stages
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.protocol import Answer, Evaluated, Expose, Failed, Workload
from intarsia.cost.worker.repro import Origin
from intarsia.cost.worker.workspace import Workspace
from intarsia.graph import Graph, load_model, save_graph
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.reference.stages import checked_values
from intarsia.partitioning import Partition
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.target import Target
from tests.unit.graph.quantised import FAULTS, qdq_network

PROTO = qdq_network(0, 2)
SETTINGS = RunSettings(threads=1)


@pytest.fixture
def quantised() -> Graph:
    return load_model(PROTO)


@pytest.fixture
def folder(quantised: Graph, tmp_path: Path) -> Iterator[Path]:
    workspace = Workspace(Store(tmp_path / "records.sqlite"))
    save_graph(quantised, workspace.folder)
    workspace.compute_reference(quantised, set(), seed=0)
    yield workspace.folder
    workspace.remove()


def whole(graph: Graph) -> Partition:
    return Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))


class Answering:
    """A worker whose engine made this of the values that it is asked for."""

    def __init__(self, made: Mapping[str, np.ndarray] | Failed) -> None:
        self._made = made

    def ask(self, request: Expose, timeout_s: float) -> Answer:
        if isinstance(self._made, Failed):
            return self._made
        assert {*request.names, "y"} <= self._made.keys()
        record_values(Path(request.folder), self._made)
        return Evaluated()


def found(graph: Graph, folder: Path, made: Mapping[str, np.ndarray] | Failed) -> StageCheck:
    workload = Workload.of([whole(graph)], SETTINGS)
    return check_stages(cast("WorkerClient", Answering(made)), graph, workload, folder, 5.0)


def test_a_right_engine_is_asked_once(quantised: Graph, folder: Path) -> None:
    store = Store(folder.parents[2] / "records.sqlite")
    checks = []
    for _ in range(2):
        with Measurer(quantised, folder, store, ["reference"], Origin(model=None)) as measurer:
            checks.append(measurer.stages([whole(quantised)], SETTINGS))
            counts = measurer.measured, measurer.cached
    assert checks == [StageCheck(stages=3)] * 2
    assert counts == (0, 1)


def test_a_stage_that_rounds_wrongly_is_named(quantised: Graph, folder: Path) -> None:
    wrong = load_model(FAULTS["a weight's scale"](PROTO))
    made = evaluate(wrong, graph_feeds(wrong, 0), keep=checked_values(quantised))
    check = found(quantised, folder, made)
    assert check.fault is not None
    assert check.fault.startswith("QuantizeLinear quantise_q2 rounds wrongly: up to")


def test_an_output_must_follow_from_the_last_rounded_values(quantised: Graph, folder: Path) -> None:
    made: dict[str, Any] = evaluate(quantised, graph_feeds(quantised, 0), keep=checked_values(quantised))
    assert found(quantised, folder, made).fault is None
    check = found(quantised, folder, {**made, "y": made["y"] * np.float32(1.01)})
    assert check.fault == "computed from its own last rounded values, y: error 0.01 of its largest value, allowed 0.001"


def test_what_does_not_run_like_that_goes_unchecked(quantised: Graph, folder: Path) -> None:
    check = found(quantised, folder, Failed(stage="compile", reason="no such output\nand more", cause=Cause.ENGINE))
    assert check.fault is None
    assert check.skipped == "it does not run with its stages exposed (compile: no such output)"
    for file in (folder / "values").iterdir():
        if file.name.startswith("values"):
            file.write_text("{}")
    assert found(quantised, folder, {}).skipped == "the reference has no values to compare with"
    assert recorded_values(folder / "values", ["y"]) == {}
