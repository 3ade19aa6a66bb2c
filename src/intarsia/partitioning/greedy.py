"""Partitioning by priority alone: each target gets the largest regions it can run of what earlier targets left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from intarsia.errors import NoCoverError
from intarsia.partitioning.groups import indivisible
from intarsia.partitioning.partitioning import SHOWN, Partitioning, listing, merge_adjacent
from intarsia.partitioning.quotient import members
from intarsia.partitioning.region import maximal_regions
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.partitioning.capability import Capability
    from intarsia.partitioning.groups import CrossingOk
    from intarsia.partitioning.partitioning import Places
    from intarsia.target import Target

E = TypeVar("E", bound=Hashable)
"""An engine: a target, or whatever else is asked as one."""
Limits = float | Mapping[E, float] | tuple[tuple[str, int], ...]
"""One number for all engines, or the numbers of some: by the engine, or by the kind of its target."""


def greedy(
    graph: Graph,
    targets: Sequence[Target],
    capabilities: Mapping[Target, Capability],
    min_nodes: Limits[Target] = 1,
    min_flops: Limits[Target] = 0,
    *,
    crossing_ok: CrossingOk | None = None,
    places: Places | None = None,
) -> Partitioning:
    """Cover the graph in the order of the targets, and merge what can be merged.

    Args:
        targets: Most preferred first.
        min_nodes: A smaller region is left to a later target; one number, or those of some targets.
        min_flops: The same, in floating-point operations.
        crossing_ok: Asked for each value that is no tensor of known rank; without it its ends stay in one partition.
        places: Where each node runs, by id; no partition spans two. Without it all are at one.

    Raises:
        NoCoverError: No target can run some nodes. Nodes of small regions are never among them: what no later target
            accepts goes back to the first that does, whatever its size.
    """
    parts = cover(graph, targets, capabilities, min_nodes, min_flops, crossing_ok=crossing_ok, places=places)
    return merge_adjacent(graph, Partitioning.of(graph, parts, crossing_ok=crossing_ok, places=places), places)


def cover(
    graph: Graph,
    engines: Sequence[E],
    capabilities: Mapping[E, Capability],
    min_nodes: Limits[E] = 1,
    min_flops: Limits[E] = 0,
    *,
    crossing_ok: CrossingOk | None = None,
    places: Places | None = None,
    settled: Iterable[Collection[str]] = (),
) -> list[tuple[E, frozenset[str]]]:
    """The regions of each engine, in the order in which they were formed; all else as for `greedy`.

    Args:
        settled: Sets of nodes that have an engine already, and stay as they are.
    """
    fixed: list[Collection[str]] = list(settled)
    rest = {node.id for node in graph.nodes}.difference(*fixed)
    parts: list[tuple[E, frozenset[str]]] = []
    for keep_small in (False, True):
        for engine in engines:
            for accepted in _by_place(graph, {id_ for id_ in rest if capabilities[engine].takes(id_)}, places):
                settled_now = [*fixed, *(region for _, region in parts)]
                for region in maximal_regions(graph, accepted, fixed=settled_now, crossing_ok=crossing_ok):
                    is_large = len(region) >= _limit(min_nodes, engine, 1)
                    if keep_small or (is_large and _has_work(graph, region, _limit(min_flops, engine, 0))):
                        parts.append((engine, region))
                        rest -= region
    if rest:
        raise NoCoverError(_uncovered(graph, rest, engines, capabilities, crossing_ok))
    return parts


def _by_place(graph: Graph, accepted: set[str], places: Places | None) -> Iterable[set[str]]:
    """The nodes at each place, in the order of the graph's first node there."""
    if not accepted or places is None:
        return [accepted] if accepted else []
    found: dict[Hashable, set[str]] = {}
    for node in graph.nodes:
        if node.id in accepted:
            found.setdefault(places[node.id], set()).add(node.id)
    return found.values()


def _limit(limit: Limits[E], engine: E, default: float) -> float:
    if isinstance(limit, tuple):
        kind = getattr(engine, "kind", None)
        return default if kind is None else dict(limit).get(kind.name, default)
    return limit.get(engine, default) if isinstance(limit, Mapping) else limit


def _has_work(graph: Graph, region: frozenset[str], least: float) -> bool:
    if least <= 0:
        return True
    # Here, since the graph folder loads the ONNX libraries, and all else in this folder does without.
    from intarsia.graph.work import flops

    return sum(flops(graph, graph.node(id_)) for id_ in region) >= least


def _uncovered(
    graph: Graph,
    rest: set[str],
    targets: Sequence[E],
    capabilities: Mapping[E, Capability],
    crossing_ok: CrossingOk | None,
) -> str:
    """Say for one node of each operator why no target takes it."""
    nodes = [node for node in graph.nodes if node.id in rest]
    labels = indivisible(graph, crossing_ok)
    groups = members(labels)
    counts = Counter(node.op_type for node in nodes)
    first_of: dict[str, Node] = {}
    for node in nodes:
        first_of.setdefault(node.op_type, node)
    examples = list(first_of.values())
    lines = [f"no target takes {len(nodes)} of {counted(len(graph.nodes), 'node')}:"]
    for node in examples[:SHOWN]:
        others = f" (and {counts[node.op_type] - 1} more {node.op_type})" if counts[node.op_type] > 1 else ""
        lines.append(f"  {node.op_type} {node.id!r}{others}")
        group = [graph.nodes[index] for index in groups[labels[node.index]]]
        lines += [f"    {target}: {_reason(node, group, capabilities[target])}" for target in targets]
    if len(examples) > SHOWN:
        lines.append(f"  and nodes of other operators: {listing([node.op_type for node in examples[SHOWN:]])}")
    lines.append("add a target that takes them; 'reference' takes what ONNX defines, slowly")
    return "\n".join(lines)


def _reason(node: Node, group: Sequence[Node], capability: Capability) -> str:
    reason = capability.refusals.get(node.id)
    if reason is not None:
        return reason
    refused = next(other for other in group if not capability.takes(other.id))
    return f"takes it, but not {refused.id!r}, which must stay with it: {capability.refusals[refused.id]}"
