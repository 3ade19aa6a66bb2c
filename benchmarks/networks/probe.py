"""What a comparison of two engines on one network needs: inputs, a tensor in the middle, and a mistake to catch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

from benchmarks.networks.draw import Draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many coarse patches a picture has along each side.
_PATCHES = 8


def feeds(model: onnx.ModelProto | Path | str, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Seeded inputs of the declared shapes, of variance 1.

    Pictures get coarse patches besides noise: noise alone averages out under pooling, and all inputs give one output.

    Raises:
        ValueError: an input that is not float32, or has a symbolic dimension.
    """
    proto = model if isinstance(model, onnx.ModelProto) else onnx.load(model, load_external_data=False)
    weights = {tensor.name for tensor in proto.graph.initializer}
    draw = Draw(network="feeds", seed=seed)
    return {value.name: _numbers(draw, value) for value in proto.graph.input if value.name not in weights}


def _numbers(draw: Draw, value: onnx.ValueInfoProto) -> NDArray[np.float32]:
    declared = value.type.tensor_type
    shape = tuple(dim.dim_value for dim in declared.shape.dim)
    if declared.elem_type != onnx.TensorProto.FLOAT or 0 in shape:
        raise ValueError(f"input {value.name!r}: only float32 of fixed shape is drawn")
    fine = draw.normal(value.name, shape)
    if len(shape) != 4:
        return fine
    coarse = draw.normal(f"{value.name}/patches", (*shape[:2], _PATCHES, _PATCHES))
    rows, columns = (np.arange(size) * _PATCHES // size for size in shape[2:])
    picture: NDArray[np.float32] = (fine + coarse[:, :, rows][..., columns]) * np.float32(np.sqrt(0.5))
    return picture


def intermediate_of(model: onnx.ModelProto) -> str:
    """The output of the activation that stands nearest the middle of the node list."""
    nodes = model.graph.node
    places = [place for place, node in enumerate(nodes) if node.op_type in {"Relu", "Gelu"}]
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
