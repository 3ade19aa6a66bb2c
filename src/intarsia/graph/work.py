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
        return count(node, inputs, outputs)
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


def _known(shape: _Shape | None) -> _Shape:
    if shape is None:
        raise _UnknownShapeError
    return shape


def _elements(shapes: list[_Shape | None]) -> int:
    return sum(prod(shape) for shape in shapes if shape is not None)


def _conv(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    return 2 * prod(_known(outputs[0])) * prod(_known(inputs[1])[1:])


def _conv_transpose(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    return 2 * prod(_known(inputs[0])) * prod(_known(inputs[1])[1:])


def _matmul(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    return 2 * prod(_known(outputs[0])) * (_known(inputs[0]) or (1,))[-1]


def _gemm(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    return 2 * prod(_known(outputs[0])) * _known(inputs[0])[0 if node.attributes.get("transA") else 1]


def _einsum(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    """As one loop over all indices; a clever order of contraction does less."""
    terms = str(node.attributes["equation"]).replace(" ", "").split("->")[0].split(",")
    if any("." in term for term in terms):
        return 2 * prod(_known(outputs[0]))
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, inputs, strict=True):
        sizes.update(zip(term, _known(shape), strict=True))
    return 2 * prod(sizes.values())


def _recurrent(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    """The two matrix products of each gate at each step; X is (steps, batch, features), W (directions, gates, …)."""
    steps, batch, _ = _known(inputs[0])
    return 2 * steps * batch * (prod(_known(inputs[1])) + prod(_known(inputs[2])))


def _attention(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    """Two matrix products, queries by keys and weights by values; heads split the last axis, which changes nothing."""
    query, key = _known(inputs[0]), _known(inputs[1])
    return 4 * prod(query) * key[-2]


def _pool(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    kernel: _Shape = node.attributes.get("kernel_shape", ())
    return prod(_known(outputs[0])) * prod(kernel)


def _reads_all(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
    return prod(_known(inputs[0]))


def _per_output(factor: int) -> Callable[[Node, list[_Shape | None], list[_Shape | None]], int]:
    def count(node: Node, inputs: list[_Shape | None], outputs: list[_Shape | None]) -> int:
        return factor * prod(_known(outputs[0]))

    return count


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

_COUNTED: dict[str, Callable[[Node, list[_Shape | None], list[_Shape | None]], int]] = {
    "Attention": _attention,
    "Conv": _conv,
    "ConvInteger": _conv,
    "ConvTranspose": _conv_transpose,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "RNN": _recurrent,
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pool),
    **dict.fromkeys(_REDUCTIONS, _reads_all),
    **{op_type: _per_output(factor) for op_type, factor in _NORMALISATIONS.items()},
}
