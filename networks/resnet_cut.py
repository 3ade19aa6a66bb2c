"""resnet50 cut by hand into 23 pieces: the classic mix that is a disaster when threads are handled naively."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

_NCNN_SIZES = {56, 28, 14}
_STAYS_WITH_CONVOLUTION = {"BatchNormalization", "Relu"}


def cut(graph: Graph, trunk: str = "onnxruntime", inlay: str = "ncnn") -> list[tuple[str, frozenset[str]]]:
    """Pieces as (target text, node ids) in an order that runs, `trunk` and `inlay` by turns.

    Each of the eleven 3 x 3 convolutions of stride 1 at 56², 28² and 14² is an inlay, with the batch normalisation and
    the Relu behind it: every engine fuses them, so parting them would measure something nobody would ship.
    """
    # Pieces alternate, so an inlay's number is odd and a node between two inlays has the even number between theirs.
    number: dict[str, int] = {}
    for node in graph.nodes:
        before = max((number[producer.id] for producer in _producers(graph, node)), default=0)
        starts_or_continues = _is_inlay(graph, node) or (before % 2 == 1 and _continues(graph, node))
        number[node.id] = before | 1 if starts_or_continues else before + before % 2
    return [
        (inlay if piece % 2 else trunk, frozenset(id_ for id_, place in number.items() if place == piece))
        for piece in sorted(set(number.values()))
    ]


def _producers(graph: Graph, node: Node) -> list[Node]:
    places = (graph.values[name].producer for name in node.reads)
    return [graph.nodes[place] for place in places if place is not None]


def _is_inlay(graph: Graph, node: Node) -> bool:
    if node.op_type != "Conv":
        return False
    weight = graph.values[node.inputs[1]].shape
    size = graph.values[node.outputs[0]].shape
    strides = tuple(node.attributes.get("strides", (1, 1)))
    return (
        weight is not None
        and weight[2:] == (3, 3)
        and strides == (1, 1)
        and size is not None
        and size[2] in _NCNN_SIZES
    )


def _continues(graph: Graph, node: Node) -> bool:
    """Whether the node is an activation or normalisation that alone reads the convolution's result."""
    return node.op_type in _STAYS_WITH_CONVOLUTION and len(graph.values[node.inputs[0]].consumers) == 1
