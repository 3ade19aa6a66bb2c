"""In which element type an operator computes: between DequantizeLinear and QuantizeLinear, that of the integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.partitioning.groups import ACTIVATIONS, DEQUANTIZE, QUANTIZE

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node


def is_conversion(node: Node) -> bool:
    """Whether a node only converts between integers and floats."""
    return node.op_type in DEQUANTIZE or node.op_type in QUANTIZE


def computed_type(node: Node, name: str, graph: Graph) -> str | None:
    """The element type in which an engine of integers would compute with an input of a node; ``None``: unknown."""
    return _integer_behind(name, graph) if reads_integers(node, graph) else graph.values[name].dtype


def reads_integers(node: Node, graph: Graph) -> bool:
    """Whether all that a node computes with is dequantised just before it, and its results are quantised again.

    An activation between an operator and its QuantizeLinear belongs to that operator.
    """
    if is_conversion(node):
        return False
    floats = [name for name in node.inputs if name and not _is_parameter(name, graph)]
    dequantised = [_integer_behind(name, graph) is not None for name in floats]
    return bool(floats) and all(dequantised) and all(_is_quantised(name, graph) for name in node.outputs if name)


def _is_parameter(name: str, graph: Graph) -> bool:
    """Whether a value is a weight that is no data: a shape, axes, limits."""
    return name in graph.weights


def _integer_behind(name: str, graph: Graph) -> str | None:
    """The element type that a value was dequantised from, at once or through the operator of an activation."""
    producer = graph.values[name].producer
    if producer is None:
        return None
    node = graph.nodes[producer]
    if node.op_type in DEQUANTIZE:
        return graph.values[node.inputs[0]].dtype
    readers = graph.values[name].consumers
    if node.op_type in QUANTIZE or len(readers) != 1 or graph.nodes[readers[0]].op_type not in ACTIVATIONS:
        return None
    first = graph.values[node.inputs[0]].producer
    if first is None or graph.nodes[first].op_type not in DEQUANTIZE:
        return None
    return graph.values[graph.nodes[first].inputs[0]].dtype


def _is_quantised(name: str, graph: Graph) -> bool:
    value = graph.values[name]
    readers = [graph.nodes[index] for index in value.consumers]
    if value.is_output or not readers:
        return False
    if len(readers) == 1 and readers[0].op_type in ACTIVATIONS:
        return _is_quantised(readers[0].outputs[0], graph)
    return all(reader.op_type in QUANTIZE for reader in readers)
