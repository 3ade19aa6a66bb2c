"""What layers read, as an engine tells it; and what happens where it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Failure
from intarsia.errors import ExecutionError
from intarsia.graph import Graph
from intarsia.graph.quantise import layers_of, means_of
from intarsia.graph.reference.reference import evaluate
from intarsia.search.precision.calibration import Calibration, asked, told
from intarsia.search.precision.validation_set import Samples
from intarsia.target import Target
from tests.unit.graph.models import info, model
from tests.unit.graph.quantise.networks import PICTURE, loaded, residual


@pytest.fixture(scope="module")
def graph() -> Graph:
    return loaded(residual())


def test_over_all_inputs(graph: Graph, tmp_path: Path) -> None:
    inputs = Samples(graph, tmp_path, seed=0).calibration
    found = Calibration.of(graph, asked(Target("reference"), tmp_path, inputs, lambda: 60.0))
    pictures = [np.load(path)["picture"] for path in inputs]
    assert found.ranges["picture"] == (min(map(np.min, pictures)), max(map(np.max, pictures)))
    expected = np.mean([picture.mean(axis=(0, 2, 3)) for picture in pictures], axis=0)
    assert means_of(found.means["picture"]) == pytest.approx(expected, abs=1e-3)
    assert set(found.means) == {"picture", "r1", "row"}
    assert set(found.ranges) == {"picture", "r1", "row", "c2"}


def test_ranges_are_cut_where_that_loses_least(graph: Graph) -> None:
    feeds = {"picture": np.random.default_rng(1).standard_normal(PICTURE).astype(np.float32)}
    feeds["picture"][0, 0, 0, 0] = 400.0  # one that is far from all others

    def ask(asked: Graph) -> list[tuple[np.ndarray, ...]]:
        run = evaluate(asked, feeds)
        return [tuple(run[name] for name in asked.outputs)]

    found = Calibration.of(graph, ask)
    layers = [layer for layer in layers_of(graph, graph.nodes) if layer.reads == ("picture",)]
    (low, high) = found.trimmed(graph, layers, ask)["picture"]
    assert found.ranges["picture"][1] == 400.0
    assert high <= 400.0
    assert low < 0.0
    assert found.trimmed(graph, (), ask) == {}


def test_a_model_without_products_has_none() -> None:
    relu = loaded(model([helper.make_node("Relu", ["x"], ["y"])], [info("x", (1, 4))], [info("y", (1, 4))], {}))

    def ask(asked: Graph) -> list[tuple[np.ndarray, ...]]:
        raise AssertionError("there is nothing to ask")

    assert Calibration.of(relu, ask) == Calibration(ranges={}, means={})


@pytest.mark.parametrize("cause", [Cause.ENGINE, Cause.NO_ANSWER])
def test_a_failure_is_raised(cause: Cause) -> None:
    with pytest.raises(ExecutionError, match="no room"):
        told(Failure(stage="load", reason="no room", cause=cause))
