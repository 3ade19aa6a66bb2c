"""The quantised models are what they are called, and a fault that is planted in one is the fault that is named."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from networks.quantised import plain
from networks.quantised.faults import FAULTS, planted
from networks.quantised.halves import in_half
from networks.quantised.integers import weights_in_8_bits

SMALL = ("mobile", "gru", "decoder")
SCALE, POINT = 0.1, 3


def answer(model: onnx.ModelProto, seed: int = 0) -> np.ndarray:
    graph = load_model(model)
    feeds = {name: array.astype(np.float32).astype(array.dtype) for name, array in graph_feeds(graph, seed).items()}
    (found,) = evaluate(graph, feeds).values()
    return found.astype(np.float64)


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def through_steps(values: list[float]) -> tuple[onnx.ModelProto, np.ndarray]:
    """A quantiser to uint8 and back, and what it is given here."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["q"], "quantise"),
        helper.make_node("DequantizeLinear", ["q", "scale", "point"], ["y"], "dequantise"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [len(values)]) for name in ("x", "y")]
    weights = [
        numpy_helper.from_array(np.array(SCALE, dtype=np.float32), "scale"),
        numpy_helper.from_array(np.array(POINT, dtype=np.uint8), "point"),
    ]
    graph = helper.make_graph(nodes, "steps", ends[:1], ends[1:], weights)
    opsets = [helper.make_operatorsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), np.array(values, dtype=np.float32)


@pytest.mark.parametrize("name", plain.BUILDERS)
def test_a_network_is_of_any_batch(name: str) -> None:
    for batch in (1, 4, "n"):
        model = plain.build(name, batch)
        first, *_ = model.graph.output[0].type.tensor_type.shape.dim
        assert (first.dim_param or first.dim_value) == batch
    assert plain.build(name, 4).SerializeToString() == plain.build(name, 4).SerializeToString()
    assert answer(plain.build(name, 4)).std() > 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("fp32_borders", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_in_half_it_computes_nearly_the_same(name: str, fp32_borders: bool, dtype: str) -> None:
    model = plain.build(name, 2)
    half = in_half(model, dtype, fp32_borders=fp32_borders, kept=("GRU",))
    kinds = {tensor.data_type for tensor in half.graph.initializer}
    assert {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}[dtype] in kinds
    border = half.graph.output[0].type.tensor_type.elem_type
    assert (border == TensorProto.FLOAT) == fp32_borders
    if fp32_borders:
        assert 0 < error(answer(half), answer(model)) < {"float16": 0.01, "bfloat16": 0.1}[dtype]


def test_weights_in_8_bits_compute_nearly_the_same() -> None:
    model = plain.build("vit", 1)
    found = weights_in_8_bits(model)
    assert sum(node.op_type == "DequantizeLinear" for node in found.graph.node) == 37
    assert 0 < error(answer(found), answer(model)) < 0.1


@pytest.mark.parametrize(
    ("fault", "steps"),
    [
        ("none", [0, 0, 1, 2, 2, 252, -3]),
        ("rounds-down", [0, 0, 1, 1, 2, 252, -3]),
        ("rounds-up", [1, 1, 2, 2, 3, 252, -3]),
        ("truncates", [0, 0, 1, 1, 2, 252, -3]),
        ("narrow-range", [0, 0, 1, 2, 2, 225, -3]),
        ("wraps-around", [0, 0, 1, 2, 2, 300 - 256, 256 - 30]),
        ("zero-point-plus-one", [-1, -1, 0, 1, 1, 251, -4]),
        ("zero-point-ignored", [3, 3, 4, 5, 5, 255, 0]),
    ],
)
def test_steps_are_taken_as_the_fault_says(fault: str, steps: list[int]) -> None:
    model, given = through_steps([0.01, 0.04, 0.14, 0.18, 0.24, 30.0, -3.0])
    faulty = planted(model, fault)
    assert faulty is not None
    (found,) = evaluate(load_model(faulty), {"x": given}).values()
    np.testing.assert_allclose(found, np.array(steps) * SCALE, atol=1e-6)


@pytest.mark.parametrize(("fault", "factor"), [("scale-once", 1.25), ("scale-everywhere", 1.02)])
def test_scales_are_wrong_by_the_factor(fault: str, factor: float) -> None:
    model, given = through_steps([0.5, 1.0, -0.2])
    faulty = planted(model, fault)
    assert faulty is not None
    (found,) = evaluate(load_model(faulty), {"x": given}).values()
    np.testing.assert_allclose(found, given * factor, atol=1e-6)


def test_what_is_planted_is_a_copy() -> None:
    model = weights_in_8_bits(plain.build("decoder", 1))
    before = model.SerializeToString()
    for fault in FAULTS:
        planted(model, fault)
    assert model.SerializeToString() == before


def test_a_model_without_a_place_for_a_fault_says_so() -> None:
    model = plain.build("gru", 1)
    assert planted(model, "scale-once") is None
    assert planted(model, "swapped-nibbles") is None
    assert planted(model, "none") is not None


@pytest.mark.parametrize(
    "fault", ["swapped-channels-first", "swapped-channels-last", "drops-shortcut", "drops-biases", "drops-activation"]
)
def test_layers_that_are_wrong_show(fault: str) -> None:
    model = plain.build("mobile", 1)
    faulty = planted(model, fault)
    assert faulty is not None
    found = error(answer(faulty), answer(model))
    assert found > 0.01
    assert math.isfinite(found)
