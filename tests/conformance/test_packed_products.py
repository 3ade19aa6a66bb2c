"""Our operator for weights in few bits inside ONNX Runtime: the right answer for all sizes and bits."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.config.precision import Precision, Scheme
from intarsia.graph import extract, load_model
from intarsia.graph.quantise import quantised
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.verify import distance
from intarsia.target import Target
from tests.unit.graph.models import info, model

pytestmark = [pytest.mark.engine]
ALLOWED = 3e-4
"""What rounding the other factor to 16 bits explains."""
TARGET = Target("winograd")


@pytest.fixture(autouse=True)
def _usable() -> None:
    found = registry.probe("winograd")
    if not found.usable:
        pytest.skip(f"winograd cannot be used here: {found.reason}")


@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_12, Scheme.WEIGHTS_10, Scheme.WEIGHTS_8, Scheme.WEIGHTS_4])
@pytest.mark.parametrize("shape", [(1, 128), (2, 3, 45), (33, 64)])
@pytest.mark.parametrize("columns", [1, 7, 100])
def test_it_multiplies_by_what_the_blocks_stand_for(scheme: Scheme, shape: tuple[int, ...], columns: int) -> None:
    rng = np.random.default_rng(5)
    weights = {
        "w": rng.standard_normal((shape[-1], columns)).astype(np.float32),
        "v": rng.standard_normal((columns, 5)).astype(np.float32),
        "b": rng.standard_normal(5).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "v"], ["p"], name="second"),
        helper.make_node("Add", ["b", "p"], ["y"], name="bias"),
    ]
    graph = load_model(model(nodes, [info("x", shape)], [info("y", (*shape[:-1], 5))], weights))
    plain = quantised(extract(graph, graph.position), Precision.of({"first": scheme, "second": scheme}, {}))
    backend, settings = registry.get("winograd"), RunSettings(threads=2)
    reduced = backend.with_few_bits(plain)
    assert [node.op_type for node in reduced.nodes] == ["PackedProduct", "Relu", "PackedProduct"]
    artifact = backend.compile(reduced, TARGET, settings)
    held = {name: reduced.weights[name].array() for name in artifact.weights}
    engine = backend.load(artifact, held, TARGET, settings)
    feeds = {"x": rng.standard_normal(shape).astype(np.float32)}
    found = {"y": np.empty((*shape[:-1], 5), np.float32)}
    engine.bind(feeds, found)()
    engine.close()
    assert distance(found["y"], evaluate(plain, feeds)["y"]) <= ALLOWED
