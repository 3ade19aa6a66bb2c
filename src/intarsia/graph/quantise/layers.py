"""Finds nodes that can compute in few bits: products with constant weights, and sums of their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intarsia.config.precision import Scheme
from intarsia.graph.work import flops

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

SUMS = ("Add", "Sum")
"""Operators that add values."""
_FOLLOWING = ("Relu", "Clip", "LeakyRelu", "MaxPool")
"""Operators that engines compute on 8-bit values as they come, so that a sum behind them still adds such values."""
_FLOAT = "float32"
_IMAGE_RANK = 4
_MATRIX_RANK = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A node whose weight can be rounded, and that may be able to compute in 8 bits, or to read its weight in few.

    Attributes:
        norm: The normalisation behind a convolution that goes into its weights.
        schemes: The ways in which it can compute; none for a convolution over signals or volumes.
        reads: The values that it would read in 8 bits.
        flops: Floating-point operations that it saves; 0 for what only spares conversions.
        sources: Of a sum, the ids of the convolutions and sums whose values it adds.
    """

    node: Node
    norm: Node | None
    schemes: tuple[Scheme, ...]
    reads: tuple[str, ...]
    flops: int
    sources: tuple[str, ...] = ()

    @property
    def output(self) -> str:
        """The value that the layer computes."""
        return (self.norm or self.node).outputs[0]


def layers_of(graph: Graph, nodes: Iterable[Node]) -> tuple[Layer, ...]:
    """Return the layers among these nodes, in order."""
    inside = {node.id: node for node in nodes}
    products = {layer.output: layer for layer in _products(graph, inside)}
    found = [*products.values(), *_sums(graph, inside, products)]
    return tuple(sorted(found, key=lambda layer: layer.node.index))


def _products(graph: Graph, inside: Mapping[str, Node]) -> Iterator[Layer]:
    for node in inside.values():
        if node.domain != "" or not _fits(graph, node):
            continue
        yield Layer(
            node=node,
            norm=_norm(graph, node, inside) if node.op_type == "Conv" else None,
            schemes=_schemes(graph, node),
            reads=node.inputs[:1],
            flops=flops(graph, node),
        )


def _schemes(graph: Graph, node: Node) -> tuple[Scheme, ...]:
    if node.op_type == "Conv":
        return (Scheme.STATIC,) if len(graph.weights[node.inputs[1]].shape) == _IMAGE_RANK else ()
    weights = (Scheme.WEIGHTS_12, Scheme.WEIGHTS_10, Scheme.WEIGHTS_8, Scheme.WEIGHTS_6, Scheme.WEIGHTS_4)
    return (Scheme.STATIC, Scheme.DYNAMIC, *weights)


def _fits(graph: Graph, node: Node) -> bool:
    if node.op_type not in ("Conv", "Gemm", "MatMul"):
        return False
    weight, data = graph.weights.get(node.inputs[1]), graph.values[node.inputs[0]]
    if weight is None or weight.dtype != _FLOAT or data.is_weight or data.dtype != _FLOAT:
        return False
    if node.op_type == "Conv":
        return 0 not in weight.shape and _is_constant_bias(graph, node)
    if len(weight.shape) != _MATRIX_RANK or 0 in weight.shape or data.rank == 1:
        return False
    plain = not node.attributes.get("transA", 0) and all(node.attributes.get(f, 1.0) == 1.0 for f in ("alpha", "beta"))
    return node.op_type == "MatMul" or (plain and _is_constant_bias(graph, node))


def _is_constant_bias(graph: Graph, node: Node) -> bool:
    if len(node.inputs) < 3 or not node.inputs[2]:
        return True
    bias = graph.weights.get(node.inputs[2])
    return bias is not None and len(bias.shape) == 1


def _norm(graph: Graph, node: Node, inside: Mapping[str, Node]) -> Node | None:
    """Return the BatchNormalization with constant parameters that is the only reader of a convolution."""
    value = graph.values[node.outputs[0]]
    if value.is_output or len(value.consumers) != 1:
        return None
    reader = graph.nodes[value.consumers[0]]
    if reader.id not in inside or (reader.domain, reader.op_type) != ("", "BatchNormalization"):
        return None
    constant = all(name in graph.weights for name in reader.inputs[1:5])
    return (
        reader if constant and reader.inputs[0] == value.name and not reader.attributes.get("training_mode") else None
    )


def _sums(graph: Graph, inside: Mapping[str, Node], products: Mapping[str, Layer]) -> Iterator[Layer]:
    """Return sums of two results of convolutions, directly or through other sums."""
    convolutions = {output: layer for output, layer in products.items() if layer.node.op_type == "Conv"}
    givers = {output: layer.node.id for output, layer in convolutions.items() if layer.schemes}
    for node in inside.values():
        if node.domain != "":
            continue
        if node.op_type in _FOLLOWING and node.inputs[0] in givers:
            givers[node.outputs[0]] = givers[node.inputs[0]]
        if node.op_type in SUMS and len(node.inputs) == 2 and givers.keys() >= set(node.inputs):
            sources = tuple(givers[name] for name in node.inputs)
            givers[node.outputs[0]] = node.id
            yield Layer(node=node, norm=None, schemes=(Scheme.STATIC,), reads=node.inputs, flops=0, sources=sources)


def with_sums(layers: Iterable[Layer], chosen: Iterable[str]) -> tuple[Layer, ...]:
    """Return the layers chosen by id, and the sums of their results."""
    ids = set(chosen)
    found = []
    for layer in layers:
        if layer.node.id in ids or (layer.sources and ids.issuperset(layer.sources)):
            ids.add(layer.node.id)
            found.append(layer)
    return tuple(found)
