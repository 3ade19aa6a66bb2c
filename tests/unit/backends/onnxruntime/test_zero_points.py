"""Zero points are added where scales are many and none is there; the model means the same."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from intarsia.backends.onnxruntime.zero_points import add_zero_points
from tests.unit.graph.models import info, model


def dequantised(*zero: str, scales: tuple[int, ...], dtype: str = "int8") -> onnx.ModelProto:
    weights = {
        "w": np.arange(12).reshape(4, 3).astype(dtype),
        "s": np.exp2(-np.arange(np.prod(scales))).reshape(scales).astype(np.float32),
        "z": np.ones(scales, dtype),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", *zero], ["p"], axis=1),
        helper.make_node("DequantizeLinear", ["w", "s", *zero], ["q"], axis=1),
        helper.make_node("Sub", ["p", "q"], ["r"]),
        helper.make_node("Add", ["p", "r"], ["y"]),
    ]
    return model(nodes, [], [info("y", (4, 3), TensorProto.FLOAT)], weights)


def zeros(proto: onnx.ModelProto) -> list[str]:
    return [node.input[2] if len(node.input) > 2 else "" for node in proto.graph.node[:2]]


def test_many_scales_get_one_tensor_of_zeros() -> None:
    for absent in ((), ("",)):
        proto = dequantised(*absent, scales=(3,))
        before = ReferenceEvaluator(dequantised(scales=(3,))).run(["y"], {})
        found = add_zero_points(proto)
        onnx.checker.check_model(found)
        assert zeros(found) == ["/zero_point/3"] * 2
        assert len(found.graph.initializer) == 4
        np.testing.assert_array_equal(ReferenceEvaluator(found).run(["y"], {}), before)


def test_one_scale_a_zero_point_and_other_types_stay_as_they_are() -> None:
    for proto in (dequantised(scales=()), dequantised("z", scales=(3,)), dequantised(scales=(3,), dtype="uint8")):
        before = proto.SerializeToString(deterministic=True)
        assert add_zero_points(proto).SerializeToString(deterministic=True) == before
