"""Divides the linear order of a graph into segments, the smallest units of the search.

The search tries each run of consecutive segments on each engine. `intarsia.partitioning.chain` does the merging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from intarsia.partitioning.chain import Chain, Region
from intarsia.partitioning.groups import ACTIVATIONS
from intarsia.partitioning.linear import Cut, cuts, line, linear_order

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.partitioning.groups import CrossingOk

CHARACTERS = {
    "conv": "Conv ConvTranspose ConvInteger QLinearConv DeformConv FusedConv MaxPool AveragePool LpPool "
    "GlobalAveragePool GlobalMaxPool",
    "matmul": "MatMul Gemm Einsum MatMulInteger QLinearMatMul MatMulNBits FusedMatMul FusedGemm Attention "
    "MultiHeadAttention GroupQueryAttention QAttention",
    "recurrent": "LSTM GRU RNN Scan Loop",
    "resample": "Resize Upsample GridSample AffineGrid RoiAlign MaxRoiPool MaxUnpool DepthToSpace SpaceToDepth",
    "normalise": "InstanceNormalization LayerNormalization GroupNormalization RMSNormalization "
    "MeanVarianceNormalization SimplifiedLayerNormalization SkipLayerNormalization LpNormalization LRN Softmax "
    "LogSoftmax Hardmax",
}
"""Operator types by kind of kernel. Engines differ more between kinds than within one."""

_CHARACTER_OF = {op_type: name for name, op_types in CHARACTERS.items() for op_type in op_types.split()}
OTHER = "other"
"""The kind of operators that go with any kernel."""

FOLLOWERS = ACTIVATIONS | {
    *("Add", "Sub", "Mul", "Div", "Sum", "Pow", "Sqrt", "Erf", "Gelu", "Softplus", "Mish", "Swish", "Celu", "Selu"),
    *("ThresholdedRelu", "BatchNormalization"),
}
"""Elementwise operators, which engines fuse into the operator before if that is one of `KERNELS`."""
KERNELS = frozenset({"conv", "matmul"})

NODE_SHARE = 1e-3
"""Work of a node that does none, as a share of the mean, so that long runs of such nodes count something."""

REPEATS = 3
"""There may be this many times more segments than different ones, since equal ones are measured once."""


def character(node: Node) -> str:
    """The kind of kernel that the node needs: a key of `CHARACTERS`, or `OTHER`."""
    return _CHARACTER_OF.get(node.op_type, OTHER)


def segments(
    graph: Graph, limit: int, weight: Callable[[Node], float], crossing_ok: CrossingOk | None = None
) -> tuple[tuple[str, ...], ...]:
    """Divide the linear order into at most ``limit`` different segments of about equal work.

    Cuts at every narrow place, but not between a kernel and what engines fuse into it, and then merges (`Chain`).
    Equal blocks are cut alike, so that one of them is measured for all; with repeats there may be `REPEATS` times as
    many segments.

    Args:
        limit: Greatest number of different segments, at least 1.
        weight: Work of a node, in any unit: expected time where it is known.
        crossing_ok: See `cuts`.
    """
    order, narrow = line(graph, crossing_ok)
    if not order:
        return ()
    follows = _following([graph.node(id_) for id_ in order])
    boundaries = [cut for cut in narrow if not follows[cut.position]]
    ends = [*(cut.position for cut in boundaries), len(order)]
    partitions = [order[start:end] for start, end in pairwise((0, *ends))]
    chain = Chain(_regions(graph, partitions, weight), boundaries)
    left = chain.coalesced(limit, REPEATS * limit)
    return tuple(order[start:end] for start, end in pairwise((0, *(ends[place - 1] for place in left))))


def coarser(
    graph: Graph, partitions: Sequence[tuple[str, ...]], limits: Iterable[int], weight: Callable[[Node], float]
) -> list[tuple[int, ...]]:
    """For each limit the segments at which the regions of a coarser division begin, merged as `segments` does.

    The first is always 0. A smaller limit gives some of the places that a larger one gives.

    Args:
        partitions: Its segments, in linear order.
        limits: Greatest numbers of different regions, at least 1.
    """
    if not partitions:
        return [() for _ in limits]
    at = {cut.position: cut for cut in cuts(graph, crossing_ok=lambda _: True)}
    ends = list(accumulate(map(len, partitions)))
    boundaries = [at.get(end) or Cut(position=end, crossing=(), nbytes=0) for end in ends[:-1]]
    regions = _regions(graph, partitions, weight)
    return [(0, *Chain(regions, boundaries).coalesced(limit, REPEATS * limit)[:-1]) for limit in limits]


def _regions(graph: Graph, partitions: Iterable[tuple[str, ...]], weight: Callable[[Node], float]) -> list[Region]:
    from intarsia.graph.fingerprint import likeness  # loads onnx, which listing the engines must not

    parts = [[graph.node(id_) for id_ in partition] for partition in partitions]
    amounts = [[max(float(weight(node)), 0.0) for node in part] for part in parts]
    least = (sum(map(sum, amounts)) / (sum(map(len, parts)) or 1) or 1.0) * NODE_SHARE
    return [
        Region(
            work=sum(amount) + least * len(part),
            by_character=_by_character(part, amount),
            likeness=(likeness(graph, part), *amount),
        )
        for part, amount in zip(parts, amounts, strict=True)
    ]


def kernel_groups(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The nodes in linear order, each kernel with the elementwise operators behind it that engines fuse into it."""
    order = linear_order(graph)
    follows = _following([graph.node(id_) for id_ in order])
    starts = [place for place, follow in enumerate(follows) if not follow]
    return tuple(order[start:end] for start, end in pairwise((*starts, len(order))))


def _following(nodes: Sequence[Node]) -> list[bool]:
    """For each node of the order, whether engines fuse it into the one before."""
    follows = [False]
    for before, node in pairwise(nodes):
        reads = not set(before.outputs).isdisjoint(node.reads)
        fusing = follows[-1] or character(before) in KERNELS
        follows.append(reads and fusing and node.op_type in FOLLOWERS)
    return follows


def _by_character(nodes: Sequence[Node], work: Sequence[float]) -> dict[str, float]:
    """Work of each kind of kernel but `OTHER`."""
    total: dict[str, float] = {}
    for node, amount in zip(nodes, work, strict=True):
        name = character(node)
        if name != OTHER:
            total[name] = total.get(name, 0.0) + amount
    return total
