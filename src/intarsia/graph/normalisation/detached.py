"""A model as a message for onnx's C++ code, which copies it several times, so without its large constants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx
import onnx_ir as ir

_SMALL = 1024
"""Bytes up to which a constant comes along: shapes, axes, bounds."""


@contextmanager
def detached(model: ir.Model) -> Iterator[onnx.ModelProto]:
    """The model with large constants turned into inputs behind the real ones; the model is whole again on leaving."""
    graph = model.graph
    count = len(graph.inputs)
    large = [
        value
        for value in graph.initializers.values()
        if value.const_value is not None and value.const_value.nbytes > _SMALL
    ]
    for value in graph.initializers.values():
        _state_type(value)
    for value in large:
        assert value.name is not None
        del graph.initializers[value.name]
        graph.inputs.append(value)
    try:
        yield ir.to_proto(model)
    finally:
        del graph.inputs[count:]
        for value in large:
            graph.register_initializer(value)


def _state_type(value: ir.Value) -> None:
    """A constant's declared type may be missing or, in careless files, wrong: its content decides."""
    tensor = value.const_value
    if tensor is not None:
        value.shape = ir.Shape(tensor.shape.numpy())
        value.type = ir.TensorType(tensor.dtype)
