"""Operators on single elements: tables of 256 results, sums and products, bounds of what is computed before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.lowering.integer.fixed_point import scaling
from intarsia.backends.lowering.integer.operators import Emitter, Rule
from intarsia.backends.lowering.integer.sums import weighted_sum
from intarsia.backends.lowering.integer.values import CODES, Codes, Known, Pending, State
from intarsia.backends.lowering.integer.walk import UNSIGNED, Walk, held
from intarsia.backends.lowering.program import Term, UnsupportedError

if TYPE_CHECKING:
    from intarsia.graph import Node

_TABLES = (
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Celu", "Clip", "Cos", "Cosh",
    "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Max", "Min", "Mish",
    "Mul", "Neg", "Pow", "PRelu", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
    "Softsign", "Sqrt", "Sub", "Swish", "Tan", "Tanh", "ThresholdedRelu",
)  # fmt: skip
"""Functions of one element each, if all operands but one are single numbers."""
_PAIRS = {"Add": "add", "Sub": "sub", "Mul": "mul"}


def number(walk: Walk, name: str) -> np.ndarray | None:
    """A constant of one element in float32; ``None`` if it is something else."""
    array, state = walk.array(name), walk.states.get(name)
    if array is not None and array.size == 1 and array.dtype == np.float32:
        return array.reshape(())
    if isinstance(state, Known) and state.array.size == 1:
        return np.array(state.array.reshape(-1)[0] * state.scale[0], np.float32)
    return None


def _table(walk: Walk, node: Node) -> Mapping[str, State] | None:
    """All results, one for each code, computed as the operator is defined."""
    from intarsia.graph.reference.reference import EVALUATION_ERRORS, evaluate_node

    sources: list[Codes] = []
    feeds: dict[str, np.ndarray] = {}
    for name in node.reads:
        state = walk.states.get(name)
        alone = number(walk, name)
        if alone is not None:
            feeds[name] = alone
        elif isinstance(state, Codes):
            feeds[name] = state.table
            sources.append(state)
        else:
            return None
    out = walk.graph.values[node.outputs[0]]
    if not sources or len({each.term.number for each in sources}) > 1:
        return None
    if out.dtype != "float32" or out.shape != sources[0].term.shape:
        return None
    types = {name: walk.graph.values[name].type_proto for name in node.reads}
    try:
        (found, *_) = evaluate_node(node.proto, walk.graph.opsets, feeds, types)
    except EVALUATION_ERRORS:
        return None
    table = np.asarray(found, np.float32)
    if table.shape != CODES.shape:
        return None
    nodes = tuple(dict.fromkeys(id_ for each in sources for id_ in each.nodes))
    return {out.name: Codes(term=sources[0].term, table=table, nodes=(*nodes, node.id))}


def _bounds(walk: Walk, node: Node) -> tuple[float, float] | None:
    if node.op_type == "Relu":
        return 0.0, float("inf")
    if node.op_type != "Clip":
        return None
    found = [-float("inf"), float("inf")]
    for place, name in enumerate(node.inputs[1:]):
        if name:
            alone = number(walk, name)
            if alone is None:
                return None
            found[place] = float(alone)
    return found[0], found[1]


def _elementwise(walk: Walk, node: Node) -> Mapping[str, State] | None:
    name = node.inputs[0]
    state, bounds = walk.states.get(name), _bounds(walk, node)
    if isinstance(state, Pending) and bounds is not None:
        return {node.outputs[0]: held(state, *bounds, node, name)}
    found = _table(walk, node)
    if found is None and node.op_type in _PAIRS:
        from intarsia.backends.lowering.integer.layers import with_bias

        return with_bias(walk, node) or _pair(walk, node)
    return found


def _pair(walk: Walk, node: Node) -> Mapping[str, State] | None:
    a, b = (walk.codes(name) for name in node.inputs)
    if a is None or b is None or a.scale is None or b.scale is None:
        return None
    nodes = tuple(dict.fromkeys((*a.nodes, *b.nodes, node.id)))
    return {node.outputs[0]: Pending(kind=_PAIRS[node.op_type], operands=(a, b), nodes=nodes, names=(), node=node)}


def _emit_pair(
    walk: Walk, pending: Pending, scale: float, zero: int, low: int, high: int, quantiser: str
) -> Term | None:
    a, b = pending.operands
    if a.scale is None or b.scale is None:
        return None
    if pending.kind == "mul":
        try:
            scaling([a.scale * b.scale / scale])
        except OverflowError:
            return None
    elif weighted_sum((a.scale, a.zero), (b.scale, b.zero), (scale, zero)) is None:
        return None
    attrs = {
        "a_scale": a.scale, "a_zero": a.zero, "b_scale": b.scale, "b_zero": b.zero, "y_scale": scale, "y_zero": zero,
        "low": low, "high": high,
    }  # fmt: skip
    if pending.kind != "mul":
        (made,) = walk.graph.node(quantiser).outputs
        attrs["behind"] = UNSIGNED if walk.graph.values[made].dtype == "uint8" else 0
    shape = walk.graph.values[pending.node.outputs[0]].shape
    if shape is None:
        raise UnsupportedError("its output's shape is only known after it was computed")
    return walk.emit(f"q_{pending.kind}", (a.term, b.term), "int8", shape, (*pending.nodes, quantiser), **attrs)


RULES: Mapping[str, Rule] = dict.fromkeys(_TABLES, _elementwise)
EMITTERS: Mapping[str, Emitter] = dict.fromkeys(_PAIRS.values(), _emit_pair)
