"""Convolutions and products of matrices in integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.lowering.integer.fixed_point import fitted, scaling
from intarsia.backends.lowering.integer.operators import Emitter, Rule
from intarsia.backends.lowering.integer.values import Codes, Known, Pending, State, Stored, affine
from intarsia.backends.lowering.integer.walk import Walk, zero_as_int8
from intarsia.backends.lowering.layers import window_of
from intarsia.backends.lowering.node_context import NodeContext
from intarsia.backends.lowering.program import Term

if TYPE_CHECKING:
    from intarsia.graph import Node

_MOST = 2.0**31
_RANKS = (3, 4)
"""Batch, channels, and one or two dimensions."""
_CLOSE = 1e-4
"""How far the scale of a bias may be from the product of the others' to be taken for it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """The weights of a layer, an output channel a row.

    Attributes:
        array: int8, the output channels first.
        scales: float64, one for each output channel.
        bias: float64, in the numbers it stands for; ``None`` for none.
        exact: The bias as the model stores it, where its scale is the product of the others'.
        bits: Of an element in the model.
    """

    array: np.ndarray
    scales: np.ndarray
    bias: np.ndarray | None
    exact: np.ndarray | None
    bits: int


def _rows(known: Known, array: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights with their output channels first, and a scale for each; ``None`` if they do not fit."""
    if known.axis not in (None, axis) or np.abs(array + 0.5).max(initial=0) > 127.5:
        return None
    turned = np.ascontiguousarray(np.moveaxis(array, axis, 0)).astype(np.int8)
    scales = np.broadcast_to(known.scale, (turned.shape[0],)).astype(np.float64)
    return turned, scales


def _bias(
    walk: Walk, node: Node, place: int, products: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None] | None:
    """The bias at an input, and as stored where it is in steps of these scales; ``None`` if it is computed."""
    if place >= len(node.inputs) or not node.inputs[place]:
        return None, None
    name = node.inputs[place]
    state, array = walk.states.get(name), walk.array(name)
    if isinstance(state, Known):
        whole = state.array.reshape(-1).astype(np.float64)
        is_exact = np.allclose(state.scale, products, rtol=_CLOSE, atol=0)
        return whole * state.scale, whole if is_exact else None
    if array is not None and array.dtype == np.float32:
        return array.reshape(-1).astype(np.float64), None
    return None


def _layer(
    walk: Walk, node: Node, kind: str, axis: int, facts: Mapping[str, Any], gain: float = 1.0
) -> Mapping[str, State] | None:
    x, known = walk.states.get(node.inputs[0]), walk.states.get(node.inputs[1])
    if not isinstance(x, Codes) or x.scale is None or not isinstance(known, Known):
        return None
    found = _rows(known, known.array, axis)
    if found is None:
        return None
    array, scales = found
    scales = scales * gain
    bias = _bias(walk, node, 2, x.scale * scales)
    if bias is None:
        return None
    given, exact = bias
    channels = array.shape[0]
    given, exact = (None if each is None else np.broadcast_to(each, (channels,)) for each in (given, exact))
    weights = Weights(array=array, scales=scales, bias=given, exact=exact, bits=known.bits)
    nodes = (*x.nodes, *known.nodes, *_nodes_of(walk, node, 2), node.id)
    pending = Pending(kind=kind, operands=(x,), facts={"weights": weights, **facts}, nodes=nodes, names=(), node=node)
    return {node.outputs[0]: pending}


def _nodes_of(walk: Walk, node: Node, place: int) -> tuple[str, ...]:
    state = walk.states.get(node.inputs[place]) if place < len(node.inputs) else None
    return state.nodes if isinstance(state, Known) else ()


def _window(walk: Walk, node: Node, kernel: tuple[int, ...]) -> dict[str, Any] | None:
    x, y = walk.graph.values[node.inputs[0]].shape, walk.graph.values[node.outputs[0]].shape
    if x is None or y is None or len(x) not in _RANKS:
        return None
    ctx = NodeContext(builder=walk.builder, node=node, graph=walk.graph, terms={})
    return {**window_of(ctx, x[2:], kernel, y[2:]), "groups": node.attributes.get("group", 1)}


def _conv(walk: Walk, node: Node) -> Mapping[str, State] | None:
    known = walk.states.get(node.inputs[1])
    if not isinstance(known, Known):
        return None
    window = _window(walk, node, known.array.shape[2:])
    return None if window is None else _layer(walk, node, "conv", 0, {"window": window})


def _gemm(walk: Walk, node: Node) -> Mapping[str, State] | None:
    attrs = node.attributes
    if attrs.get("transA", 0) or (attrs.get("beta", 1.0) != 1.0 and len(node.inputs) > 2):
        return None
    return _layer(walk, node, "dense", 0 if attrs.get("transB", 0) else 1, {}, attrs.get("alpha", 1.0))


def _matmul(walk: Walk, node: Node) -> Mapping[str, State] | None:
    a, b = (walk.states.get(name) for name in node.inputs)
    if isinstance(b, Known) and b.array.ndim == 2 and isinstance(a, Codes) and a.term.rank >= 2:
        return _layer(walk, node, "dense", 1, {})
    first, second = (walk.codes(name) for name in node.inputs)
    if first is None or second is None or first.scale is None or second.scale is None:
        return None
    if min(first.term.rank, second.term.rank) < 2 or 255.0 * 255.0 * first.term.shape[-1] >= _MOST:
        return None
    nodes = tuple(dict.fromkeys((*first.nodes, *second.nodes, node.id)))
    return {node.outputs[0]: Pending(kind="matmul", operands=(first, second), nodes=nodes, names=(), node=node)}


def with_bias(walk: Walk, node: Node) -> Mapping[str, State] | None:
    """A layer that waits and the vector that is added to it, one number for each output channel."""
    if node.op_type != "Add":
        return None
    for name, other in (node.inputs, node.inputs[::-1]):
        state = walk.states.get(name)
        if not isinstance(state, Pending) or state.kind not in ("conv", "dense"):
            continue
        weights: Weights = state.facts["weights"]
        array = walk.array(other)
        known = walk.states.get(other)
        if isinstance(known, Known) and known.axis is None:
            array = (known.array * known.scale).astype(np.float32)
        shape, channels = walk.graph.values[name].shape, weights.array.shape[0]
        if array is None or shape is None or weights.bias is not None or np.isfinite([state.low, state.high]).any():
            continue
        axis = 1 if state.kind == "conv" else len(shape) - 1
        along = [channels if place == axis else 1 for place in range(len(shape))]
        if array.size not in (1, channels) or list(np.broadcast_shapes(array.shape, along)) != along:
            continue
        bias = np.broadcast_to(array.reshape(-1).astype(np.float64), (channels,))
        facts = {**state.facts, "weights": replace(weights, bias=bias)}
        nodes = (*state.nodes, node.id)
        return {node.outputs[0]: replace(state, facts=facts, nodes=nodes, names=(*state.names, name))}
    return None


def attrs(
    weights: Weights, x_scale: float, x_zero: int, scale: float, zero: int, low: int, high: int
) -> tuple[np.ndarray, dict[str, Any]] | None:
    """The bias in 32 bits, multipliers (of the scales, and fitted) and shifts; ``None`` where 32 bits hold no sums."""
    products = x_scale * weights.scales
    bias = np.zeros(len(products))
    if weights.exact is not None:
        bias = weights.exact
    elif weights.bias is not None:
        bias = np.rint(weights.bias / np.maximum(products, 1e-38))
    rows = np.abs(weights.array.astype(np.float64)).reshape(len(products), -1).sum(1)
    reach = rows * max(127 - x_zero, x_zero + 128) + np.abs(bias)
    if not ((reach < _MOST).all() and (rows * 128 + np.abs(bias) + np.abs(rows * x_zero) < _MOST).all()):
        return None
    try:
        scaled = scaling(_as_ort(x_scale, weights.scales, scale))
    except OverflowError:
        return None
    return bias.astype(np.int32), {
        "multipliers": list(scaled.multipliers),
        "fitted": list(fitted(scaled, zero, low, high)),
        "shifts": list(scaled.shifts),
    }


def _as_ort(x_scale: float, scales: np.ndarray, y_scale: float) -> np.ndarray:
    """The scales of accumulators, multiplied in float32 and in ONNX Runtime's order, so that ties fall alike."""
    return (np.float32(x_scale) * scales.astype(np.float32) / np.float32(y_scale)).astype(np.float64)


def _emit_layer(
    walk: Walk, pending: Pending, scale: float, zero: int, low: int, high: int, quantiser: str
) -> Term | None:
    (x,) = pending.operands
    weights: Weights = pending.facts["weights"]
    found = attrs(weights, x.scale or 0.0, x.zero, scale, zero, low, high)
    if found is None:
        return None
    bias, numbers = found
    shape = walk.graph.values[pending.node.outputs[0]].shape or ()
    nodes = (*pending.nodes, quantiser)
    facts = {"x_zero": x.zero, "y_zero": zero, **numbers, "low": low, "high": high, "weight_bits": weights.bits}
    b = walk.builder
    b.origin = nodes
    w, c = b.constant(weights.array), b.constant(bias)
    if pending.kind == "conv":
        return walk.emit("q_conv", (x.term, w, c), "int8", shape, nodes, **pending.facts["window"], **facts)
    rows = prod(x.term.shape[:-1])
    flat = b.reshape(x.term, (rows, x.term.shape[-1]))
    made = walk.emit("q_dense", (flat, w, c), "int8", (rows, weights.array.shape[0]), nodes, **facts)
    return b.reshape(made, shape)


def _emit_matmul(
    walk: Walk, pending: Pending, scale: float, zero: int, low: int, high: int, quantiser: str
) -> Term | None:
    a, b = pending.operands
    try:
        products = _as_ort(a.scale or 0.0, np.array([b.scale or 0.0]), scale)
        found = scaling(products)
    except OverflowError:
        return None
    shape = walk.graph.values[pending.node.outputs[0]].shape or ()
    return walk.emit(
        "q_matmul", (a.term, b.term), "int8", shape, (*pending.nodes, quantiser), a_zero=a.zero, b_zero=b.zero,
        y_zero=zero, multiplier=found.multipliers[0], shift=found.shifts[0], low=low, high=high,
    )  # fmt: skip


def qlinear_conv(walk: Walk, node: Node) -> bool:
    """QLinearConv; whether integers suffice."""
    x = _operand(walk, node, 0)
    known = _constant(walk, node, 3)
    if x is None or known is None:
        return False
    window = _window(walk, node, known.array.shape[2:])
    bias = walk.array(node.inputs[8]) if len(node.inputs) > 8 and node.inputs[8] else None
    if window is None or (bias is None and len(node.inputs) > 8 and node.inputs[8]):
        return False
    return _qlinear(walk, node, x, known, bias, "conv", 0, {"window": window})


def qlinear_matmul(walk: Walk, node: Node) -> bool:
    """QLinearMatMul by a constant; whether integers suffice."""
    x, known = _operand(walk, node, 0), _constant(walk, node, 3)
    if x is None or known is None or known.array.ndim != 2 or x.term.rank < 2:
        return False
    return _qlinear(walk, node, x, known, None, "dense", 1, {})


def _operand(walk: Walk, node: Node, place: int) -> Codes | None:
    stored = walk.stored(node.inputs[place])
    scale, zero = (walk.array(name) for name in node.inputs[place + 1 : place + 3])
    if stored is None or scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    dtype = walk.graph.values[node.inputs[place]].dtype or ""
    return affine(stored.term, float(scale.reshape(-1)[0]), zero_as_int8(zero, dtype), stored.nodes)


def _constant(walk: Walk, node: Node, place: int) -> Known | None:
    array, scale, zero = (walk.array(name) for name in node.inputs[place : place + 3])
    if array is None or scale is None or zero is None or array.ndim < 2:
        return None
    axis = 0 if node.op_type == "QLinearConv" else array.ndim - 1
    along = [zero.size if dim == axis else 1 for dim in range(array.ndim)]
    return Known(
        array=array.astype(np.int64) - zero.astype(np.int64).reshape(along), scale=scale.reshape(-1).astype(np.float64),
        axis=None if scale.size == 1 else axis, codes=None, zero=0, bits=8, nodes=(),
    )  # fmt: skip


def _qlinear(
    walk: Walk, node: Node, x: Codes, known: Known, bias: np.ndarray | None, kind: str, axis: int, facts: dict[str, Any]
) -> bool:
    found = _rows(known, known.array, axis)
    scale, zero = (walk.array(name) for name in node.inputs[6:8])
    dtype = walk.graph.values[node.outputs[0]].dtype or ""
    if found is None or scale is None or zero is None or scale.size != 1:
        return False
    array, scales = found
    exact = None if bias is None else bias.astype(np.float64)
    weights = Weights(array=array, scales=scales, bias=exact, exact=exact, bits=8)
    pending = Pending(kind=kind, operands=(x,), facts={"weights": weights, **facts}, nodes=x.nodes, names=(), node=node)
    step, point = float(scale.reshape(-1)[0]), zero_as_int8(zero, dtype)
    term = _emit_layer(walk, pending, step, point, -128, 127, node.id)
    if term is None:
        return False
    walk.states[node.outputs[0]] = Stored(term=term, nodes=(node.id,))
    return True


RULES: Mapping[str, Rule] = {"Conv": _conv, "Gemm": _gemm, "MatMul": _matmul}
EMITTERS: Mapping[str, Emitter] = {"conv": _emit_layer, "dense": _emit_layer, "matmul": _emit_matmul}
