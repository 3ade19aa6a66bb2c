"""Builds a graph from another one: new nodes, values and weights beside those that stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from intarsia.graph.build import build
from intarsia.graph.dtypes import elem_type_of
from intarsia.graph.graph import Graph
from intarsia.graph.parts import Node, Value, Weight

if TYPE_CHECKING:
    from intarsia.graph.submodel import SubModel

Shape = tuple[int, ...]


class GraphDraft:
    """Collects nodes in topological order. New names derive from existing ones and are unique."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._nodes: list[onnx.NodeProto] = []
        self._types: dict[str, onnx.TypeProto] = {}
        self._weights: dict[str, Weight] = {}
        self._inputs: list[onnx.ValueInfoProto] = []

    def keep(self, node: Node, outputs: Sequence[str] | None = None, inputs: Sequence[str] | None = None) -> None:
        """Keep a node, perhaps with new names for its outputs, and with other inputs."""
        if outputs is None:
            self._nodes.append(node.proto)
            return
        copy = onnx.NodeProto()
        copy.CopyFrom(node.proto)
        copy.output[:] = outputs
        copy.input[:] = node.inputs if inputs is None else inputs
        self._nodes.append(copy)
        for old, new in zip(node.outputs, outputs, strict=True):
            self._types[new] = self.graph.values[old].type_proto or onnx.TypeProto()

    def add(
        self, op_type: str, inputs: Sequence[str], output: str, like: str, dtype: str = "float32", **more: Any
    ) -> str:
        """Add a node with one output of the shape of ``like``."""
        return self.add_several(op_type, inputs, [(output, dtype, self.graph.values[like].shape)], **more)[0]

    def add_several(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[tuple[str, str, Shape | None]], **more: Any
    ) -> list[str]:
        """Add a node with several outputs: name, dtype and shape of each."""
        names = [name for name, _, _ in outputs]
        self._nodes.append(helper.make_node(op_type, inputs, names, name=f"{names[0]}/{op_type}", **more))
        for name, dtype, shape in outputs:
            self._types[name] = helper.make_tensor_type_proto(elem_type_of(dtype), shape)
        return names

    def weight(self, name: str, array: np.ndarray) -> str:
        """Add a constant, unless there is one of this name."""
        if name not in self._weights:
            self._weights[name] = Weight.of(name, np.ascontiguousarray(array).reshape(array.shape))
        return name

    def new_input(self, name: str, shape: Shape) -> str:
        """Add an input to the graph."""
        self._inputs.append(helper.make_tensor_value_info(name, elem_type_of("float32"), shape))
        return name

    def finish(self, inputs: Iterable[Value], outputs: Iterable[Value | str]) -> Graph:
        """Return the finished graph."""
        proto = onnx.ModelProto(ir_version=self.graph.ir_version)
        for domain, version in self.graph.opsets.items():
            proto.opset_import.add(domain=domain, version=version)
        for domain in sorted({node.domain for node in self._nodes} - self.graph.opsets.keys() - {""}):
            proto.opset_import.add(domain=domain, version=1)
        for key, value in self.graph.metadata.items():
            proto.metadata_props.add(key=key, value=value)
        proto.graph.name = self.graph.name
        proto.graph.node.extend(self._nodes)
        proto.graph.input.extend([*(self._info(value.name) for value in inputs), *self._inputs])
        proto.graph.output.extend(self._info(each if isinstance(each, str) else each.name) for each in outputs)
        made = [name for node in self._nodes for name in node.output if name]
        proto.graph.value_info.extend(self._info(name) for name in made)
        read = {name for node in self._nodes for name in node.input}
        kept = {name: weight for name, weight in self.graph.weights.items() if name in read or self._is_captured(name)}
        return build(proto, {**kept, **self._weights})

    def finish_part(self, model: SubModel) -> SubModel:
        """Return the finished graph as a partition with the borders of another one."""
        graph = self.finish(model.inputs, model.outputs)
        return replace(
            model,
            nodes=graph.nodes,
            inputs=tuple(graph.values[value.name] for value in model.inputs),
            outputs=tuple(graph.values[value.name] for value in model.outputs),
            weights=MappingProxyType(
                {name: graph.weights[name] for node in graph.nodes for name in node.reads if name in graph.weights}
            ),
            graph=graph,
        )

    def _is_captured(self, name: str) -> bool:
        """Whether a nested graph reads a weight, which its node does not list."""
        return any(self.graph.nodes[index].has_subgraph for index in self.graph.values[name].consumers)

    def _info(self, name: str) -> onnx.ValueInfoProto:
        known = self._types.get(name)
        if known is None:
            known = self.graph.values[name].type_proto
        return onnx.ValueInfoProto(name=name, type=known)
