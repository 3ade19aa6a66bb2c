"""Weights in int8 as weights in uint8, so that products with uint8 activations are exact on every processor.

On x86 without VNNI, ONNX Runtime multiplies uint8 by int8 with an instruction that adds two products in 16 bits, and
saturates. It adds the products of uint8 by uint8 in 32 bits. Its own cure, the entry ``session.x64quantprecision``, is
a rewrite of the graph that a session without optimisation leaves out, and that leaves out operators which were
quantised before (a ``QLinearConv`` of a model in the form QOperator saturates at every level, seen in 1.31).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from intarsia.graph.build import all_nodes
from intarsia.graph.export import serialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from intarsia.target.features import Features

_SHIFT = 128
_OPERANDS = {
    "QLinearConv": (2, 3, 5),
    "QLinearMatMul": (2, 3, 5),
    "MatMulInteger": (0, 1, 3),
    "ConvInteger": (0, 1, 3),
    "QGemm": (2, 3, 5),
    "MatMulIntegerToFloat": (0, 1, 5),
    "DynamicQuantizeMatMul": (None, 1, 3),
}
"""By operator: the input that has the activation's type (None: it is always uint8), the weight, its zero point."""


def saturates(processor: Features) -> bool:
    """Whether ONNX Runtime's products of uint8 and int8 saturate on that processor."""
    return processor.architecture == "x86" and not (processor.has("avx512vnni") or processor.has("avxvnni"))


def unsigned_weights(model: onnx.ModelProto, held: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """Move the int8 weights that meet a uint8 activation by 128, with their zero points, in place.

    Args:
        model: The model. A weight that is moved lies in it afterwards, and one that nobody reads any more is dropped.
        held: The weights that lie outside of it, by name.
    """
    weights = _Weights(model.graph, held)
    types = _types(model.graph)
    before = set[str]()
    for node in all_nodes(model.graph.node):
        activation, weight, zero = _OPERANDS.get(node.op_type, (None, None, None))
        if weight is None or zero is None or types.get(node.input[weight]) != TensorProto.INT8:
            continue
        if activation is not None and types.get(node.input[activation]) != TensorProto.UINT8:
            continue
        has_zero = len(node.input) > zero and bool(node.input[zero])
        if node.input[weight] not in weights or (has_zero and node.input[zero] not in weights):
            continue
        before |= {node.input[weight], *node.input[zero : zero + 1]}
        node.input.extend([""] * (zero + 1 - len(node.input)))
        node.input[zero] = weights.moved(node.input[zero]) if has_zero else weights.shift()
        node.input[weight] = weights.moved(node.input[weight])
    _drop_unread(model.graph, before)
    return model


def with_unsigned_weights(content: bytes, held: Mapping[str, np.ndarray]) -> bytes:
    """What `unsigned_weights` makes of a serialised model."""
    return serialise(unsigned_weights(onnx.ModelProto.FromString(content), held))


def _drop_unread(graph: onnx.GraphProto, names: set[str]) -> None:
    """Drop those of the initializers that no node reads, and that are no border of the graph."""
    read = {name for node in all_nodes(graph.node) for name in node.input}
    read |= {value.name for value in (*graph.input, *graph.output)}
    kept = [tensor for tensor in graph.initializer if tensor.name not in names - read]
    if len(kept) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(kept)


class _Weights:
    """The initializers of a graph, in it or held outside."""

    def __init__(self, graph: onnx.GraphProto, held: Mapping[str, np.ndarray]) -> None:
        self._held = held
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def moved(self, name: str) -> str:
        """The name of a weight moved to uint8, which is added once."""
        new = f"{name}/uint8"
        if new in self._tensors:
            return new
        held = self._held.get(name)
        content = numpy_helper.to_array(self._tensors[name]) if held is None else held
        return self._added(numpy_helper.from_array(_moved(content), new))

    def shift(self) -> str:
        """The name of the zero point of a weight that had none."""
        name = "/uint8/zero_point"
        return name if name in self else self._added(numpy_helper.from_array(np.array(_SHIFT, np.uint8), name))

    def _added(self, tensor: onnx.TensorProto) -> str:
        self._graph.initializer.append(tensor)
        self._tensors[tensor.name] = tensor
        return tensor.name


def _moved(weight: np.ndarray) -> np.ndarray:
    return (weight.astype(np.int16) + _SHIFT).astype(np.uint8)


def _types(graph: onnx.GraphProto) -> dict[str, int]:
    """ONNX's number of the element type by name, where the graph says it."""
    values = (*graph.input, *graph.value_info, *graph.output)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    for node in all_nodes(graph.node):
        if node.op_type == "DynamicQuantizeLinear":
            types |= {node.output[0]: TensorProto.UINT8, node.output[2]: TensorProto.UINT8}
    return types
