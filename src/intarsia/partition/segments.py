"""Segments: the linear order of the graph, cut at narrow places into a few stretches of like work.

They are the atoms of the search, which tries each run of consecutive segments on each engine.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from intarsia.partition.groups import ACTIVATIONS
from intarsia.partition.linear import linear_order, narrow_cuts

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.partition.groups import CrossingOk
    from intarsia.partition.linear import Cut

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
"""Operator types by the kind of kernel that dominates them: engines differ between kinds more than within one."""

_CHARACTER_OF = {op_type: name for name, op_types in CHARACTERS.items() for op_type in op_types.split()}
OTHER = "other"
"""Kernels that go along with any."""

FOLLOWERS = ACTIVATIONS | {
    *("Add", "Sub", "Mul", "Div", "Sum", "Pow", "Sqrt", "Erf", "Gelu", "Softplus", "Mish", "Swish", "Celu", "Selu"),
    *("ThresholdedRelu", "BatchNormalization"),
}
"""Elementwise operators, which engines compute in the kernel of what comes before, if it is one of `KERNELS`."""
KERNELS = frozenset({"conv", "matmul"})

CHANGE_WEIGHT = 32.0
"""How many times more a boundary between unlike segments is worth."""
WIDEST = 4
"""More crossing values than this make a boundary no worse, so that wide graphs are shared out as well."""
NODE_SHARE = 1e-3
"""Work of a node that does none, as a share of the mean: keeps long stretches of such nodes from counting nothing."""


def character(node: Node) -> str:
    """The kind of kernel that the node needs: a key of `CHARACTERS`, or `OTHER`."""
    return _CHARACTER_OF.get(node.op_type, OTHER)


def segments(
    graph: Graph, limit: int, weight: Callable[[Node], float], crossing_ok: CrossingOk | None = None
) -> tuple[tuple[str, ...], ...]:
    """Split the linear order into at most ``limit`` stretches of like work, at narrow cuts.

    Starts from every narrow cut, but those between a kernel and what is computed along with it, and takes away the
    boundary of least worth until few enough are left and each parts two segments of some size. A boundary is worth the
    product of the work on its two sides, by which merging them raises the sum of squares (Ward's measure of balance,
    1963); times `CHANGE_WEIGHT` if the sides differ in character; over the square of the number of values that cross
    it, counted up to `WIDEST`.

    Args:
        graph: The graph.
        limit: Greatest number of segments, at least 1.
        weight: Work of a node, in any unit: expected time where it is known.
        crossing_ok: See `cuts`.
    """
    order = linear_order(graph)
    if not order:
        return ()
    nodes = [graph.node(id_) for id_ in order]
    follows = _following(nodes)
    boundaries = [cut for cut in narrow_cuts(graph, crossing_ok) if not follows[cut.position]]
    chain = _Chain(nodes, [max(float(weight(node)), 0.0) for node in nodes], boundaries)
    return tuple(order[start:end] for start, end in pairwise((0, *chain.coalesced(limit))))


class _Chain:
    """Stretches between cuts, of which neighbours are merged, the boundary of least worth first."""

    def __init__(self, nodes: Sequence[Node], work: Sequence[float], boundaries: Sequence[Cut]) -> None:
        starts = [0, *(cut.position for cut in boundaries)]
        self._end = [*starts[1:], len(nodes)]
        spans = [slice(start, end) for start, end in zip(starts, self._end, strict=True)]
        least = (sum(work) / len(work) or 1.0) * NODE_SHARE
        self._work: list[float] = [sum(work[span]) + least * len(work[span]) for span in spans]
        self._by_character = [_by_character(nodes[span], work[span]) for span in spans]
        self._cut = {cut.position: cut for cut in boundaries}
        self._next = [*range(1, len(spans)), -1]
        self._previous = list(range(-1, len(spans) - 1))
        self._worth: dict[int, tuple[float, int, int]] = {}

    def coalesced(self, limit: int) -> list[int]:
        """The end positions of the stretches that are left, in order."""
        left = len(self._end)
        small = (sum(self._work) / limit / 4) ** 2
        heap = [self._weigh(stretch) for stretch in range(left - 1)]
        heapq.heapify(heap)
        while heap:
            worth = heapq.heappop(heap)
            stretch = worth[-1]
            if self._worth.get(stretch) != worth:
                continue
            if left <= limit and worth[0] > small:
                break
            self._merge(stretch)
            left -= 1
            for changed in (self._previous[stretch], stretch):
                if changed >= 0 and self._next[changed] >= 0:
                    heapq.heappush(heap, self._weigh(changed))
        return list(self._ends())

    def _ends(self) -> Iterator[int]:
        stretch = 0
        while stretch >= 0:
            yield self._end[stretch]
            stretch = self._next[stretch]

    def _weigh(self, stretch: int) -> tuple[float, int, int]:
        """Worth of the boundary behind a stretch; of equals, the one with most bytes goes first, then the first."""
        cut = self._cut[self._end[stretch]]
        worth = self._work[stretch] * self._work[self._next[stretch]]
        worth *= CHANGE_WEIGHT if self._changes(stretch) else 1.0
        worth /= min(max(len(cut.crossing), 1), WIDEST) ** 2
        self._worth[stretch] = (worth, -cut.nbytes, stretch)
        return self._worth[stretch]

    def _changes(self, stretch: int) -> bool:
        here, there = (self._by_character[index] for index in (stretch, self._next[stretch]))
        return bool(here and there) and max(here, key=here.__getitem__) != max(there, key=there.__getitem__)

    def _merge(self, stretch: int) -> None:
        gone = self._next[stretch]
        self._end[stretch] = self._end[gone]
        self._work[stretch] += self._work[gone]
        for name, work in self._by_character[gone].items():
            self._by_character[stretch][name] = self._by_character[stretch].get(name, 0.0) + work
        self._worth.pop(gone, None)
        self._worth.pop(stretch)
        self._next[stretch] = self._next[gone]
        if self._next[gone] >= 0:
            self._previous[self._next[gone]] = stretch


def _following(nodes: Sequence[Node]) -> list[bool]:
    """For each node of the order whether it is computed along with the one before."""
    follows = [False]
    for before, node in pairwise(nodes):
        reads = not set(before.outputs).isdisjoint(node.reads)
        fusing = follows[-1] or character(before) in KERNELS
        follows.append(reads and fusing and node.op_type in FOLLOWERS)
    return follows


def _by_character(nodes: Sequence[Node], work: Sequence[float]) -> dict[str, float]:
    """Work of each character but `OTHER`."""
    total: dict[str, float] = {}
    for node, amount in zip(nodes, work, strict=True):
        name = character(node)
        if name != OTHER:
            total[name] = total.get(name, 0.0) + amount
    return total
