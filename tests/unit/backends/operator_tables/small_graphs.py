"""Graphs of one node, in floats and in integers, and what a table refuses of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from intarsia.backends.operator_tables.table import refusals
from intarsia.backends.operator_tables.tables import TABLES
from intarsia.graph import Graph, load_model
from intarsia.target import Target
from tests.unit.graph.models import info, model

IMAGE = (1, 16, 8, 8)
RNG = np.random.default_rng(0)


def weight(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def one(
    op: str,
    shape: tuple[int, ...] = IMAGE,
    weights: Mapping[str, Any] | None = None,
    *more: onnx.NodeProto,
    **attributes: Any,
) -> Graph:
    """A graph of one node that reads ``x`` and its weights, and of what follows."""
    held = dict(weights or {})
    node = helper.make_node(op, ["x", *(name for name in held if not name.startswith("_"))], ["y"], op, **attributes)
    made = model([node, *more], [info("x", shape)], [info(more[-1].output[0] if more else "y", None)], held)
    return load_model(made)


def convolution(
    channels: int = 16,
    size: int = 3,
    group: int = 1,
    *more: onnx.NodeProto,
    shape: tuple[int, ...] = IMAGE,
    **attributes: Any,
) -> Graph:
    filters = {"w": weight(channels, shape[1] // group, size, size)}
    return one("Conv", shape, filters, *more, group=group, kernel_shape=[size, size], **attributes)


def refused(kind: str, graph: Graph) -> dict[str, str]:
    target = Target(kind)
    return dict(refusals(graph, TABLES[target.kind.name](target)))


def quantised(
    op: str, weights: Mapping[str, np.ndarray], dtype: type = np.uint8, act: str = "", **attributes: Any
) -> Graph:
    """QuantizeLinear, then the operator between DequantizeLinear and QuantizeLinear, then DequantizeLinear."""
    zero = {"zero": np.array(0, dtype), "scale": np.array(0.1, np.float32)}
    held: dict[str, Any] = dict(zero)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["xq"], "enter"),
        helper.make_node("DequantizeLinear", ["xq", "scale", "zero"], ["xd"], "before"),
    ]
    for name, array in weights.items():
        held[name] = array
        nodes.append(helper.make_node("DequantizeLinear", [name, "scale", "zero"], [f"{name}d"], f"{name}_of"))
    nodes.append(helper.make_node(op, ["xd", *(f"{name}d" for name in weights)], ["y"], op, **attributes))
    last = "y"
    if act:
        nodes.append(helper.make_node(act, ["y"], ["a"], act))
        last = "a"
    nodes += [
        helper.make_node("QuantizeLinear", [last, "scale", "zero"], ["yq"], "behind"),
        helper.make_node("DequantizeLinear", ["yq", "scale", "zero"], ["z"], "leave"),
    ]
    return load_model(model(nodes, [info("x", IMAGE)], [info("z", None)], held))
