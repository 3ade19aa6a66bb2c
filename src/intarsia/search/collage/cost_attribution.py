"""What several partitions cost together, normalised to each by its work, where nothing tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from intarsia.graph import Graph
from intarsia.graph.work import works


def total_work(graph: Graph, nodes: Iterable[str]) -> float:
    """The work of nodes, by id; see `intarsia.graph.work`."""
    return sum(map(works(graph).__getitem__, nodes))


def shared_out(ms: float, weights: Sequence[float]) -> tuple[float, ...]:
    """``ms`` in proportion to weights; in equal parts if none weighs anything."""
    total = sum(weights)
    if not total:
        return (ms / len(weights),) * len(weights) if weights else ()
    return tuple(ms * (weight / total) for weight in weights)
