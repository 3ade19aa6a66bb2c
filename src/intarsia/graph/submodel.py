"""Some nodes of a graph as a model of their own, that shares the graph's weights, and its ONNX form for an engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import onnx

from intarsia.errors import ModelError
from intarsia.graph import export
from intarsia.graph.build import all_nodes
from intarsia.graph.graph import Graph
from intarsia.graph.legalise import legalise
from intarsia.graph.normalisation.opset import lowered
from intarsia.graph.parts import Node, Value, Weight

WeightPlace = Literal["inline", "external", "inputs"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubModel:
    """A partition of a graph. Inputs and outputs keep the names that the values have in the graph.

    Attributes:
        inputs: Values read but not computed here, weights aside, in order of first use.
        outputs: Values computed here and read outside, or outputs of the graph, in the order they are computed.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    weights: Mapping[str, Weight]
    graph: Graph = field(repr=False)

    def with_outputs(self, names: Iterable[str]) -> SubModel:
        """The same partition, with further values that it computes among its outputs."""
        known = {value.name for value in self.outputs}
        return replace(self, outputs=(*self.outputs, *(self.graph.values[name] for name in names if name not in known)))

    def to_bytes(
        self,
        *,
        weights: WeightPlace,
        inside: Collection[str] = frozenset(),
        small_bytes: int = 1024,
        max_opset: int | None = None,
        max_ir: int | None = None,
    ) -> bytes:
        """The partition as an ONNX model.

        Args:
            weights: Where constants larger than ``small_bytes`` are. ``inline``: inside. ``external``: outside, by
                name, in a file called ``weights`` that does not exist: the engine is handed the arrays. ``inputs``:
                they are inputs of the model.
            inside: Names of constants that are inside wherever the others are.
            small_bytes: Constants up to this size are inside in any case, where engines see them while they compile.
            max_opset: Newest version of ONNX's own operators that the reader knows.
            max_ir: Newest IR version that the reader knows.

        Raises:
            ModelError: An operator has no equal in the older opset, or the model is too large for one message.
        """
        message = self.to_message(
            weights=weights, inside=inside, small_bytes=small_bytes, max_opset=max_opset, max_ir=max_ir
        )
        return export.serialise(message)

    def to_message(
        self,
        *,
        weights: WeightPlace,
        inside: Collection[str] = frozenset(),
        small_bytes: int = 1024,
        max_opset: int | None = None,
        max_ir: int | None = None,
    ) -> onnx.ModelProto:
        """What `to_bytes` writes, for engines whose reader is Python code and takes it as it is in memory."""
        export.check_fits(each for each in self.weights.values() if weights == "inline" or each.name in inside)
        model = self.without_weights(*lowered(self.nodes, self.graph, max_opset, max_ir))
        for weight in self.weights.values():
            if weight.nbytes <= small_bytes or weights == "inline" or weight.name in inside:
                export.add_inline(model, weight)
            elif weights == "external":
                export.add_external(model, weight, location="weights")
            else:
                export.add_input(model, weight)
        return model

    def save(
        self,
        path: str | Path,
        max_opset: int | None = None,
        max_ir: int | None = None,
        legalised: Collection[str] = frozenset(),
    ) -> None:
        """Write a stand-alone ``.onnx`` file; above 1.5 GB the weights go to ``<name>.data`` beside it.

        Nodes of the ids ``legalised`` are written as other operators (`graph.legalise`); the rest is as in `to_bytes`.
        """
        model = self.without_weights(*lowered(self.nodes, self.graph, max_opset, max_ir), legalised)
        export.write(model, tuple(self.weights.values()), Path(path))

    def without_weights(
        self, opset: int | None, ir_version: int, legalised: Collection[str] = frozenset()
    ) -> onnx.ModelProto:
        """The partition as an ONNX model that still lacks its weights; ``opset`` is that of ONNX's own operators."""
        graph = self.graph
        proto = onnx.ModelProto(ir_version=ir_version, producer_name="intarsia")
        used = {node.domain for node in all_nodes(node.proto for node in self.nodes)}
        for domain, version in graph.opsets.items():
            if domain in used or domain == "":
                number = opset if domain == "" and opset is not None else version
                proto.opset_import.add(domain=domain, version=number)
        for domain in sorted(used - graph.opsets.keys() - {""}):  # nodes of our own making
            proto.opset_import.add(domain=domain, version=1)
        proto.graph.name = graph.name
        for node in self.nodes:
            proto.graph.node.extend(legalise(node, graph) if node.id in legalised else (node.proto,))
        proto.graph.input.extend(map(value_info, self.inputs))
        proto.graph.output.extend(map(value_info, self.outputs))
        border = {value.name for value in self.outputs}
        inner = (graph.values[name] for node in self.nodes for name in node.outputs if name and name not in border)
        proto.graph.value_info.extend(value_info(value) for value in inner if value.type_proto is not None)
        return proto


def extract(graph: Graph, node_ids: Iterable[str]) -> SubModel:
    """The nodes of these ids as a model of their own, which shares the graph's weights.

    The ids may repeat and come in any order. The set should be convex (see `intarsia.partitioning`): if it is not, the
    sub-model takes as an input a value that depends on one of its own outputs.

    Raises:
        PlanError: An id is not in the graph.
        ModelError: There are no nodes.
    """
    position = graph.position  # of an id that is not in it, the node's own error tells more
    inside = sorted({position[id_] if id_ in position else graph.node(id_).index for id_ in node_ids})
    if not inside:
        raise ModelError("a sub-model needs at least one node")
    nodes = tuple(graph.nodes[index] for index in inside)
    members = frozenset(inside)
    inputs, weights = _read(graph, nodes, members)
    made = (graph.values[name] for node in nodes for name in node.outputs if name)
    return SubModel(
        nodes=nodes,
        inputs=inputs,
        outputs=tuple(value for value in made if value.is_output or not members.issuperset(value.consumers)),
        weights=MappingProxyType(weights),
        graph=graph,
    )


def _read(graph: Graph, nodes: Iterable[Node], members: Collection[int]) -> tuple[tuple[Value, ...], dict[str, Weight]]:
    """What nodes read that none of them computes, in order of first use."""
    inputs: list[Value] = []
    weights: dict[str, Weight] = {}
    for name in dict.fromkeys([name for node in nodes for name in node.reads]):
        weight = graph.weights.get(name)
        if weight is not None:
            weights[name] = weight
        elif (value := graph.values[name]).producer not in members:
            inputs.append(value)
    return tuple(inputs), weights


def value_info(value: Value) -> onnx.ValueInfoProto:
    """A value's name and type as ONNX writes them."""
    return onnx.ValueInfoProto(name=value.name, type=value.type_proto)
