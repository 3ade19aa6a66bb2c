"""Averages and softmax in integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.integer.fixed_point import scaling
from intarsia.backends.lowering.integer.operators import Emitter, Rule
from intarsia.backends.lowering.integer.reference import shares_scale, softmax_steps
from intarsia.backends.lowering.integer.values import Codes, Pending, State
from intarsia.backends.lowering.integer.walk import Walk
from intarsia.backends.lowering.layers import counts_of, pool_window
from intarsia.backends.lowering.node_context import NodeContext, axes_of, axis_of
from intarsia.backends.lowering.program import Term, UnsupportedError

if TYPE_CHECKING:
    from intarsia.graph import Node


def _waiting(walk: Walk, node: Node, kind: str, facts: dict[str, Any]) -> Mapping[str, State] | None:
    x = walk.states.get(node.inputs[0])
    if not isinstance(x, Codes) or x.scale is None or walk.graph.values[node.outputs[0]].shape is None:
        return None
    return {
        node.outputs[0]: Pending(kind=kind, operands=(x,), facts=facts, nodes=(*x.nodes, node.id), names=(), node=node)
    }


def _average_pool(walk: Walk, node: Node) -> Mapping[str, State] | None:
    x = walk.states.get(node.inputs[0])
    if not isinstance(x, Codes) or x.term.rank not in (3, 4):
        return None
    ctx = NodeContext(builder=Builder(), node=node, graph=walk.graph, terms={})
    try:
        window = pool_window(ctx, x.term)
        counts = counts_of(ctx, x.term, window)
    except UnsupportedError:
        return None
    if min(window["after"]) < 0:
        window["after"] = [max(0, after) for after in window["after"]]
    divisor = int(counts.flat[0]) if (counts == counts.flat[0]).all() else 0
    if divisor == 0 and node.attributes.get("count_include_pad", 0):
        return None
    return _waiting(walk, node, "pool_avg", {"window": window, "divisor": divisor})


def _global(walk: Walk, node: Node) -> Mapping[str, State] | None:
    x = walk.states.get(node.inputs[0])
    if not isinstance(x, Codes) or x.term.rank not in (3, 4):
        return None
    return _waiting(walk, node, "pool_avg", _whole(x.term))


def _whole(x: Term) -> dict[str, Any]:
    rank = x.rank - 2
    window = {
        "kernel": list(x.shape[2:]), "strides": [1] * rank, "dilations": [1] * rank, "before": [0] * rank,
        "after": [0] * rank,
    }  # fmt: skip
    return {"window": window, "divisor": int(np.prod(x.shape[2:]))}


def _reduce_mean(walk: Walk, node: Node) -> Mapping[str, State] | None:
    x = walk.states.get(node.inputs[0])
    if not isinstance(x, Codes):
        return None
    given: Any = node.attributes.get("axes")
    if len(node.inputs) > 1 and node.inputs[1]:
        array = walk.array(node.inputs[1])
        if array is None:
            return None
        given = [int(axis) for axis in array.reshape(-1)]
    if not given and node.attributes.get("noop_with_empty_axes", 0):
        return None
    axes = axes_of(given or None, x.term.rank)
    if x.term.rank in (3, 4) and axes == list(range(2, x.term.rank)):
        return _waiting(walk, node, "pool_avg", _whole(x.term))
    return _waiting(walk, node, "mean", {"axes": axes})


def _softmax(walk: Walk, node: Node) -> Mapping[str, State] | None:
    shape = walk.graph.values[node.inputs[0]].shape
    if shape is None or not shape or walk.graph.opsets.get("", 0) < 13:
        return None
    return _waiting(walk, node, "softmax", {"axis": axis_of(node.attributes.get("axis", -1), len(shape))})


def _emit(walk: Walk, pending: Pending, scale: float, zero: int, low: int, high: int, quantiser: str) -> Term | None:
    (x,) = pending.operands
    nodes = (*pending.nodes, quantiser)
    attrs: dict[str, Any] = {"x_scale": x.scale, "x_zero": x.zero, "y_scale": scale, "y_zero": zero}
    shape = walk.graph.values[pending.node.outputs[0]].shape or ()
    try:
        if pending.kind == "softmax":
            attrs |= {
                "axis": pending.facts["axis"],
                "steps": softmax_steps(scale, is_whole=_is_fused(walk, pending, quantiser)),
            }
            return walk.emit("q_softmax", (x.term,), "int8", shape, nodes, **attrs)
        scaling([(x.scale or 0.0) / scale])
    except OverflowError:
        return None
    attrs |= {"low": low, "high": high}
    if pending.kind == "mean":
        attrs |= {"axes": pending.facts["axes"], "keep": len(shape) == x.term.rank}
        return walk.emit("q_mean", (x.term,), "int8", shape, nodes, **attrs)
    divisor = pending.facts["divisor"]
    # ONNX Runtime's QLinearAveragePool adds the zero point before it rounds, its other averages behind.
    is_padded = any((*pending.facts["window"]["before"], *pending.facts["window"]["after"]))
    attrs["even_codes"] = pending.node.op_type == "AveragePool" and shares_scale(attrs) and not (is_padded and divisor)
    full = (*x.term.shape[:2], *(_sizes(x.term, pending.facts["window"])))
    made = walk.emit("q_pool_avg", (x.term,), "int8", full, nodes, **pending.facts["window"], divisor=divisor, **attrs)
    return walk.builder.reshape(made, shape)


def _is_fused(walk: Walk, pending: Pending, quantiser: str) -> bool:
    """Whether ONNX Runtime makes one operator of the group: between two values in 8 bits of one type."""
    values = walk.graph.values
    producer = values[pending.node.inputs[0]].producer
    before = None if producer is None else walk.graph.nodes[producer]
    if before is None or before.op_type != "DequantizeLinear":
        return False
    return values[before.inputs[0]].dtype == values[walk.graph.node(quantiser).outputs[0]].dtype


def _sizes(x: Term, window: Mapping[str, Any]) -> list[int]:
    rows = zip(
        x.shape[2:], window["kernel"], window["strides"], window["dilations"], window["before"], window["after"],
        strict=True,
    )  # fmt: skip
    return [(size + b + a - d * (k - 1) - 1) // s + 1 for size, k, s, d, b, a in rows]


RULES: Mapping[str, Rule] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global,
    "ReduceMean": _reduce_mean,
    "Softmax": _softmax,
}
EMITTERS: Mapping[str, Emitter] = {"pool_avg": _emit, "mean": _emit, "softmax": _emit}
