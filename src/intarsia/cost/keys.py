"""What the keys of records are made of: all that a measured time depends on. Names of nodes and values are no part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from intarsia.backends import registry
from intarsia.config.settings import RunSettings
from intarsia.cost.records.record import Key
from intarsia.cost.worker.protocol import Timed
from intarsia.graph import Graph, Node
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.graph import PLANS_KEY
from intarsia.graph.reference.rounding import rounds
from intarsia.partitioning import Inside, Partition, parse_bodies
from intarsia.runtime.artifact.machine import this_machine
from intarsia.runtime.executors.transfers import HOST
from intarsia.target import Target
from intarsia.target.detect import devices_here

PROTOCOL = 2
"""Part of every key: raised when the way of measuring changes, so that old figures are not mixed with new ones."""
JUDGING = 1
"""Part of the keys of models that round inside: raised when the check of their answers changes."""
NAMING = 2
"""Part of the keys of node times: raised when kernels are assigned to nodes in another way."""
_ORDER = "order"


def measurement_key(
    graph: Graph,
    partitions: Sequence[Partition],
    timed: Timed | Literal["nodes", "stages"],
    settings: RunSettings,
    place: int | None = None,
) -> Key:
    """The key of what partitions of a graph take; see `Measure` for what may be timed."""
    union = sorted({graph.position[node] for partition in partitions for node in partition.nodes})
    nodes = [graph.nodes[index].id for index in union]
    position = {node: index for index, node in enumerate(nodes)}
    return Key(
        facts={
            "protocol": PROTOCOL,
            "graph": fingerprint_of(graph, nodes),
            "partitions": [_facts(partition, position) for partition in partitions],
            "timed": timed if place is None else [timed, place],
            **judging_facts(graph),
            **run_facts(_targets(graph, partitions), settings),
        }
    )


def nodes_key(graph: Graph, partition: Partition, nodes: Sequence[Node], settings: RunSettings) -> Key:
    """The key of a profile of one partition; it is kept by place, so the order of the nodes is a part of it."""
    facts = measurement_key(graph, (partition,), "nodes", settings).facts
    return Key(facts={**facts, "order": _order(graph, nodes), "naming": NAMING})


def _order(graph: Graph, nodes: Sequence[Node]) -> str:
    """Digest of the types and results of nodes in their order; that of the whole graph is computed once."""
    memo = graph.memo if len(nodes) == len(graph.nodes) else {}
    if _ORDER not in memo:
        rows = [[node.op_type, *(graph.values[name].shape for name in node.outputs if name)] for node in nodes]
        memo[_ORDER] = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return str(memo[_ORDER])


def stages_key(graph: Graph, partitions: Sequence[Partition], settings: RunSettings) -> Key:
    """The key of a check of a graph's rounding stages, which depends on the weights too."""
    facts = measurement_key(graph, partitions, "stages", settings).facts
    return Key(facts={**facts, "content": content_hash(graph)})


def judging_facts(graph: Graph) -> Mapping[str, Any]:
    """The part of a key on how answers are checked; empty unless the graph rounds inside."""
    return {"judging": JUDGING} if rounds(graph) else {}


def run_facts(targets: Iterable[Target], settings: RunSettings) -> Mapping[str, Any]:
    """The part of a key on where and how something ran; of devices only those beside the CPU."""
    several = tuple(targets)
    devices = sorted({target.device_type for target in several} - {HOST})
    return {
        "engines": {name: registry.probe(name).version for name in sorted(set(map(registry.engine_of, several)))},
        **({"devices": {type_: [str(each) for each in devices_here(type_)] for type_ in devices}} if devices else {}),
        **settings.facts(),
        "bound": True,
        "machine": this_machine().fingerprint,
    }


def _targets(graph: Graph, partitions: Iterable[Partition]) -> Iterator[Target]:
    """The targets that run at last; inside of control flow those that its nodes say."""
    for leaf in (leaf for partition in partitions for leaf in partition.leaves):
        yield leaf.target
        if leaf.target.kind.name == registry.CONTROL_FLOW:
            for node in map(graph.node, leaf.nodes):
                for body in parse_bodies(node.metadata.get(PLANS_KEY, "[]")):
                    yield from (target for part in body.partitions for target in part.targets)


def _facts(partition: Partition, position: Mapping[str, int]) -> list[Any]:
    """Target and places of a partition's nodes, and which of them are in reduced precision."""
    row: list[Any] = [partition.target.key, sorted(position[node] for node in partition.nodes)]
    if partition.precision is not None:
        row.append(sorted([position[node], scheme.value] for node, scheme in partition.precision.schemes))
    if partition.inside is not None:
        row.append(inside_facts(partition.inside, position))
    return row


def inside_facts(inside: Inside, position: Mapping[str, int]) -> Mapping[str, Any]:
    """What a nested configuration runs where, by the places of nodes, and how it drives that."""
    driven = [inside.threads, inside.parallel, None if inside.pipeline is None else inside.pipeline.facts()]
    return {"inside": [_facts(each, position) for each in inside.partitions], "driven": driven}
