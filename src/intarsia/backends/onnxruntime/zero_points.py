"""Zero points that a model leaves out, where ONNX Runtime's own rewrite would add one of a wrong size.

With the entry ``session.x64quantprecision`` it turns int8 weights into uint8. To a ``DequantizeLinear`` without a zero
point it adds a single one, also where the scales are many, and the run then fails (seen in 1.31).
"""

from __future__ import annotations

from math import prod

import onnx
from onnx import TensorProto

from intarsia.graph.build import all_nodes


def add_zero_points(model: onnx.ModelProto) -> onnx.ModelProto:
    """Give each ``DequantizeLinear`` of an int8 weight with several scales the zeros that it stands for, in place."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in all_nodes(model.graph.node):
        if node.op_type != "DequantizeLinear" or (len(node.input) > 2 and node.input[2]):
            continue
        weight, scales = (tensors.get(name) for name in node.input[:2])
        if weight is None or scales is None or weight.data_type != TensorProto.INT8 or not scales.dims:
            continue
        del node.input[2:]
        node.input.append(_zeros(model.graph, tensors, tuple(scales.dims)))
    return model


def _zeros(graph: onnx.GraphProto, tensors: dict[str, TensorProto], shape: tuple[int, ...]) -> str:
    name = f"/zero_point/{'x'.join(map(str, shape))}"
    if name not in tensors:
        tensors[name] = graph.initializer.add(
            name=name, data_type=TensorProto.INT8, dims=shape, raw_data=bytes(prod(shape))
        )
    return name
