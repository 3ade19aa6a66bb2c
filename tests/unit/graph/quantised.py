"""Small quantised networks, built by hand, and faults planted in them as an engine might have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.unit.graph.models import info, model

WIDTH = 12


def qdq_network(seed: int, layers: int = 3, *, per_channel: bool = True, images: bool = True) -> onnx.ModelProto:
    """Layers with weights in 8 bits between quantised activations, each added to its input."""
    rng = np.random.default_rng(seed)
    weights: dict[str, Any] = {"zero": np.uint8(128), "s0": np.float32(3.0 / 127)}
    nodes = [_quantise("x", "s0", "q0"), _dequantise("q0", "s0", "d0")]
    shape = (WIDTH, WIDTH, 3, 3) if images else (WIDTH, WIDTH)
    axis = 0 if images else 1
    for layer in range(layers):
        spread = rng.uniform(0.5, 2.0, WIDTH) if per_channel else np.full(WIDTH, rng.uniform(0.5, 2.0))
        count = int(np.prod(shape)) // WIDTH
        weights[f"w{layer}"] = rng.integers(-127, 128, shape).astype(np.int8)
        scales = (spread / 127 * 1.7 / np.sqrt(count)).astype(np.float32)
        weights[f"ws{layer}"] = scales if per_channel else scales[0]
        weights[f"wz{layer}"] = np.zeros(WIDTH, np.int8) if per_channel else np.int8(0)
        weights[f"s{layer + 1}"] = np.float32(rng.uniform(3.0, 5.0) * (layer + 2) / 127)
        scale = [f"w{layer}", f"ws{layer}", f"wz{layer}"]
        more: dict[str, Any] = {"axis": axis} if per_channel else {}
        nodes.append(helper.make_node("DequantizeLinear", scale, [f"v{layer}"], name=f"weights{layer}", **more))
        if images:
            nodes.append(helper.make_node("Conv", [f"d{layer}", f"v{layer}"], [f"m{layer}"], pads=[1] * 4))
        else:
            nodes.append(helper.make_node("MatMul", [f"d{layer}", f"v{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Add", [f"m{layer}", f"d{layer}"], [f"a{layer}"]))
        nodes.append(_quantise(f"a{layer}", f"s{layer + 1}", f"q{layer + 1}"))
        nodes.append(_dequantise(f"q{layer + 1}", f"s{layer + 1}", f"d{layer + 1}"))
    nodes.append(helper.make_node("Identity", [f"d{layers}"], ["y"]))
    sizes = (2, WIDTH, 6, 6) if images else (16, WIDTH)
    return model(nodes, [info("x", sizes)], [info("y", sizes)], weights)


def dynamic_network(seed: int) -> onnx.ModelProto:
    """A product whose activations are quantised by their own range, as ``quantize_dynamic`` writes it."""
    rng = np.random.default_rng(seed)
    weights = {"w": rng.integers(-127, 128, (WIDTH, WIDTH)).astype(np.int8), "ws": np.float32(0.004)}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"], name="dynamic"),
        helper.make_node("MatMulInteger", ["q", "w", "qz"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["qs", "ws"], ["s"]),
        helper.make_node("Mul", ["f", "s"], ["y"]),
    ]
    return model(nodes, [info("x", (16, WIDTH))], [info("y", (16, WIDTH))], weights)


def half_network(seed: int) -> onnx.ModelProto:
    """Products in half precision between borders in fp32."""
    rng = np.random.default_rng(seed)
    nodes = [helper.make_node("Cast", ["x"], ["h0"], to=TensorProto.FLOAT16)]
    weights = {}
    for layer in range(3):
        weights[f"w{layer}"] = (rng.standard_normal((32, 32)) / 5).astype(np.float16)
        nodes.append(helper.make_node("MatMul", [f"h{layer}", f"w{layer}"], [f"m{layer}"], name=f"mul{layer}"))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"h{layer + 1}"]))
    nodes.append(helper.make_node("Cast", ["h3"], ["y"], to=TensorProto.FLOAT))
    return model(nodes, [info("x", (8, 32))], [info("y", (8, 32))], weights)


def _quantise(x: str, scale: str, q: str) -> onnx.NodeProto:
    return helper.make_node("QuantizeLinear", [x, scale, "zero"], [q], name=f"quantise_{q}")


def _dequantise(q: str, scale: str, d: str) -> onnx.NodeProto:
    return helper.make_node("DequantizeLinear", [q, scale, "zero"], [d], name=f"dequantise_{q}")


def _changed(proto: onnx.ModelProto, name: str, change: Callable[[np.ndarray], np.ndarray]) -> onnx.ModelProto:
    found = onnx.load_from_string(proto.SerializeToString())
    weight = next(weight for weight in found.graph.initializer if weight.name == name)
    array = numpy_helper.to_array(weight)
    weight.CopyFrom(numpy_helper.from_array(np.asarray(change(array.copy()), array.dtype), name))
    return found


def _swapped(array: np.ndarray) -> np.ndarray:
    array[[0, 1]] = array[[1, 0]]
    return array


def _other_axis(proto: onnx.ModelProto) -> onnx.ModelProto:
    found = onnx.load_from_string(proto.SerializeToString())
    node = next(node for node in found.graph.node if node.name == "weights1")
    node.attribute[0].i = 1 - node.attribute[0].i
    return found


FAULTS: Mapping[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "swapped channels": lambda proto: _changed(proto, "w1", _swapped),
    "a weight's scale": lambda proto: _changed(proto, "ws1", lambda s: s * 1.1),
    "an activation's scale": lambda proto: _changed(proto, "s1", lambda s: s * 1.05),
    "a zero point": lambda proto: _changed(proto, "zero", lambda z: z + 1),
    "a weight's zero point": lambda proto: _changed(proto, "wz1", lambda z: z + 2),
    "the axis of the scales": _other_axis,
    "saturation": lambda proto: _changed(proto, "w1", lambda w: np.clip(w, -100, 100)),
}
"""What an engine may have wrong, as the model that it would then compute."""
