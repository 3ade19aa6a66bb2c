"""The nine architectures that the onnx package carries, with weights that mean something.

Their own weights are the constant 0.02, with which every output is 0.001 even when the network is broken. Structure,
shapes and names stay; each weight is drawn anew from a seed, scaled so that activations stay O(1) through the depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from networks.draw import Draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

NAMES = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)

# From here on a model's weights need not be among its inputs.
_IR_VERSION = 8
# Each residual block adds its branch's power to the trunk's; branches this weak keep sixteen of them O(1).
_RESIDUAL_GAIN = 0.4
# Keeps the softmax at the end between flat and saturated.
_LOGIT_GAIN = 0.5
# What normalisation parameters and biases stray by from the value that does nothing.
_SPREAD = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """How a value is read: by which op, in which place, and by which op that one's result is read in turn."""

    op_type: str
    place: int
    then: str


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """The named network at opset 9, as its authors exported it, with drawn weights as initialisers.

    Raises:
        ValueError: no such network.
    """
    if name not in NAMES:
        raise ValueError(f"no network {name!r}; there are {', '.join(NAMES)}")
    model = onnx.load(source(name))
    graph = model.graph
    stated = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    uses = _uses(nodes)
    shapes = {key: value for key, value in stated.items() if value.dtype == np.int64}
    draw = Draw(network=name, seed=seed)
    drawn = {key: _weight(draw, key, shape, uses[key]) for key, shape in _weight_shapes(graph, stated) if key in uses}
    inputs = [value for value in graph.input if value.name in uses and value.name not in stated]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    for key, value in (shapes | drawn).items():
        if key in uses:
            graph.initializer.append(numpy_helper.from_array(value, key))
    model.ir_version = _IR_VERSION
    return model


def source(name: str) -> Path:
    """Where the onnx package keeps the named network."""
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"


def _weight_shapes(graph: onnx.GraphProto, stated: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every float weight: some are initialisers, most the outputs of ConstantOfShape."""
    for key, value in stated.items():
        if value.dtype == np.float32:
            yield key, value.shape
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            yield node.output[0], tuple(int(size) for size in stated[node.input[0]])


def _uses(nodes: list[onnx.NodeProto]) -> dict[str, _Use]:
    """The first use of each value that is read; the one behind it where that is a mere change of shape."""
    uses: dict[str, _Use] = {}
    for node in reversed(nodes):
        for place, key in enumerate(node.input):
            if place == 0 and node.op_type in {"Unsqueeze", "Reshape"} and node.output[0] in uses:
                uses[key] = uses[node.output[0]]
            else:
                behind = uses.get(node.output[0])
                uses[key] = _Use(op_type=node.op_type, place=place, then=behind.op_type if behind else "")
    return uses


def _weight(draw: Draw, key: str, shape: tuple[int, ...], use: _Use) -> NDArray[np.float32]:
    match use.op_type, use.place:
        case "Conv", 1:
            # The depthwise layers here have no Relu behind them, which would halve E[x²].
            return draw.he(key, shape, math.prod(shape[1:]), gain=math.sqrt(0.5) if shape[1] == 1 else 1.0)
        case "Gemm", 1:  # transposed in all nine: a row holds the weights of one output
            return draw.he(key, shape, shape[-1], gain=_LOGIT_GAIN if use.then == "Softmax" else 1.0)
        case "BatchNormalization", 1:
            gain = _RESIDUAL_GAIN if use.then == "Sum" else 1.0
            return draw.normal(key, shape, mean=gain, std=gain * _SPREAD)
        case ("BatchNormalization", 4) | ("Mul", 1):
            return draw.uniform(key, shape, 1 - _SPREAD, 1 + _SPREAD)
        case ("Conv", 2) | ("Gemm", 2) | ("BatchNormalization", 2 | 3) | ("Add", 1):
            return draw.normal(key, shape, std=_SPREAD)
    raise ValueError(f"no scale is known for weight {key!r}, read by {use.op_type} in place {use.place}")
