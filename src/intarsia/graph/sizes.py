"""Graphs with open dimensions: which those are, and the sizes at which such a graph is measured and estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

import onnx

from intarsia.graph.build import tensor_shape
from intarsia.graph.dtypes import element_bytes
from intarsia.graph.graph import Graph
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.parts import Value
from intarsia.graph.store import structure

Dims = tuple[int | str, ...]
"""A shape with the names of open dimensions in it."""


def input_dims(graph: Graph) -> dict[str, Dims]:
    """The dimensions of each input that is a tensor of known rank."""
    found = {}
    for name in graph.inputs:
        type_proto = graph.values[name].type_proto
        if type_proto is not None and type_proto.tensor_type.HasField("shape"):
            dims = type_proto.tensor_type.shape.dim
            found[name] = tuple(dim.dim_param or dim.dim_value for dim in dims)
    return found


def shape_at(dims: Dims, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A shape with these sizes for its open dimensions."""
    return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in dims)


def estimated(graph: Graph) -> Graph:
    """The graph as it would be at the sizes it is measured at, for estimates of work; itself if no dimension is open.

    Shapes that inference does not find stay unknown.
    """
    if not graph.sizes:
        return graph
    model = onnx.ModelProto()
    model.ParseFromString(structure(graph))
    model.graph.ClearField("value_info")
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param in graph.sizes:
                dim.dim_value = graph.sizes[dim.dim_param]
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except INFERENCE_ERRORS:
        return graph
    known = (*inferred.graph.value_info, *inferred.graph.output, *inferred.graph.input)
    shapes = {info.name: shape for info in known if (shape := tensor_shape(info.type)) is not None}
    values = {name: _with_shape(value, shapes.get(name)) for name, value in graph.values.items()}
    return replace(graph, values=MappingProxyType(values))


def _with_shape(value: Value, shape: tuple[int, ...] | None) -> Value:
    if value.shape is not None or shape is None or value.dtype is None:
        return value
    return replace(value, shape=shape, nbytes=prod(shape) * element_bytes(value.dtype))
