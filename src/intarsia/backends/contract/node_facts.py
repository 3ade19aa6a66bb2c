"""Facts about a node that the engines' rules of refusal use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from intarsia.graph import Graph, Node

Case = Callable[["Node", "Graph"], str | None]
"""A rule on nodes of one operator: why it is not taken, or ``None``."""


def words(*rows: str) -> frozenset[str]:
    """The blank-separated words of some rows: how tables of operators and types are written."""
    return frozenset(word for row in rows for word in row.split())


def inner_operators(node: Node) -> Iterator[tuple[str, str]]:
    """Domain and type of each operator in the node's nested graphs, at any depth."""
    graphs = [value for value in node.attributes.values() if hasattr(value, "node")]
    while graphs:
        for inner in graphs.pop().node:
            yield inner.domain, inner.op_type
            graphs += [graph for attribute in inner.attribute for graph in (attribute.g, *attribute.graphs)]


def has_input(node: Node, position: int) -> bool:
    """Whether an optional input is there."""
    return len(node.inputs) > position and node.inputs[position] != ""


def has_output(node: Node, position: int) -> bool:
    """Whether an optional output is asked for."""
    return len(node.outputs) > position and node.outputs[position] != ""


def input_dtype(node: Node, graph: Graph, position: int) -> str | None:
    """Element type of an input; ``None`` if it is left out or unknown."""
    return graph.values[node.inputs[position]].dtype if has_input(node, position) else None


def input_rank(node: Node, graph: Graph, position: int) -> int | None:
    """Number of dimensions of an input; ``None`` if it is left out or unknown."""
    shape = graph.values[node.inputs[position]].shape if has_input(node, position) else None
    return None if shape is None else len(shape)


def is_constant(node: Node, graph: Graph, position: int) -> bool:
    """Whether an input is left out or a weight."""
    return not has_input(node, position) or node.inputs[position] in graph.weights


def constant(node: Node, graph: Graph, position: int) -> np.ndarray | None:
    """The content of an input that is a weight."""
    if not has_input(node, position) or node.inputs[position] not in graph.weights:
        return None
    return graph.weights[node.inputs[position]].array()


def products_of(node: Node, graph: Graph) -> Iterator[tuple[Node, int]]:
    """Matrix products whose right side is what a node gives, each with the axis of that side which is summed over."""
    name = node.outputs[0]
    rank = len(graph.values[name].shape or ())
    for reader in (graph.nodes[index] for index in graph.values[name].consumers):
        if reader.op_type in ("Gemm", "MatMul") and reader.inputs[1] == name:
            yield reader, rank - (1 if reader.attributes.get("transB") else 2)


def refused(reason: str, holds: Callable[[Node, Graph], object]) -> Case:
    """A rule: nodes that something holds for are not taken. ``{}`` in the reason stands for the operator's name."""
    return lambda node, graph: reason.format(node.op_type) if holds(node, graph) else None


def first_reason(case: Mapping[str, Case], node: Node, graph: Graph) -> str | None:
    """What the rule for this operator says, if there is one."""
    rule = case.get(node.op_type)
    return None if rule is None else rule(node, graph)


def is_mod_of_floats(node: Node, graph: Graph) -> bool:
    """Whether a Mod of floats has the sign of the divisor, unlike C's ``fmod``."""
    return str(input_dtype(node, graph, 0)).startswith("float") and not node.attributes.get("fmod", 0)


def resizes_by_part_of_a_pixel(node: Node, graph: Graph) -> bool:
    """Whether a Resize aligns corners at scales that give no whole number of pixels.

    There ONNX computes with the scale as given, and engines with the ratio of the rounded sizes.
    """
    if node.attributes.get("coordinate_transformation_mode") != "align_corners":
        return False
    if node.attributes.get("mode", "nearest") == "nearest" or not has_input(node, 2):
        return False
    scales, shape = constant(node, graph, 2), graph.values[node.inputs[0]].shape
    if scales is None or shape is None:
        return True
    axes = node.attributes.get("axes") or range(len(shape))
    sizes = [float(scale) * shape[axis] for axis, scale in zip(axes, scales.reshape(-1), strict=False)]
    return any(abs(size - round(size)) > 1e-4 for size in sizes)


def has_window_in_padding(node: Node, graph: Graph) -> bool:
    """Whether the last window of a pool with ``ceil_mode`` starts in the padding behind the data.

    ONNX leaves such a window out, but some engines count it, as ONNX's own inference of shapes did up to opset 21.
    """
    shape = graph.values[node.inputs[0]].shape
    if not node.attributes.get("ceil_mode", 0) or shape is None:
        return False
    kernel = node.attributes["kernel_shape"]
    rank = len(kernel)
    strides = node.attributes.get("strides") or [1] * rank
    dilations = node.attributes.get("dilations") or [1] * rank
    pads = node.attributes.get("pads") or [0] * (2 * rank)
    for axis, size in enumerate(shape[2:]):
        room = size + pads[axis] + pads[axis + rank] - dilations[axis] * (kernel[axis] - 1) - 1
        if -(-room // strides[axis]) * strides[axis] >= size + pads[axis]:
            return True
    return False
