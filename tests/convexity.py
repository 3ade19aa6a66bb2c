"""Whether a set of nodes is convex, for whatever forms such sets."""

from __future__ import annotations

from collections.abc import Collection

from intarsia.graph import Graph


def is_convex(graph: Graph, ids: Collection[str]) -> bool:
    """Whether no path leaves the set and comes back. Looks only at nodes from the set's first to its last."""
    inside = {graph.node(id_).index for id_ in ids}
    if not inside:
        return True
    behind: set[int] = set()
    for node in graph.nodes[min(inside) : max(inside) + 1]:
        producers = {graph.values[name].producer for name in node.reads}
        if node.index not in inside:
            if not producers.isdisjoint(inside) or not producers.isdisjoint(behind):
                behind.add(node.index)
        elif not producers.isdisjoint(behind):
            return False
    return True
