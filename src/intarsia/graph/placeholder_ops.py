"""A sub-model with placeholders: nodes that each stand for a partition which another engine runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import onnx

from intarsia.errors import PlanError
from intarsia.graph.parts import Node
from intarsia.graph.submodel import SubModel
from intarsia.topological_order import in_order

if TYPE_CHECKING:
    from intarsia.graph.parts import Value

DOMAIN, OP_TYPE = "intarsia", "Partition"
"""A placeholder's operator, which `backends/native/host/partition_op.cpp` registers; it has the partition's inputs and
outputs."""


def punched(model: SubModel, partitions: Sequence[SubModel]) -> SubModel:
    """Return the model with a placeholder in place of each partition, without weights that only the partitions read.

    A placeholder's attribute ``partition`` is the partition's position. Its ``dims`` are the shapes of the outputs, one
    after the other, each as its rank followed by its dimensions.

    Raises:
        PlanError: A partition has an output of unknown shape, or partitions depend on each other in a circle.
    """
    inside = {node.id for partition in partitions for node in partition.nodes}
    nodes = [node for node in model.nodes if node.id not in inside]
    placeholders = [_placeholder(number, partition) for number, partition in enumerate(partitions)]
    ordered = _ordered([*nodes, *placeholders])
    read = {name for node in ordered for name in node.reads}
    return SubModel(
        nodes=tuple(ordered),
        inputs=model.inputs,
        outputs=model.outputs,
        weights=MappingProxyType({name: weight for name, weight in model.weights.items() if name in read}),
        graph=model.graph,
    )


def _placeholder(number: int, partition: SubModel) -> Node:
    inputs, outputs = ([value.name for value in side] for side in (partition.inputs, partition.outputs))
    name = f"partition_{number}"
    dims = [number for value in partition.outputs for number in _described(value)]
    proto = onnx.helper.make_node(OP_TYPE, inputs, outputs, name=name, domain=DOMAIN, partition=number, dims=dims)
    return Node(
        id=name,
        index=partition.nodes[-1].index,
        op_type=OP_TYPE,
        domain=DOMAIN,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        reads=tuple(inputs),
        attributes=MappingProxyType({"partition": number, "dims": tuple(dims)}),
        has_subgraph=False,
        metadata=MappingProxyType({}),
        proto=proto,
    )


def _described(value: Value) -> tuple[int, ...]:
    if value.shape is None:
        raise PlanError(f"the shape of {value.name} is only known after it was computed: no placeholder can give it")
    return (len(value.shape), *value.shape)


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """Sort nodes topologically; the graph's order breaks ties."""
    ordered = in_order(sorted(nodes, key=lambda node: node.index))
    if len(ordered) < len(nodes):
        raise PlanError("the partitions read each other's results in a circle")
    return ordered
