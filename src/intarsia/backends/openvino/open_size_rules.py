"""Which nodes OpenVINO takes of a graph with open dimensions, whose sizes are known only at a call.

Their shapes may follow from the sizes of the inputs, by whatever arithmetic; not from what values hold. A partition is
compiled once, with its dimensions open (see `open_sizes`), so the rank of every value must be known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import (
    Case,
    constant,
    first_reason,
    has_input,
    input_dtype,
    is_constant,
    refused,
    words,
)
from intarsia.backends.openvino.shape_rules import BY_POINTER, COUNTED, DECIDING, OF_SHAPE, contents_read

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

_AT_RUN_TIME: Mapping[str, frozenset[int]] = {
    "ConstantOfShape": frozenset({0}),
    "Expand": frozenset({1}),
    "Pad": frozenset({1}),
    "Range": frozenset({0, 1, 2}),
    "Reshape": frozenset({1}),
    "Resize": frozenset({3}),
    "Slice": frozenset({1, 2}),
    "Tile": frozenset({1}),
}
"""Operator -> the inputs that may be computed from sizes; the others that decide over shapes must be constants."""
_KEEPS_SMALL = words(
    "Add Cast Ceil Concat Div Expand Floor Gather Identity Max Min Mod Neg Reshape Slice Squeeze Sub Unsqueeze Where"
)
"""Operators that make no large number of small ones, as sizes are."""
_LARGEST = 1 << 20
"""Constants up to here count as small: with sizes, they stay in the 24 bits that float32 has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What follows from the sizes of the inputs.

    Attributes:
        contents: Values whose content does.
        small: Those among them that are sizes, or sums, quotients and the like of sizes.
        wild: Values whose shape does not follow: it depends on what values hold.
    """

    contents: frozenset[str]
    small: frozenset[str]
    wild: frozenset[str]


def refusal(node: Node, graph: Graph) -> str | None:
    """Why a node of a graph with open dimensions is not given to OpenVINO, or ``None``."""
    facts = _facts(graph)
    borders = tuple(filter(None, (*node.reads, *node.outputs)))
    if all(graph.values[name].shape is not None for name in borders) and facts.wild.isdisjoint(borders):
        return _undecided(node, facts, graph)
    if node.has_subgraph:
        return f"openvino takes {node.op_type} only where every size is fixed"
    for name in borders:
        value = graph.values[name]
        if name in facts.wild:
            return f"the shape of {name} depends on what values hold, not only on the sizes of the inputs"
        if value.rank is None:
            return f"the number of dimensions of {name} is only known after it was computed"
        if value.shape is None and str(value.dtype).startswith(BY_POINTER):
            return f"openvino hands out {value.dtype} by pointer only, and the shape of {name} is not known before"
    return _undecided(node, facts, graph) or first_reason(_CASES, node, graph)


def is_size(name: str, graph: Graph) -> bool:
    """Whether a value holds sizes, or what sums and quotients make of them: numbers that float32 holds exactly."""
    return bool(graph.sizes) and name in _facts(graph).small


def _undecided(node: Node, facts: _Facts, graph: Graph) -> str | None:
    for position in DECIDING.get(node.op_type, ()):
        if is_constant(node, graph, position):
            continue
        if node.inputs[position] not in facts.contents:
            return f"input {position} of {node.op_type} decides over a shape, and depends on what values hold"
        if position not in _AT_RUN_TIME.get(node.op_type, ()):
            return f"openvino wants input {position} of {node.op_type} as a constant where sizes are open"
        if graph.values[node.inputs[position]].shape is None:
            return f"how many numbers input {position} of {node.op_type} has is only known after it was computed"
    return None


def _facts(graph: Graph) -> _Facts:
    key = (__name__, "facts")
    if key not in graph.memo:
        graph.memo[key] = _collected(graph)
    found: _Facts = graph.memo[key]
    return found


def _collected(graph: Graph) -> _Facts:
    contents: set[str] = set(graph.weights)
    small: set[str] = set()
    wild: set[str] = set()
    for node in graph.nodes:
        outputs = set(filter(None, node.outputs))
        if node.has_subgraph or node.op_type in COUNTED or not wild.isdisjoint(node.reads):
            wild |= {name for name in outputs if graph.values[name].shape is None}
            continue
        if node.op_type in OF_SHAPE or contents.issuperset(contents_read(node)):
            contents |= outputs
            if node.op_type == "Shape" or (node.op_type in _KEEPS_SMALL and _all_small(node, small, graph)):
                small |= outputs
        deciding = [node.inputs[at] for at in DECIDING.get(node.op_type, ()) if has_input(node, at)]
        if not contents.issuperset(deciding):
            wild |= {name for name in outputs if graph.values[name].shape is None}
    return _Facts(contents=frozenset(contents), small=frozenset(small), wild=frozenset(wild))


def _all_small(node: Node, small: set[str], graph: Graph) -> bool:
    for position, name in enumerate(node.inputs):
        if not name or name in small:
            continue
        value = constant(node, graph, position)
        if value is None or value.size == 0 or not (abs(value) <= _LARGEST).all():
            return False
    return True


def _dim(name: str, axis: int, graph: Graph) -> int | None:
    """A dimension of a value; ``None`` if it is open."""
    value = graph.values[name]
    if value.shape is not None:
        return value.shape[axis]
    assert value.type_proto is not None, "its rank is known"
    dim = value.type_proto.tensor_type.shape.dim[axis]
    return int(dim.dim_value) if dim.HasField("dim_value") else None


def _needs_constants(*positions: int) -> Case:
    """A rule: these inputs are constants, or left out."""

    def rule(node: Node, graph: Graph) -> str | None:
        for position in positions:
            if not is_constant(node, graph, position):
                return f"openvino wants input {position} of {node.op_type} as a constant where sizes are open"
        return None

    return rule


def _attention(node: Node, graph: Graph) -> str | None:
    if "q_num_heads" in node.attributes:
        return None
    if None in (_dim(name, 1, graph) for name in node.inputs[:3]):
        return "openvino wants the number of heads of an Attention where sizes are open"
    return None


def _dequantise(node: Node, graph: Graph) -> str | None:
    if node.attributes.get("block_size", 0) and node.inputs[0] not in graph.weights:
        return "openvino dequantises in blocks only where every size is fixed"
    return _needs_constants(1, 2)(node, graph)


def _narrow_division(node: Node, graph: Graph) -> str | None:
    dtype = input_dtype(node, graph, 0)
    if dtype in {"int8", "uint8", "int16", "uint16"}:
        return f"openvino divides {dtype} wrongly where sizes are open"
    return None


def _prelu(node: Node, graph: Graph) -> str | None:
    if node.inputs[1] in graph.weights:
        weight = graph.weights[node.inputs[1]]
        if len(weight.shape) != 1 or weight.shape == (1,):
            return None
    return "openvino takes a PRelu's slope along another axis than ONNX where sizes are open"


def _rotary(node: Node, graph: Graph) -> str | None:
    if None in (_dim(name, -1, graph) for name in node.inputs[1:3]):
        return "openvino wants the last dimension of a RotaryEmbedding's tables where sizes are open"
    return None


def _split(node: Node, graph: Graph) -> str | None:
    axis = node.attributes.get("axis", 0)
    if not has_input(node, 1) and _dim(node.inputs[0], axis, graph) is None:
        return "openvino splits an open dimension only into equal parts"
    return None


_CASES: Mapping[str, Case] = {
    "Attention": _attention,
    **dict.fromkeys(("Conv", "ConvTranspose", "QuantizeLinear"), _needs_constants(1, 2)),
    "DequantizeLinear": _dequantise,
    **dict.fromkeys(("Div", "Mod"), _narrow_division),
    "LRN": refused(
        "openvino wants the number of channels of an LRN where sizes are open",
        lambda node, graph: _dim(node.inputs[0], 1, graph) is None,
    ),
    "PRelu": _prelu,
    "QLinearConv": _needs_constants(1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": _needs_constants(1, 2, 4, 5, 6, 7),
    "RoiAlign": refused("openvino takes RoiAlign only where every size is fixed", lambda *_: True),
    "RotaryEmbedding": _rotary,
    "Split": _split,
}
"""What is wrong, or not converted, only where sizes are open: found by opening every dimension of the node tests."""
