"""Makes a `Graph` of a normalised ONNX model and its weights: producers, consumers and captured values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import onnx

from intarsia.graph.dtypes import dtype_name, elem_type_of, element_bytes
from intarsia.graph.graph import Graph
from intarsia.graph.parts import Node, Value, Weight

_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def build(model: onnx.ModelProto, weights: Mapping[str, Weight]) -> Graph:
    """Make the `Graph`.

    Args:
        model: Normalised: nodes in topological order under unique names (their ids), no functions. Its initialisers
            are ignored; ``weights`` counts. Kept and shared: the caller must not change it afterwards.
        weights: Every constant of the main graph.
    """
    nodes = tuple(_node(index, proto) for index, proto in enumerate(model.graph.node))
    inputs = tuple(value.name for value in model.graph.input)
    outputs = tuple(value.name for value in model.graph.output)
    return Graph(
        nodes=nodes,
        inputs=inputs,
        outputs=outputs,
        values=MappingProxyType(_values(model.graph, nodes, weights)),
        weights=MappingProxyType(dict(weights)),
        opsets=MappingProxyType({entry.domain: entry.version for entry in model.opset_import}),
        ir_version=model.ir_version,
        metadata=MappingProxyType({entry.key: entry.value for entry in model.metadata_props}),
        name=model.graph.name or "graph",
        position=MappingProxyType({node.id: node.index for node in nodes}),
    )


def captured(proto: onnx.NodeProto) -> Iterator[str]:
    """Yield names of outer values that the node's nested graphs read; a name may repeat."""
    for attribute in proto.attribute:
        for graph in nested_graphs(attribute):
            yield from free_names(graph)


def nested_graphs(attribute: onnx.AttributeProto) -> tuple[onnx.GraphProto, ...]:
    """Return the graphs in an attribute."""
    if attribute.type == onnx.AttributeProto.GRAPH:
        return (attribute.g,)
    return tuple(attribute.graphs)


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield the nodes and those of nested graphs, at every depth."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for inner in nested_graphs(attribute):
                yield from all_nodes(inner.node)


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and its nested graphs, at every depth."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in nested_graphs(attribute):
                yield from all_graphs(inner)


def tensor_shape(type_proto: onnx.TypeProto | None) -> tuple[int, ...] | None:
    """Return the shape if every dimension is known, else ``None``."""
    if type_proto is None or not type_proto.HasField("tensor_type") or not type_proto.tensor_type.HasField("shape"):
        return None
    dims = type_proto.tensor_type.shape.dim
    if any(not dim.HasField("dim_value") for dim in dims):
        return None
    return tuple(dim.dim_value for dim in dims)


def free_names(graph: onnx.GraphProto) -> Iterator[str]:
    """Names that a graph takes from around it; may repeat."""
    bound = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    bound |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        yield from (name for name in (*node.input, *captured(node)) if name and name not in bound)
        bound.update(node.output)
    yield from (value.name for value in graph.output if value.name not in bound)


def _node(index: int, proto: onnx.NodeProto) -> Node:
    inputs = tuple(proto.input)
    has_subgraph = any(attribute.type in _GRAPHS for attribute in proto.attribute)
    reads = dict.fromkeys(name for name in inputs if name)
    if has_subgraph:
        reads |= dict.fromkeys(captured(proto))
    return Node(
        id=proto.name,
        index=index,
        op_type=proto.op_type,
        domain=proto.domain,
        inputs=inputs,
        outputs=tuple(proto.output),
        reads=tuple(reads),
        attributes=MappingProxyType({attribute.name: _plain(attribute) for attribute in proto.attribute}),
        has_subgraph=has_subgraph,
        metadata=MappingProxyType({entry.key: entry.value for entry in proto.metadata_props}),
        proto=proto,
    )


def _plain(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(item.decode("utf-8", errors="surrogateescape") for item in value)
    if attribute.type == onnx.AttributeProto.TENSORS:
        return tuple(onnx.numpy_helper.to_array(item) for item in value)
    if isinstance(value, int | float | str | onnx.GraphProto):
        return value
    return tuple(value) if hasattr(value, "__iter__") else value


def _values(graph: onnx.GraphProto, nodes: tuple[Node, ...], weights: Mapping[str, Weight]) -> dict[str, Value]:
    types = {info.name: info.type for info in (*graph.value_info, *graph.output, *graph.input)}
    producers = {name: node.index for node in nodes for name in node.outputs if name}
    consumers: dict[str, list[int]] = {}
    for node in nodes:
        for name in node.reads:
            consumers.setdefault(name, []).append(node.index)
    inputs = {value.name for value in graph.input}
    outputs = {value.name for value in graph.output}
    values = {}
    for name in dict.fromkeys((*(value.name for value in graph.input), *weights, *producers)):
        weight = weights.get(name)
        dtype, shape, type_proto = _weight_type(weight) if weight else _type(types.get(name))
        values[name] = Value(
            name=name,
            dtype=dtype,
            shape=shape,
            producer=producers.get(name),
            consumers=tuple(consumers.get(name, ())),
            is_input=name in inputs,
            is_output=name in outputs,
            is_weight=weight is not None,
            nbytes=prod(shape) * element_bytes(dtype) if dtype is not None and shape is not None else 0,
            type_proto=type_proto,
        )
    return values


def _type(type_proto: onnx.TypeProto | None) -> tuple[str | None, tuple[int, ...] | None, onnx.TypeProto | None]:
    if type_proto is None or type_proto.WhichOneof("value") is None:
        return None, None, None
    return dtype_name(type_proto.tensor_type.elem_type), tensor_shape(type_proto), type_proto


def _weight_type(weight: Weight) -> tuple[str, tuple[int, ...], onnx.TypeProto]:
    return weight.dtype, weight.shape, onnx.helper.make_tensor_type_proto(elem_type_of(weight.dtype), weight.shape)
