"""What each node of a model takes on a machine, by the report of a compile of the whole model there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from intarsia.graph.work import work
from intarsia.partitioning import linear_order

if TYPE_CHECKING:
    from intarsia.graph import Graph

LEAST: float = 1e-6
"""Milliseconds of a node that computes nothing, so that no stretch of the line is free."""


def node_ms(graph: Graph, report: Mapping[str, Any], latency_ms: float) -> dict[str, float]:
    """Milliseconds of each node, which come to those of the plan that shipped there.

    A segment of the report costs what the fastest engine takes for it, and its nodes share that by their work. Where
    the report has no segments of this graph, all nodes share what the whole takes.

    Args:
        graph: The model that was compiled.
        report: What the compile reported.
        latency_ms: Of the plan that shipped.
    """
    order = linear_order(graph)
    shares = {id_: float(work(graph, graph.node(id_))) for id_ in order}
    found: dict[str, float] = {}
    for nodes, ms in _segments(order, report):
        whole = sum(shares[id_] for id_ in nodes)
        found |= {id_: ms * (shares[id_] / whole if whole else 1 / len(nodes)) for id_ in nodes}
    found = found or shares
    scale = latency_ms / (sum(found.values()) or 1.0)
    return {id_: max(LEAST, scale * found[id_]) for id_ in order}


def _segments(order: Sequence[str], report: Mapping[str, Any]) -> list[tuple[Sequence[str], float]]:
    """The runs of the line that the report has costs for, each with the least; nothing if it has not all of them."""
    found, place = [], 0
    for segment in report.get("segments") or ():
        nodes = order[place : place + segment["nodes"]]
        costs = [ms for ms in segment["ms"].values() if ms is not None]
        if not costs or not nodes or (nodes[0], nodes[-1]) != (segment["first"], segment["last"]):
            return []
        found.append((nodes, min(costs)))
        place += len(nodes)
    return found if place == len(order) else []
