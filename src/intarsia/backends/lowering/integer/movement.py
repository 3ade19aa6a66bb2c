"""Operators that move codes and compute none: whatever lies behind, the codes stand for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.lowering.integer.fixed_point import in_steps
from intarsia.backends.lowering.integer.operators import Emitter, Rule
from intarsia.backends.lowering.integer.values import Codes, Pending, State, Stored
from intarsia.backends.lowering.integer.walk import Walk
from intarsia.backends.lowering.lower import RULES as ORDINARY
from intarsia.backends.lowering.node_context import NodeContext, axis_of
from intarsia.backends.lowering.program import LEAVES, Term, UnsupportedError

if TYPE_CHECKING:
    from intarsia.graph import Node

_MOVING = frozenset({"expand", "identity", "pad", "pool_max", "reshape", "slice", "take", "transpose"})
"""Instructions that do."""
_OPERATORS = (
    "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Pad", "Reshape", "Resize", "Slice",
    "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
)  # fmt: skip
_LOWEST, _HIGHEST = -128, 127


def _move(walk: Walk, node: Node) -> Mapping[str, State] | None:
    name = node.inputs[0]
    state = walk.states.get(name)
    if isinstance(state, Pending) or node.op_type not in ORDINARY:
        return None
    source = state if isinstance(state, Codes | Stored) else None
    if source is None:
        return None
    if node.op_type == "MaxPool":
        rises = isinstance(source, Stored) or source.scale is not None
        if not rises or source.term.rank not in (3, 4):
            return None
    found = _moved(walk, node, source)
    if found is None:
        return None
    outputs = [each for each in node.outputs if each]
    nodes = (*source.nodes, node.id)
    if isinstance(source, Stored):
        return {each: Stored(term=term, nodes=(node.id,)) for each, term in zip(outputs, found, strict=True)}
    return {each: source.on(term, nodes) for each, term in zip(outputs, found, strict=True)}


def _moved(walk: Walk, node: Node, source: Codes | Stored) -> list[Term] | None:
    """What today's rule makes of the codes; taken back where it does more than move them."""
    b = walk.builder
    start = len(b.instructions)
    b.origin = (*source.nodes, node.id)
    try:
        terms = {name: walk.term(name) for name in node.reads if name != node.inputs[0]}
        start = len(b.instructions)
        ctx = NodeContext(builder=b, node=node, graph=walk.graph, terms={**terms, node.inputs[0]: source.term})
        results = ORDINARY[node.op_type](ctx)
    except UnsupportedError:
        return None
    found = [results] if isinstance(results, Term) else [each for each in results if each is not None]
    names = {each.name for each in b.instructions[start:]} - LEAVES
    shapes = [walk.graph.values[name].shape for name in node.outputs if name]
    if not names <= _MOVING or [each.shape for each in found] != shapes or {each.dtype for each in found} != {"int8"}:
        return None
    for number in range(start, len(b.instructions)):
        made = b.instructions[number]
        if made.name == "pad":
            value = _padding(source, float(made.attributes["value"]))
            if value is None:
                return None
            b.instructions[number] = replace(made, attributes={**made.attributes, "value": value})
        elif made.name == "pool_max":
            attrs = {**made.attributes, "low": _LOWEST, "high": _HIGHEST}
            b.instructions[number] = replace(made, name="q_pool_max", attributes=attrs)
    return found


def _padding(source: Codes | Stored, value: float) -> int | None:
    """The code of what lies around; ``None`` if no code stands for it."""
    if isinstance(source, Stored):
        return None
    if source.scale is None:
        places = np.flatnonzero(source.table == np.float32(value))
        return int(places[0]) - 128 if places.size else None
    code = int(in_steps(value, source.scale, source.zero))
    return code if source.table[code + 128] == np.float32(value) else None


def _global_max(walk: Walk, node: Node) -> Mapping[str, State] | None:
    x = walk.states.get(node.inputs[0])
    if not isinstance(x, Codes) or x.scale is None or x.term.rank not in (3, 4):
        return None
    rank = x.term.rank - 2
    term = walk.emit(
        "q_pool_max", (x.term,), "int8", (*x.term.shape[:2], *[1] * rank), (*x.nodes, node.id),
        kernel=list(x.term.shape[2:]), strides=[1] * rank, dilations=[1] * rank, before=[0] * rank, after=[0] * rank,
        low=_LOWEST, high=_HIGHEST,
    )  # fmt: skip
    return {node.outputs[0]: x.on(term, (node.id,))}


def _concat(walk: Walk, node: Node) -> Mapping[str, State] | None:
    states = [walk.states.get(name) for name in node.inputs]
    ranks = {len(walk.graph.values[name].shape or ()) for name in node.inputs}
    axis = axis_of(node.attributes.get("axis", 0), max(ranks))
    stored = [each for each in states if isinstance(each, Stored)]
    if len(stored) == len(states):
        term = _joined(walk, [each.term for each in stored], axis, (node.id,))
        return {node.outputs[0]: Stored(term=term, nodes=(node.id,))}
    parts = [walk.codes(name) for name in node.inputs]
    found = [each for each in parts if each is not None]
    if len(found) < len(parts):
        return None
    nodes = tuple(dict.fromkeys(id_ for each in found for id_ in each.nodes))
    if len({each.table.tobytes() for each in found}) == 1:
        term = _joined(walk, [each.term for each in found], axis, (*nodes, node.id))
        return {node.outputs[0]: replace(found[0].on(term, (node.id,)), nodes=(*nodes, node.id))}
    pending = Pending(
        kind="concat", operands=tuple(found), facts={"axis": axis}, nodes=(*nodes, node.id), names=(), node=node
    )
    return {node.outputs[0]: pending}


def _joined(walk: Walk, terms: list[Term], axis: int, nodes: tuple[str, ...]) -> Term:
    walk.builder.origin = nodes
    return walk.builder.concat(terms, axis)


def _emit_concat(
    walk: Walk, pending: Pending, scale: float, zero: int, low: int, high: int, quantiser: str
) -> Term | None:
    if (low, high) != (_LOWEST, _HIGHEST):
        return None
    terms = [walk.moved_to(part, scale, zero, (quantiser,)) for part in pending.operands]
    return _joined(walk, terms, pending.facts["axis"], (*pending.nodes, quantiser))


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_OPERATORS, _move),
    "Concat": _concat,
    "GlobalMaxPool": _global_max,
}
EMITTERS: Mapping[str, Emitter] = {"concat": _emit_concat}
