"""Convex sets of nodes: their boundary values, and the largest ones that an engine can run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intarsia.partitioning.groups import indivisible
from intarsia.partitioning.quotient import Contraction, edges, join, members
from intarsia.topological_order import runnable_order

if TYPE_CHECKING:
    from intarsia.graph import Graph
    from intarsia.partitioning.groups import CrossingOk


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """The values that enter and leave a set of nodes, in the order of the graph; weights do not count.

    Attributes:
        inputs: Values read inside and computed outside, or inputs of the graph.
        outputs: Values computed inside and read outside, or outputs of the graph.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def boundaries(graph: Graph, ids: Collection[str]) -> Boundary:
    """The values that enter and leave a set of nodes."""
    nodes = sorted((graph.node(id_) for id_ in ids), key=lambda node: node.index)
    inside = {node.index for node in nodes}
    inputs: dict[str, None] = {}
    outputs = []
    for node in nodes:
        for name in node.reads:
            value = graph.values[name]
            if value.producer not in inside and not value.is_weight:
                inputs[name] = None
        for name in filter(None, node.outputs):
            value = graph.values[name]
            if value.is_output or any(consumer not in inside for consumer in value.consumers):
                outputs.append(name)
    return Boundary(inputs=tuple(inputs), outputs=tuple(outputs))


def maximal_regions(
    graph: Graph,
    accepted: Collection[str],
    *,
    fixed: Sequence[Collection[str]] = (),
    crossing_ok: CrossingOk | None = None,
) -> tuple[frozenset[str], ...]:
    """Group accepted nodes into connected convex regions, none of which can be merged with its neighbour.

    The graph of all regions, fixed sets and other nodes is acyclic. A group that must stay whole (`indivisible`) and of
    which a node is not accepted is in no region.

    Args:
        accepted: Ids of the nodes that may be in a region.
        fixed: Disjoint sets of other nodes, such as the partitions that are settled already.
        crossing_ok: See `indivisible`.
    """
    labels = indivisible(graph, crossing_ok, fixed)
    parts = members(labels)
    takes = [all(graph.nodes[index].id in accepted for index in part) for part in parts]
    levels = _by_levels(edges(graph, labels), takes)
    labels = [levels[label] for label in labels]
    region_takes = [False] * (max(labels, default=-1) + 1)
    for unit, region in enumerate(levels):
        region_takes[region] = takes[unit]
    contraction = Contraction(edges(graph, labels))
    contraction.contract([taken or None for taken in region_takes])
    merged = contraction.labels()
    regions = members([merged[label] for label in labels])
    return tuple(
        frozenset(graph.nodes[index].id for index in region) for region in regions if region_takes[labels[region[0]]]
    )


def _by_levels(after: Sequence[set[int]], takes: Sequence[bool]) -> list[int]:
    """A first grouping in linear time: connected parts that are entered from outside equally often.

    The level of a part is the greatest number of times that a path to it comes (back) into the accepted parts. It never
    falls along a path, and a path that leaves and returns raises it; so parts of one level have no path around.
    """
    level = [0] * len(after)
    for part in runnable_order(after):
        for successor in after[part]:
            enters = takes[successor] and not takes[part]
            level[successor] = max(level[successor], level[part] + enters)
    pairs: Iterable[tuple[int, int]] = (
        (part, successor)
        for part, successors in enumerate(after)
        for successor in successors
        if takes[part] and takes[successor] and level[part] == level[successor]
    )
    return join(len(after), pairs)
