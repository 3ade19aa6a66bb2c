"""Finds nodes that must stay in one partition: quantised groups, and both ends of a value that may not cross."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from intarsia.partitioning.quotient import edges, join, members, strong_components

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, Value

    CrossingOk: TypeAlias = Callable[[Value], bool]
    """Whether a value that is no tensor of known rank may pass from one partition to another."""

QUANTIZE = frozenset({"QuantizeLinear"})
DEQUANTIZE = frozenset({"DequantizeLinear"})
ACTIVATIONS = frozenset({"Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu"})
"""What engines fold into the quantised operator before it."""


def fused_groups(graph: Graph) -> tuple[frozenset[str], ...]:
    """The DequantizeLinear-operator-QuantizeLinear groups, which engines run as one integer kernel.

    An operator stays with the nodes that dequantise its inputs, and with those that quantise its result, at once or
    after an activation. Groups that share a node are one group, which also holds all nodes on paths between its nodes,
    so that partitions around the groups form no cycle.
    """
    groups = (part for part in members(_labels(graph, _quantised_pairs(graph))) if len(part) > 1)
    return tuple(frozenset(graph.nodes[index].id for index in part) for part in groups)


def computing_first(graph: Graph, nodes: Iterable[str]) -> tuple[str, ...]:
    """Ids of nodes in their order, but those last that only convert between integers and floats: they tell least."""
    return tuple(sorted(nodes, key=lambda id_: _converts(graph.nodes[graph.position[id_]])))


def _converts(node: Node) -> bool:
    return node.op_type in QUANTIZE or node.op_type in DEQUANTIZE


def indivisible(graph: Graph, crossing_ok: CrossingOk | None = None, fixed: Iterable[Iterable[str]] = ()) -> list[int]:
    """For each node, by index, the label of the smallest group that must stay whole; the groups' graph is acyclic.

    Args:
        crossing_ok: Asked for each value that is no tensor of known rank; without it none of these crosses.
        fixed: More sets of nodes to keep whole.
    """
    pairs = [*_quantised_pairs(graph), *_uncrossable_pairs(graph, crossing_ok)]
    for ids in fixed:
        first, *rest = [graph.node(id_).index for id_ in ids]
        pairs += [(first, other) for other in rest]
    return _labels(graph, pairs)


def may_cross(value: Value, crossing_ok: CrossingOk | None) -> bool:
    """Whether the value may pass from one partition to another: engines must know its type and its rank."""
    if value.rank is not None and value.dtype is not None:
        return True
    return crossing_ok is not None and crossing_ok(value)


def _labels(graph: Graph, pairs: Iterable[tuple[int, int]]) -> list[int]:
    pairs = list(pairs)
    if not pairs:  # as in most graphs: single nodes have no cycle
        return list(range(len(graph.nodes)))
    labels = join(len(graph.nodes), pairs)
    closed = strong_components(edges(graph, labels))
    # Each component starts at its first node, so the labels stay numbered by first node.
    return [closed[label] for label in labels]


def _quantised_pairs(graph: Graph) -> Iterator[tuple[int, int]]:
    for node in graph.nodes:
        if node.op_type in QUANTIZE or node.op_type in DEQUANTIZE:
            continue
        producers = (graph.values[name].producer for name in node.reads)
        dequantisers = [i for i in producers if i is not None and graph.nodes[i].op_type in DEQUANTIZE]
        if dequantisers:
            yield from ((index, node.index) for index in (*dequantisers, *_quantisers(graph, node)))


def _quantisers(graph: Graph, node: Node) -> list[int]:
    """What quantises the results of the node, and the activation between."""
    found = []
    for name in filter(None, node.outputs):
        consumers = graph.values[name].consumers
        if len(consumers) == 1 and graph.nodes[consumers[0]].op_type in ACTIVATIONS:
            activation = graph.nodes[consumers[0]]
            quantised = _readers(graph, activation.outputs[0], QUANTIZE)
            found += [activation.index, *quantised] if quantised else []
        found += _readers(graph, name, QUANTIZE)
    return found


def _readers(graph: Graph, name: str, op_types: frozenset[str]) -> list[int]:
    return [index for index in graph.values[name].consumers if graph.nodes[index].op_type in op_types]


def _uncrossable_pairs(graph: Graph, crossing_ok: CrossingOk | None) -> Iterator[tuple[int, int]]:
    for value in graph.values.values():
        if value.producer is not None and value.consumers and not may_cross(value, crossing_ok):
            yield from ((value.producer, consumer) for consumer in value.consumers)
