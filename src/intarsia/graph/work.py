"""How much a node computes and moves, from shapes alone: for thresholds and rooflines, not for predicting time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

_Shape = tuple[int, ...]
FLOPS_PER_BYTE = 10
"""What a processor can compute while it moves a byte, about."""


def flops(graph: Graph, node: Node) -> int:
    """Floating-point operations, a multiply-add counted as two; 0 where a shape it takes to know is not known.

    Nested graphs count once, whatever their iterations.
    """
    inputs = [_shape(graph, name) for name in node.inputs]
    outputs = [_shape(graph, name) for name in node.outputs]
    if not inputs or not outputs:
        return _elements(outputs)
    count = _COUNTED.get(node.op_type) if node.domain == "" else None
    if count is None:
        return _elements(outputs)
    try:
        return count(node, _Known(inputs), _Known(outputs))
    except _UnknownShapeError:
        return 0


def bytes_moved(graph: Graph, node: Node) -> int:
    """Bytes of everything it reads and writes, weights included, each once; unknown sizes count nothing."""
    names = dict.fromkeys((*node.reads, *filter(None, node.outputs)))
    return sum(graph.values[name].nbytes for name in names)


def work(graph: Graph, node: Node) -> float:
    """One figure for how much a node has to do, to share something out by: operations, and bytes weighed as such."""
    return works(graph)[node.id]


def works(graph: Graph) -> Mapping[str, float]:
    """The `work` of every node by id, computed once a graph."""
    if "work" not in graph.memo:
        graph.memo["work"] = MappingProxyType(
            {node.id: float(flops(graph, node) + FLOPS_PER_BYTE * bytes_moved(graph, node)) for node in graph.nodes}
        )
    known: Mapping[str, float] = graph.memo["work"]
    return known


class _UnknownShapeError(Exception):
    """A shape that a count needs is not known."""


def _shape(graph: Graph, name: str) -> _Shape | None:
    return graph.values[name].shape if name else None


class _Known:
    """Shapes by position, of which each that is asked for must be known."""

    def __init__(self, shapes: list[_Shape | None]) -> None:
        self._shapes = shapes

    def __getitem__(self, place: int) -> _Shape:
        shape = self._shapes[place]
        if shape is None:
            raise _UnknownShapeError
        return shape


def _elements(shapes: list[_Shape | None]) -> int:
    return sum(prod(shape) for shape in shapes if shape is not None)


_Count = Callable[["Node", _Known, _Known], int]
"""Operations of a node by the shapes of what it reads and makes."""


def _einsum(node: Node, inputs: _Known, outputs: _Known) -> int:
    """As one loop over all indices; a clever order of contraction does less."""
    terms = str(node.attributes["equation"]).replace(" ", "").split("->")[0].split(",")
    if any("." in term for term in terms):
        return 2 * prod(outputs[0])
    sizes: dict[str, int] = {}
    for place, term in enumerate(terms):
        sizes.update(zip(term, inputs[place], strict=True))
    return 2 * prod(sizes.values())


def _recurrent(node: Node, inputs: _Known, outputs: _Known) -> int:
    """The two matrix products of each gate at each step; X is (steps, batch, features), W (directions, gates, …)."""
    steps, batch, _ = inputs[0]
    return 2 * steps * batch * (prod(inputs[1]) + prod(inputs[2]))


def _per_output(factor: int) -> _Count:
    return lambda node, inputs, outputs: factor * prod(outputs[0])


_REDUCTIONS = (
    *("ArgMax", "ArgMin", "CumSum", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"),
    *("ReduceSumSquare", "TopK"),
)
_NORMALISATIONS = {
    "BatchNormalization": 2,
    "GroupNormalization": 7,
    "InstanceNormalization": 7,
    "LayerNormalization": 7,
    "LogSoftmax": 5,
    "RMSNormalization": 5,
    "Softmax": 5,
}
"""Operations per element, as usually counted."""

_COUNTED: Mapping[str, _Count] = {
    # Queries by keys and weights by values; heads split the last axis, which changes nothing.
    "Attention": lambda node, inputs, outputs: 4 * prod(inputs[0]) * inputs[1][-2],
    **dict.fromkeys(("Conv", "ConvInteger"), lambda node, inputs, outputs: 2 * prod(outputs[0]) * prod(inputs[1][1:])),
    "ConvTranspose": lambda node, inputs, outputs: 2 * prod(inputs[0]) * prod(inputs[1][1:]),
    "Einsum": _einsum,
    "Gemm": lambda node, inputs, outputs: 2 * prod(outputs[0]) * inputs[0][0 if node.attributes.get("transA") else 1],
    **dict.fromkeys(
        ("MatMul", "MatMulInteger"), lambda node, inputs, outputs: 2 * prod(outputs[0]) * (inputs[0] or (1,))[-1]
    ),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
    **dict.fromkeys(
        ("AveragePool", "LpPool", "MaxPool"),
        lambda node, inputs, outputs: prod(outputs[0]) * prod(node.attributes.get("kernel_shape", ())),
    ),
    **dict.fromkeys(_REDUCTIONS, lambda node, inputs, outputs: prod(inputs[0])),
    **{op_type: _per_output(factor) for op_type, factor in _NORMALISATIONS.items()},
}
