"""Weights moved to uint8: the model means the same, and only weights that meet uint8 activations move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from intarsia.backends.onnxruntime.unsigned_weights import saturates, unsigned_weights
from intarsia.target import Target
from tests.unit.graph.models import info, model

RNG = np.random.default_rng(0)
WEIGHT = RNG.integers(-128, 128, (6, 5), dtype=np.int8)
FEEDS = {"x": RNG.standard_normal((4, 6)).astype(np.float32)}


def dynamic(*zero: str, weights: Mapping[str, np.ndarray] | None = None) -> onnx.ModelProto:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "s", "z"]),
        helper.make_node("MatMulInteger", ["xq", "w", "z", *zero], ["p"]),
        helper.make_node("MatMulInteger", ["xq", "w", "z", *zero], ["q"]),
        helper.make_node("Add", ["p", "q"], ["y"]),
    ]
    return model(nodes, [info("x", (4, 6))], [info("y", (4, 5), TensorProto.INT32)], weights or {"w": WEIGHT})


def kinds(proto: onnx.ModelProto) -> dict[str, int]:
    return {tensor.name: tensor.data_type for tensor in proto.graph.initializer}


def evaluated(proto: onnx.ModelProto) -> Any:
    return ReferenceEvaluator(proto).run(["y"], FEEDS)


def check(proto: onnx.ModelProto) -> onnx.ModelProto:
    found = unsigned_weights(onnx.ModelProto.FromString(proto.SerializeToString()), {})
    onnx.checker.check_model(found)
    np.testing.assert_array_equal(evaluated(proto), evaluated(found))
    return found


def test_a_weight_without_zero_point_gets_one() -> None:
    types = kinds(check(dynamic()))
    assert types["w/uint8"] == types["/uint8/zero_point"] == TensorProto.UINT8


def test_zero_points_move_with_their_weights_and_each_moves_once() -> None:
    found = check(dynamic("wz", weights={"w": WEIGHT, "wz": np.array([3, -128, 127, 0, -1], np.int8)}))
    assert kinds(found)["wz/uint8"] == TensorProto.UINT8
    assert len(found.graph.initializer) == len({tensor.name for tensor in found.graph.initializer})


def test_static_products_move() -> None:
    weights = {
        "s": np.float32(0.02), "u": np.uint8(7), "ws": np.float32(0.01), "w": WEIGHT, "wz": np.int8(-3),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "u"], ["xq"]),
        helper.make_node("QLinearMatMul", ["xq", "s", "u", "w", "ws", "wz", "s", "u"], ["y"]),
    ]
    proto = model(nodes, [info("x", (4, 6))], [info("y", (4, 5), TensorProto.UINT8)], weights)
    assert kinds(check(proto))["w/uint8"] == TensorProto.UINT8


def test_int8_activations_keep_their_weights() -> None:
    weights = {"s": np.float32(0.02), "i": np.int8(7), "ws": np.float32(0.01), "w": WEIGHT, "wz": np.int8(-3)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "i"], ["xq"]),
        helper.make_node("QLinearMatMul", ["xq", "s", "i", "w", "ws", "wz", "s", "i"], ["y"]),
    ]
    proto = model(nodes, [info("x", (4, 6))], [info("y", (4, 5), TensorProto.INT8)], weights)
    assert "w/uint8" not in kinds(check(proto))


def test_weights_held_outside_come_in_and_are_dropped_outside() -> None:
    proto = dynamic()
    (tensor,) = proto.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    found = {tensor.name: tensor for tensor in unsigned_weights(proto, {"w": WEIGHT}).graph.initializer}
    assert set(found) == {"w/uint8", "/uint8/zero_point"}
    np.testing.assert_array_equal(numpy_helper.to_array(found["w/uint8"]), WEIGHT.astype(np.int16) + 128)


def test_a_weight_that_another_node_reads_stays() -> None:
    proto = dynamic()
    proto.graph.node.append(helper.make_node("Cast", ["w"], ["other"], to=TensorProto.FLOAT))
    assert set(kinds(check(proto))) == {"w", "w/uint8", "/uint8/zero_point"}


@pytest.mark.parametrize(
    ("processor", "wanted"),
    [("llvm -mcpu=znver3", True), ("llvm -mcpu=cascadelake", False), ("llvm -mcpu=alderlake", False),
     ("llvm -mcpu=cortex-a72", False)],
)  # fmt: skip
def test_only_x86_processors_without_vnni_saturate(processor: str, wanted: bool) -> None:
    assert saturates(Target(processor).features) is wanted
