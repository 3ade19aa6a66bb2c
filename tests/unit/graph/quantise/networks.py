"""Tiny networks that hold every kind of layer which can compute in 8 bits."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from intarsia.graph import Graph, load_model
from tests.unit.graph.models import info, model

PICTURE = (1, 3, 8, 8)


def residual(seed: int = 0) -> onnx.ModelProto:
    """Convolution with normalisation, ReLU, a convolution with bias, their sum, and a classifier."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    weights = {
        "w1": drawn(8, 3, 3, 3) / 5,
        **{name: drawn(8) for name in ("gain", "shift", "mean")},
        "variance": np.abs(drawn(8)) + 0.5,
        "w2": drawn(8, 8, 3, 3) / 8,
        "b2": drawn(8),
        "w3": drawn(5, 8 * 64) / 20,
        "b3": drawn(5),
        "flat": np.array([1, -1]),
    }
    pads = [1, 1, 1, 1]
    nodes = [
        helper.make_node("Conv", ["picture", "w1"], ["c1"], name="conv1", pads=pads),
        helper.make_node("BatchNormalization", ["c1", "gain", "shift", "mean", "variance"], ["n1"], name="norm"),
        helper.make_node("Relu", ["n1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], name="conv2", pads=pads),
        helper.make_node("Add", ["c2", "r1"], ["sum"], name="join"),
        helper.make_node("Relu", ["sum"], ["r2"], name="relu2"),
        helper.make_node("Reshape", ["r2", "flat"], ["row"], name="reshape"),
        helper.make_node("Gemm", ["row", "w3", "b3"], ["scores"], name="classify", transB=1),
    ]
    return model(nodes, [info("picture", PICTURE)], [info("scores", (1, 5))], weights)


def products(weight: np.ndarray | None = None) -> onnx.ModelProto:
    """Two products of one value with weights, and one of two values that vary."""
    rng = np.random.default_rng(1)
    first = rng.standard_normal((16, 12)).astype(np.float32) if weight is None else weight
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="left"),
        helper.make_node("MatMul", ["x", "w2"], ["b"], name="right"),
        helper.make_node("Transpose", ["b"], ["t"], name="turn", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["a", "t"], ["y"], name="both"),
    ]
    weights = {"w1": first, "w2": rng.standard_normal((16, 12)).astype(np.float32)}
    return model(nodes, [info("x", (1, 6, 16))], [info("y", (1, 6, 6))], weights)


def decoder(blocks: int = 2, width: int = 512, seed: int = 0) -> onnx.ModelProto:
    """A step of a decoder on one token, without attention: products that wait for their weights, and sums around."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    nodes: list[onnx.NodeProto] = []
    x = "x"
    for number in range(blocks):
        for part, (rows, columns) in (("up", (width, 4 * width)), ("down", (4 * width, width))):
            scale = np.float32(rows**-0.5)
            weights[f"{part}{number}.w"] = rng.standard_normal((rows, columns)).astype(np.float32) * scale
            weights[f"{part}{number}.b"] = rng.standard_normal(columns).astype(np.float32) * scale
        up, down, joined = (f"{part}{number}" for part in ("up", "down", "joined"))
        nodes += [
            helper.make_node("Gemm", [x, f"{up}.w", f"{up}.b"], [f"{up}.y"], name=up),
            helper.make_node("Relu", [f"{up}.y"], [f"{up}.r"], name=f"relu{number}"),
            helper.make_node("MatMul", [f"{up}.r", f"{down}.w"], [f"{down}.y"], name=down),
            helper.make_node("Add", [f"{down}.y", f"{down}.b"], [f"{down}.z"], name=f"bias{number}"),
            helper.make_node("Add", [x, f"{down}.z"], [joined], name=f"join{number}"),
        ]
        x = joined
    return model(nodes, [info("x", (1, width))], [info(x, (1, width))], weights)


def loaded(proto: onnx.ModelProto) -> Graph:
    """The normalised graph, without which node ids mean nothing."""
    return load_model(proto)
