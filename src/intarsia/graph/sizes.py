"""The sizes that a graph leaves open, and what follows from sizes: estimates, row numbers of tables, what fits."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from types import MappingProxyType

import onnx

from intarsia.errors import ModelError
from intarsia.graph.build import tensor_shape
from intarsia.graph.dtypes import element_bytes
from intarsia.graph.graph import Graph
from intarsia.graph.inference import INFERENCE_ERRORS
from intarsia.graph.parts import Value
from intarsia.graph.ranges import Dims
from intarsia.graph.store import structure

_PASSING = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
"""Operators behind which a number is still the same."""


def input_dims(graph: Graph) -> dict[str, Dims]:
    """The dimensions of each input that is a tensor of known rank."""
    found = {}
    for name in graph.inputs:
        type_proto = graph.values[name].type_proto
        if type_proto is not None and type_proto.tensor_type.HasField("shape"):
            dims = type_proto.tensor_type.shape.dim
            found[name] = tuple(dim.dim_param or dim.dim_value for dim in dims)
    return found


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


def table_rows(graph: Graph) -> dict[str, int]:
    """For each value that numbers rows: how many rows the smallest table has that it is used with."""
    rows: dict[str, int] = {}
    for node in reversed(graph.nodes):
        if node.domain != "" or not node.inputs:
            continue
        if node.op_type == "Gather" and node.inputs[0] in graph.weights:
            shape = graph.weights[node.inputs[0]].shape
            _note(rows, node.inputs[1], shape[int(node.attributes.get("axis", 0))])
        elif node.op_type in _PASSING and node.outputs[0] in rows:
            _note(rows, node.inputs[0], rows[node.outputs[0]])
    return rows


def _note(rows: dict[str, int], name: str, count: int) -> None:
    rows[name] = min(count, rows.get(name, count))


def check_fits(graph: Graph, memory: int) -> None:
    """Raise a `ModelError` if one value alone takes more than ``memory`` bytes; weights may stay in their files."""
    value = max((value for value in graph.values.values() if not value.is_weight), key=lambda value: value.nbytes)
    if value.nbytes <= memory:
        return
    what = "input" if value.producer is None else f"node {graph.nodes[value.producer].id!r} computes"
    raise ModelError(
        f"{what} {value.name!r} {value.dtype}{list(value.shape or ())}, which takes {_gigabytes(value.nbytes)}, and "
        f"this machine has {_gigabytes(memory)}: state smaller shapes by --shape, or compile on a larger machine"
    )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"
