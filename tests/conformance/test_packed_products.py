"""Our operator for weights in few bits inside ONNX Runtime: the right answer for all sizes and bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.backends.onnxruntime.offline_optimisation import MODEL
from intarsia.backends.onnxruntime.packed_products import OPERATOR
from intarsia.backends.onnxruntime.saved_model import parsed
from intarsia.config import RunSettings
from intarsia.config.precision import Precision, Scheme
from intarsia.graph import Graph, SubModel, extract, load_model
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


@pytest.mark.parametrize(
    "scheme", [Scheme.WEIGHTS_12, Scheme.WEIGHTS_10, Scheme.WEIGHTS_8, Scheme.WEIGHTS_6, Scheme.WEIGHTS_4]
)
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
    reduced, found, want = _computed(graph, dict.fromkeys(("first", "second"), scheme), {"x": shape})
    assert [node.op_type for node in reduced.nodes] == ["PackedProduct", "Relu", "PackedProduct"]
    assert distance(found, want) <= ALLOWED


def test_what_stands_behind_it_is_a_part_of_it() -> None:
    rng = np.random.default_rng(5)
    weights = {name: rng.standard_normal((64, 64)).astype(np.float32) for name in "uvw"}
    weights |= {"b": rng.standard_normal(64).astype(np.float32), **_numbers(k=0.044715, h=0.5, one=1, three=3)}
    weights |= _numbers(r=np.sqrt(2 / np.pi))
    gelu = ["Pow p three q", "Mul q k r1", "Add p r1 r2", "Mul r2 r t", "Tanh t t1", "Add t1 one t2", "Mul p h p1"]
    weights |= {"flat": np.array([1, 64]), "deep": np.array([1, 1, 64])}
    lines = [
        "Reshape x flat x1",
        "MatMul x1 u a",
        "Reshape a deep a1",
        "Add a1 x s",
        "MatMul s v m",
        "Add m b p",
        *gelu,
        "Mul p1 t2 g",
        "MatMul g w z",
        "Add z s y",
    ]
    split = [line.split() for line in lines]
    nodes = [helper.make_node(op, inputs, [out], name=out) for op, *inputs, out in split]
    graph = load_model(model(nodes, [info("x", (1, 1, 64))], [info("y", (1, 1, 64))], weights))
    _, found, want = _computed(graph, dict.fromkeys("amz", Scheme.WEIGHTS_8), {"x": (1, 1, 64)}, only={OPERATOR: 3})
    assert distance(found, want) <= ALLOWED


def _numbers(**numbers: float) -> dict[str, np.ndarray]:
    return {name: np.array(number, np.float32) for name, number in numbers.items()}


def _computed(
    graph: Graph, schemes: Mapping[str, Scheme], shapes: Mapping[str, tuple[int, ...]], only: Mapping[str, int] = {}
) -> tuple[SubModel, np.ndarray, np.ndarray]:
    """What the engine is given, and the output ``y`` of the engine and of the reference.

    With ``only``, no other nodes than these are left after the engine has compiled.
    """
    rng = np.random.default_rng(6)
    plain = quantised(extract(graph, graph.position), Precision.of(schemes, {}))
    backend, settings = registry.get("winograd"), RunSettings(threads=2)
    reduced = backend.with_few_bits(plain)
    artifact = backend.compile(reduced, TARGET, settings)
    if only:
        assert Counter(node.op_type for node in parsed(artifact.files[MODEL]).graph.node) == only
    held = {name: reduced.weights[name].array() for name in artifact.weights}
    engine = backend.load(artifact, held, TARGET, settings)
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    want = evaluate(plain, feeds)["y"]
    found = {"y": np.empty_like(want)}
    engine.bind(feeds, found)()
    engine.close()
    return reduced, found["y"], want
