"""Where a model rounds inside: its quantisers, its half-precision arithmetic, its weights of few bits.

Two right computations of such a model differ, and the difference grows through the layers. Who judges them asks here
what rounds, and how; `graph.reference.perturb` rounds otherwise on purpose, and `graph.reference.stages` checks each
quantiser by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

CONTRIB = "com.microsoft"
"""The domain of ONNX Runtime's own operators, which its quantisation tools write."""
HALF = frozenset({"float16", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
_LOW_BITS = frozenset({"int8", "uint8", "int4", "uint4", "int2", "uint2"})
_MOVES = frozenset(
    {"Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "MaxPool", "GlobalMaxPool"}
    | {"Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where", "ScatterND", "Pad", "Shape"}
    | {"DepthToSpace", "SpaceToDepth", "Relu", "Max", "Min", "Clip", "Neg", "Abs", "Dropout", "ReduceMax", "ReduceMin"}
    | {"ConstantOfShape", "Constant", "Sign", "ScatterElements", "Trilu", "OneHot"}
)
"""Operators whose results are numbers that they read: nothing is rounded."""
_PASSING = frozenset({"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Concat"})
_ROUNDS = "rounds"
_QUANTISERS = "quantisers"
SMALL = 16
"""Values of so few elements are sizes and the like: rounding them otherwise would change shapes."""


class Rounding(StrEnum):
    """How a node rounds."""

    QUANTISE = "quantise"
    """To steps of a stated size: the result is told, and so is what was rounded."""
    DYNAMIC = "dynamic"
    """To steps whose size follows from the data."""
    STEPS = "steps"
    """Its results are whole numbers that it rounds to inside."""
    HALF = "half"
    """Its results are floats of 16 bits or less."""
    WHOLE = "whole"
    """To whole numbers, as quantisers do that are spelt out."""
    CUT = "cut"
    """To the whole number below or above."""
    LOW_BITS = "low bits"
    """It multiplies with weights of few bits, where engines quantise the other factor too."""


def rounding(node: Node, graph: Graph) -> Rounding | None:
    """How a node rounds; ``None`` if its results are fp32 or exact."""
    op = node.op_type
    if node.domain not in ("", CONTRIB):
        return None
    if op == "QuantizeLinear":
        return Rounding.QUANTISE
    if op == "DynamicQuantizeLinear":
        return Rounding.DYNAMIC
    if _rounds_inside(node, graph):
        return Rounding.STEPS
    if op not in _MOVES and any(_dtype(graph, name) in HALF for name in node.outputs):
        return Rounding.HALF
    if op == "MatMulNBits" or (op in ("MatMul", "Gemm") and _multiplies_low_bits(node, graph)):
        return Rounding.LOW_BITS
    if op == "Round":
        return Rounding.WHOLE
    if op in ("Floor", "Ceil") or (op == "Cast" and _is_whole(_dtype(graph, node.outputs[0]))):
        return Rounding.CUT
    return None


def rounds(graph: Graph) -> bool:
    """Whether a graph rounds inside, so that two right computations of it differ by more than fp32 does."""
    if _ROUNDS not in graph.memo:
        graph.memo[_ROUNDS] = any(True for _ in _telling(graph))
    return bool(graph.memo[_ROUNDS])


def quantisers(graph: Graph) -> tuple[Node, ...]:
    """The nodes that round to steps, each of which can be checked by itself on what it reads."""
    if _QUANTISERS not in graph.memo:
        kinds = (Rounding.QUANTISE, Rounding.DYNAMIC, Rounding.STEPS)
        several = (node for node in graph.nodes if not node.has_subgraph and rounding(node, graph) in kinds)
        graph.memo[_QUANTISERS] = tuple(several)
    found: tuple[Node, ...] = graph.memo[_QUANTISERS]
    return found


def rounds_besides(graph: Graph) -> bool:
    """Whether something rounds that is no quantiser: the way between two quantisers is not exact then."""
    kinds = (Rounding.HALF, Rounding.LOW_BITS, Rounding.WHOLE)
    return any(rounding(node, graph) in kinds for node in _telling(graph))


def is_dequantised(graph: Graph, name: str) -> bool:
    """Whether a value is a constant, or quantised numbers made floats again."""
    node = _source(graph, name)
    return name in graph.weights or (node is not None and node.op_type == "DequantizeLinear")


def _telling(graph: Graph) -> Iterator[Node]:
    """Nodes whose rounding makes a model one that rounds: fp32 models cut numbers to compute sizes."""
    for node in graph.nodes:
        kind = rounding(node, graph)
        if kind is None or kind is Rounding.CUT or (kind is Rounding.WHOLE and _is_small(node, graph)):
            continue
        yield node


def _rounds_inside(node: Node, graph: Graph) -> bool:
    if node.op_type in ("QLinearConv", "QLinearMatMul"):
        return True
    if node.domain != CONTRIB:
        return False
    is_quantised = node.op_type.startswith("QLinear") or node.op_type in ("QGemm", "QLinearConv")
    return is_quantised and _dtype(graph, node.outputs[0]) not in ("float32", "float64")


def _multiplies_low_bits(node: Node, graph: Graph) -> bool:
    """Whether one factor is a dequantised constant and the other one comes as a float that nobody quantised."""
    if len(node.inputs) < 2:
        return False
    sides = [_source(graph, name) for name in node.inputs[:2]]
    is_constant = [side is not None and _is_low_bit_constant(side, graph) for side in sides]
    is_plain = [side is None or side.op_type != "DequantizeLinear" for side in sides]
    return (is_constant[0] and is_plain[1]) or (is_constant[1] and is_plain[0])


def _is_low_bit_constant(node: Node, graph: Graph) -> bool:
    if node.op_type != "DequantizeLinear":
        return False
    weight = graph.weights.get(node.inputs[0])
    return weight is not None and weight.dtype in _LOW_BITS


def _source(graph: Graph, name: str) -> Node | None:
    """The node that computes a value, past those that only move numbers."""
    while (value := graph.values.get(name)) is not None and value.producer is not None:
        node = graph.nodes[value.producer]
        if node.op_type not in _PASSING:
            return node
        name = node.inputs[0]
    return None


def _dtype(graph: Graph, name: str) -> str | None:
    value = graph.values.get(name)
    return None if value is None else value.dtype


def _is_whole(dtype: str | None) -> bool:
    return dtype is not None and dtype.removeprefix("u").startswith("int")


def _is_small(node: Node, graph: Graph) -> bool:
    value = graph.values.get(node.outputs[0])
    if value is None or value.shape is None:
        return False
    count = 1
    for size in value.shape:
        count *= size
    return count <= SMALL
