"""What a comparison of two engines on one network needs: inputs, a tensor in the middle, and a mistake to catch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from networks.draw import Draw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# How many coarse patches a picture has along each side.
_PATCHES = 8
_ACTIVATIONS = {"Clip", "Gelu", "LeakyRelu", "Relu", "Sigmoid", "Tanh"}


def feeds(model: onnx.ModelProto | Path | str, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Seeded inputs of the declared shapes: floats of variance 1, token numbers among the rows of their table.

    Pictures get coarse patches besides noise: noise alone averages out under pooling, and all inputs give one output.

    Raises:
        ValueError: an input that is neither float32 nor looked up in a table, or has a symbolic dimension.
    """
    proto = model if isinstance(model, onnx.ModelProto) else onnx.load(model, load_external_data=False)
    weights = {tensor.name for tensor in proto.graph.initializer}
    draw = Draw(network="feeds", seed=seed)
    rows = _table_rows(proto.graph)
    return {value.name: _numbers(draw, value, rows) for value in proto.graph.input if value.name not in weights}


def _numbers(draw: Draw, value: onnx.ValueInfoProto, rows: Mapping[str, int]) -> NDArray[Any]:
    declared = value.type.tensor_type
    shape = tuple(dim.dim_value for dim in declared.shape.dim)
    if declared.elem_type == onnx.TensorProto.INT64 and value.name in rows and 0 not in shape:
        numbers = draw.uniform(value.name, shape, 0, rows[value.name]).astype(np.int64)
        return np.minimum(numbers, rows[value.name] - 1)  # float32 may round the last fraction up
    if declared.elem_type != onnx.TensorProto.FLOAT or 0 in shape:
        raise ValueError(f"input {value.name!r}: only float32 and rows of a table are drawn, of fixed shape")
    return floats(draw, value.name, shape)


def _table_rows(graph: onnx.GraphProto) -> dict[str, int]:
    """By the name of what a Gather looks up in a weight: how many rows that weight has."""
    sizes = {tensor.name: tensor.dims[0] for tensor in graph.initializer if tensor.dims}
    rows: dict[str, int] = {}
    for node in reversed(graph.node):
        if node.op_type == "Gather" and node.input[0] in sizes:
            rows[node.input[1]] = sizes[node.input[0]]
        elif node.op_type == "Reshape" and node.output[0] in rows:
            rows[node.input[0]] = rows[node.output[0]]
    return rows


def floats(draw: Draw, name: str, shape: Sequence[int]) -> NDArray[np.float32]:
    """Numbers of variance 1; in pictures and volumes, half of it between coarse patches."""
    fine = draw.normal(name, shape)
    if len(shape) < 4:
        return fine
    coarse = draw.normal(f"{name}/patches", (*shape[:2], *[_PATCHES] * (len(shape) - 2)))
    for axis, size in enumerate(shape[2:], start=2):
        coarse = coarse.take(np.arange(size) * _PATCHES // size, axis)
    both: NDArray[np.float32] = (fine + coarse) * np.float32(np.sqrt(0.5))
    return both


def intermediate_of(model: onnx.ModelProto) -> str:
    """The output of the activation that stands nearest the middle of the node list."""
    nodes = model.graph.node
    places = [place for place, node in enumerate(nodes) if node.op_type in _ACTIVATIONS]
    return str(nodes[min(places, key=lambda place: abs(place - len(nodes) // 2))].output[0])


def swap_channels(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which the middle convolution has two output channels of its weight swapped, its bias as before.

    They are those of the largest and the smallest sum: one is alive behind the Relu and one is not, so it shows.
    """
    swapped = onnx.ModelProto()
    swapped.CopyFrom(model)
    weights = {tensor.name: tensor for tensor in swapped.graph.initializer}
    convolutions = [node for node in swapped.graph.node if node.op_type == "Conv" and node.input[1] in weights]
    tensor = weights[convolutions[len(convolutions) // 2].input[1]]
    values = numpy_helper.to_array(tensor).copy()
    sums = values.sum(axis=(1, 2, 3))
    pair = [int(sums.argmax()), int(sums.argmin())]
    values[pair] = values[pair[::-1]]
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return swapped
