"""Which weights an artifact holds in few bits only: those that every plan in it reads so, and nothing reads in fp32."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from intarsia.graph import Graph, Node
from intarsia.graph.packed import PackedTensor
from intarsia.graph.quantise import BLOCK
from intarsia.runtime.plan import Plan


def packed_weights(graph: Graph, plans: Sequence[Plan], needed: Collection[str]) -> dict[str, PackedTensor]:
    """The weights in few bits, by name; ``needed`` are those that engines are handed in fp32."""
    by_plan = [_bits_by_node(plan) for plan in plans]
    found = {}
    for name, weight in graph.weights.items():
        value = graph.values[name]
        readers = [graph.nodes[index] for index in value.consumers]
        ways = {(own.get(node.id), _is_flipped(node)) for node in readers for own in by_plan}
        if name in needed or value.is_output or len(ways) != 1 or not all(_is_factor(node, name) for node in readers):
            continue
        ((bits, flipped),) = ways
        if bits is not None and weight.shape[1 if flipped else 0] % BLOCK == 0:
            found[name] = PackedTensor.of(weight.array(), bits, flipped=flipped)
    return found


def _bits_by_node(plan: Plan) -> dict[str, int]:
    rows = (row for step in plan.steps if step.precision is not None for row in step.precision.schemes)
    return {node: scheme.weight_bits for node, scheme in rows if scheme.weight_bits is not None}


def _is_factor(node: Node, name: str) -> bool:
    """Whether a node reads a weight as its second factor, and as nothing else."""
    return [place for place, read in enumerate(node.inputs) if read == name] == [1]


def _is_flipped(node: Node) -> bool:
    return bool(node.attributes.get("transB", 0))
