"""Weights in int8 as weights in uint8, so that a session without optimisation is exact on every processor.

On x86 without VNNI, ONNX Runtime multiplies uint8 by int8 with an instruction that adds two products in 16 bits, and
saturates. It adds the products of uint8 by uint8 in 32 bits. Its own cure, the entry ``session.x64quantprecision``, is
a rewrite of the graph that a session without optimisation leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from intarsia.graph.build import all_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def unsigned_weights(content: bytes, held: Mapping[str, np.ndarray]) -> tuple[bytes, dict[str, np.ndarray]]:
    """The model with the int8 weights that meet a uint8 activation moved by 128, with their zero points.

    Args:
        content: An ONNX model.
        held: The weights that lie outside of it, by name.

    Returns:
        The model, and the weights outside of it: those given, and the moved ones among them.
    """
    model = onnx.ModelProto.FromString(content)
    weights = _Weights(model.graph, dict(held))
    types = _types(model.graph)
    for node in all_nodes(model.graph.node):
        activation, weight, zero = _OPERANDS.get(node.op_type, (None, None, None))
        if weight is None or zero is None or types.get(node.input[weight]) != TensorProto.INT8:
            continue
        if activation is not None and types.get(node.input[activation]) != TensorProto.UINT8:
            continue
        has_zero = len(node.input) > zero and bool(node.input[zero])
        if node.input[weight] not in weights or (has_zero and node.input[zero] not in weights):
            continue
        node.input.extend([""] * (zero + 1 - len(node.input)))
        node.input[zero] = weights.moved(node.input[zero]) if has_zero else weights.shift()
        node.input[weight] = weights.moved(node.input[weight])
    return model.SerializeToString(), weights.held


class _Weights:
    """The initializers of a graph, in it or held outside."""

    def __init__(self, graph: onnx.GraphProto, held: dict[str, np.ndarray]) -> None:
        self.held = held
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def moved(self, name: str) -> str:
        """The name of a weight moved to uint8, which is added once."""
        new = f"{name}/uint8"
        if new in self._tensors:
            return new
        tensor = self._tensors[name]
        if name in self.held:
            self.held[new] = _moved(self.held[name])
            outside = TensorProto()
            outside.CopyFrom(tensor)
            outside.name, outside.data_type = new, TensorProto.UINT8
            return self._added(outside)
        return self._added(numpy_helper.from_array(_moved(numpy_helper.to_array(tensor)), new))

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
