"""Partitioning by priority where an engine may be a nested configuration.

From outside, a nested configuration is one engine. The nodes that it gets are divided among its own engines by its own
priority. The result is flat, and says for each node which configurations are around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.partitioning.capability import Capability
from intarsia.partitioning.greedy import Limits, cover
from intarsia.partitioning.groups import indivisible
from intarsia.partitioning.partitioning import Partitioning, merge_adjacent
from intarsia.partitioning.quotient import members
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.config import NestedEngine
    from intarsia.graph import Graph
    from intarsia.partitioning.groups import CrossingOk
    from intarsia.partitioning.partitioning import Places

    Engine = Target | NestedEngine
    Path = tuple[NestedEngine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """A flat partitioning, and the nested configurations of its nodes.

    Attributes:
        partitioning: Its targets are leaves, and no partition spans two configurations.
        paths: The nested configurations around each node, by id, the outermost first; empty for most.
    """

    partitioning: Partitioning
    paths: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class _Part:
    engine: Engine
    nodes: frozenset[str]
    path: Path


def divide(
    graph: Graph,
    engines: Sequence[Engine],
    capabilities: Mapping[Engine, Capability],
    min_nodes: Limits[Engine] = 1,
    min_flops: Limits[Engine] = 0,
    *,
    crossing_ok: CrossingOk | None = None,
    places: Places | None = None,
) -> Divided:
    """Cover the graph as `greedy` does, and the regions of each nested configuration in the same way.

    Args:
        capabilities: What each engine takes, those inside nested configurations too: see `nested_capability`.
        min_nodes: See `greedy`; it holds at every level.

    Raises:
        NoCoverError: Some nodes are taken by nobody.
    """

    def covered(among: Sequence[Engine], path: Path, others: Sequence[_Part]) -> list[_Part]:
        settled = [part.nodes for part in others]
        limits = (min_nodes, min_flops)
        found = cover(graph, among, capabilities, *limits, crossing_ok=crossing_ok, places=places, settled=settled)
        return [_Part(engine, nodes, path) for engine, nodes in found]

    parts = covered(engines, (), ())
    number = 0
    while number < len(parts):
        engine, path = parts[number].engine, parts[number].path
        if isinstance(engine, Target):
            number += 1
        else:
            others = [*parts[:number], *parts[number + 1 :]]
            parts[number : number + 1] = covered(engine.engines, (*path, engine), others)
    paths = {id_: part.path for part in parts for id_ in part.nodes}
    kept = {id_: (None if places is None else places[id_], path) for id_, path in paths.items()}
    leaves = [(part.engine, part.nodes) for part in parts if isinstance(part.engine, Target)]
    flat = Partitioning.of(graph, leaves, crossing_ok=crossing_ok, places=places)
    return Divided(partitioning=merge_adjacent(graph, flat, kept), paths=MappingProxyType(paths))


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
