"""Partitioning by priority where an engine may be a nested configuration.

From outside, a nested configuration is one engine. The nodes that it gets are divided among its own engines by its own
priority, and stay one partition to all that is around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.config.serving import NestedEngine, target_of
from intarsia.partitioning.capability import Capability
from intarsia.partitioning.greedy import Limits, cover
from intarsia.partitioning.groups import indivisible
from intarsia.partitioning.partitioning import Inside, Partition, Partitioning, merge_adjacent
from intarsia.partitioning.quotient import members
from intarsia.target import Target

if TYPE_CHECKING:
    from collections.abc import Collection

    from intarsia.graph import Graph
    from intarsia.partitioning.groups import CrossingOk
    from intarsia.partitioning.partitioning import Places

    Engine = Target | NestedEngine


def divide(
    graph: Graph,
    engines: Sequence[Engine],
    capabilities: Mapping[Engine, Capability],
    min_nodes: Limits[Engine] = 1,
    min_flops: Limits[Engine] = 0,
    *,
    crossing_ok: CrossingOk | None = None,
    places: Places | None = None,
) -> Partitioning:
    """Cover the graph as `greedy` does, and the regions of each nested configuration in the same way.

    Args:
        capabilities: What each engine takes, those inside nested configurations too: see `nested_capability`.
        min_nodes: See `greedy`; it holds at every level.

    Raises:
        NoCoverError: Some nodes are taken by nobody.
    """
    limits = (min_nodes, min_flops)
    parts = cover(graph, engines, capabilities, *limits, crossing_ok=crossing_ok, places=places)
    targets = [(target_of(engine), nodes) for engine, nodes in parts]
    whole = merge_adjacent(graph, Partitioning.of(graph, targets, crossing_ok=crossing_ok, places=places), places)
    nested = {target_of(engine): engine for engine in engines if isinstance(engine, NestedEngine)}

    def filled(part: Partition) -> Partition:
        engine = nested.get(part.target)
        if engine is None:
            return part
        rest = [other.nodes for other in whole.partitions if other is not part]
        several = _inside(graph, engine, part.nodes, rest, capabilities, limits, crossing_ok, places)
        return replace(part, inside=Inside(partitions=several))

    return Partitioning(partitions=tuple(map(filled, whole.partitions)))


def divided_inside(
    graph: Graph,
    nested: NestedEngine,
    nodes: Collection[str],
    capabilities: Mapping[Engine, Capability],
    *,
    crossing_ok: CrossingOk | None = None,
    places: Places | None = None,
) -> tuple[Partition, ...]:
    """The nodes of a region among the engines of a nested configuration, by its priority, in running order.

    Raises:
        NoCoverError: Some of them are taken by none of its engines.
    """
    own = frozenset(nodes)
    groups = ([graph.nodes[index].id for index in group] for group in members(indivisible(graph, crossing_ok)))
    rest = [ids for ids in groups if own.isdisjoint(ids)]
    return _inside(graph, nested, own, rest, capabilities, (1, 0), crossing_ok, places)


def _inside(
    graph: Graph,
    nested: NestedEngine,
    nodes: Iterable[str],
    rest: Sequence[Collection[str]],
    capabilities: Mapping[Engine, Capability],
    limits: tuple[Limits[Engine], Limits[Engine]],
    crossing_ok: CrossingOk | None,
    places: Places | None,
) -> tuple[Partition, ...]:
    """The partitions inside of a region; ``rest`` are those around it."""
    own = frozenset(nodes)
    found = cover(graph, nested.engines, capabilities, *limits, crossing_ok=crossing_ok, places=places, settled=rest)
    outside = [(nested.target, ids) for ids in rest]
    flat = Partitioning.of(
        graph, [*((target_of(engine), ids) for engine, ids in found), *outside], crossing_ok=crossing_ok, places=places
    )
    kept = {node.id: (None if places is None else places[node.id], node.id in own) for node in graph.nodes}
    parts = [part for part in merge_adjacent(graph, flat, kept).partitions if part.nodes[0] in own]
    deeper = {target_of(engine): engine for engine in nested.engines if isinstance(engine, NestedEngine)}
    return tuple(
        replace(
            part,
            inside=Inside(
                partitions=_inside(
                    graph,
                    deeper[part.target],
                    part.nodes,
                    [*rest, *(other.nodes for other in parts if other is not part)],
                    capabilities,
                    limits,
                    crossing_ok,
                    places,
                )
            ),
        )
        if part.target in deeper
        else part
        for part in parts
    )


def flattened(partitioning: Partitioning) -> Partitioning:
    """The partitions that run at last, without what is around them."""
    return Partitioning(partitions=tuple(leaf for part in partitioning.partitions for leaf in part.leaves))


def nested_capability(
    graph: Graph,
    nested: NestedEngine,
    capabilities: Mapping[Engine, Capability],
    crossing_ok: CrossingOk | None = None,
) -> Capability:
    """What a nested configuration can run: each indivisible group of nodes that one of its engines can run whole."""
    inner = {engine: capabilities[engine] for engine in nested.engines}
    refusals: dict[str, str] = {}
    for group in members(indivisible(graph, crossing_ok)):
        ids = [graph.nodes[index].id for index in group]
        if not any(all(map(capability.takes, ids)) for capability in inner.values()):
            refusals.update((id_, _reason(id_, ids, inner)) for id_ in ids)
    return Capability(refusals=MappingProxyType(refusals))


def _reason(id_: str, group: Sequence[str], inner: Mapping[Engine, Capability]) -> str:
    reasons = []
    for engine, capability in inner.items():
        refused = id_ if not capability.takes(id_) else next(each for each in group if not capability.takes(each))
        with_it = "" if refused == id_ else f"{refused!r}, which must stay with it: "
        reasons.append(f"{engine}: {with_it}{capability.refusals[refused]}")
    return "; ".join(reasons) or "none of its engines can be used here"
