"""Normalisations and softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.builder import Builder
from intarsia.backends.ncnn.lowering.elementwise import scale_layer
from intarsia.backends.ncnn.lowering.layer import Block, Parameter, Refused, Shape

if TYPE_CHECKING:
    from intarsia.graph import Node

_MEAN, _SUM, _MAX = 3, 0, 4
_SUB, _LOG, _EXP = 1, 8, 7
_AXES_WITHOUT_BATCH = 1
"""Value of the flag by which a file says that its axes do not count the batch (older files' did)."""


def batch_normalization(build: Builder, node: Node) -> None:
    """``BatchNormalization`` at inference: one factor and one offset for each channel."""
    if node.attributes.get("training_mode", 0) or build.has_more_outputs(node):
        raise Refused("batch statistics are not computed by ncnn")
    channels = _channels(build, node)
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    names = node.inputs[1:5]
    for name in names:
        build.weight(name)

    def factor() -> np.ndarray:
        gamma, _, _, variance = (build.vector(name, channels) for name in names)
        return np.asarray(gamma / np.sqrt(variance + epsilon))

    def offset() -> np.ndarray:
        _, beta, mean, _ = (build.vector(name, channels) for name in names)
        return np.asarray(beta - mean * factor())

    build.bind(node.outputs[0], scale_layer(build, build.blob(node.inputs[0]), factor, offset))


def instance_normalization(build: Builder, node: Node) -> None:
    """``InstanceNormalization``, over everything but the channel."""
    channels = _channels(build, node)
    _grouped(build, node, "InstanceNorm", {0: channels, 1: float(node.attributes.get("epsilon", 1e-5)), 2: 1})


def group_normalization(build: Builder, node: Node) -> None:
    """``GroupNormalization`` with one factor for each channel."""
    channels, groups = _channels(build, node), int(node.attributes["num_groups"])
    if build.shape(node.inputs[1]) != (channels,) or channels % groups:
        raise Refused("ncnn's group normalisation has one factor for each channel")
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    _grouped(build, node, "GroupNorm", {0: groups, 1: channels, 2: epsilon, 3: 1})


def layer_normalization(build: Builder, node: Node) -> None:
    """``LayerNormalization``, as rows of all that is normalised together."""
    if build.has_more_outputs(node):
        raise Refused("ncnn does not give mean and deviation")
    x, scale = node.inputs[0], node.inputs[1]
    shape = build.shape(x)
    axis = int(node.attributes.get("axis", -1)) % len(shape)
    build.axis(x, axis)
    count = math.prod(shape[axis:])
    if math.prod(build.shape(scale)) != count:
        raise Refused(f"ncnn's factors are one for each of the {count} numbers normalised together")
    bias = build.optional(node, 2)
    if bias and math.prod(build.shape(bias)) != count:
        raise Refused(f"ncnn's offsets are one for each of the {count} numbers normalised together")
    shift = build.weight(bias) if bias else Block(derived=lambda: np.zeros(count))
    rows = math.prod(shape[:axis])
    blob = build.blob(x)
    if axis != len(shape) - 1 or len(build.shapes[blob]) > 3:
        blob = build.reshape(blob, (rows, count) if rows > 1 else (count,))
    params = {0: count, 1: float(node.attributes.get("epsilon", 1e-5)), 2: 1}
    blocks = (build.weight(scale), shift)
    build.bind(node.outputs[0], build.emit("LayerNorm", (blob,), build.shapes[blob], params, blocks))


def local_response_normalization(build: Builder, node: Node) -> None:
    """``LRN`` across an odd number of channels."""
    _channels(build, node)
    blob = build.blob(node.inputs[0])
    size = int(node.attributes["size"])
    if size % 2 == 0 or len(build.shapes[blob]) != 3:
        raise Refused("ncnn's LRN is centred on a channel of an image")
    params = {
        0: 0,
        1: size,
        2: float(node.attributes.get("alpha", 1e-4)),
        3: float(node.attributes.get("beta", 0.75)),
        4: float(node.attributes.get("bias", 1.0)),
    }
    build.bind(node.outputs[0], build.emit("LRN", (blob,), build.shapes[blob], params))


def softmax(build: Builder, node: Node) -> None:
    """``Softmax`` over one axis."""
    x = node.inputs[0]
    axis = build.axis(x, int(node.attributes.get("axis", -1)))
    blob = build.blob(x)
    params = {0: axis, 1: _AXES_WITHOUT_BATCH}
    build.bind(node.outputs[0], build.emit("Softmax", (blob,), build.shapes[blob], params))


def log_softmax(build: Builder, node: Node) -> None:
    """``LogSoftmax`` as x - max - log(sum(exp(x - max))): the logarithm of a softmax loses small probabilities."""
    x = node.inputs[0]
    axis = build.axis(x, int(node.attributes.get("axis", -1)))
    blob = build.blob(x)
    shape = build.shapes[blob]
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    shifted = build.emit("BinaryOp", (blob, reduced(build, blob, _MAX, (axis,), one)), shape, {0: _SUB})
    exponential = build.emit("UnaryOp", (shifted,), shape, {0: _EXP})
    total = build.emit("UnaryOp", (reduced(build, exponential, _SUM, (axis,), one),), one, {0: _LOG})
    build.bind(node.outputs[0], build.emit("BinaryOp", (shifted, total), shape, {0: _SUB}))


def reduced(build: Builder, blob: str, operation: int, axes: Shape, shape: Shape) -> str:
    """A reduction over axes of a blob; ``shape`` is the blob's with those axes at 1."""
    every = int(len(axes) == len(build.shapes[blob]))
    params: dict[int, Parameter] = {0: operation, 1: every, 3: axes, 4: 1, 5: _AXES_WITHOUT_BATCH}
    return build.emit("Reduction", (blob,), shape, params)


def _channels(build: Builder, node: Node) -> int:
    """Channels of a value of shape (1, C, ...)."""
    shape = build.shape(node.inputs[0])
    if len(shape) < 2 or shape[0] != 1:
        raise Refused(f"ncnn normalises values of shape (1, C, ...), not {shape}")
    return shape[1]


def _grouped(build: Builder, node: Node, kind: str, params: dict[int, Parameter]) -> None:
    """A layer that looks at each channel as one row of numbers."""
    blob = build.blob(node.inputs[0])
    shape = build.shapes[blob]
    if len(shape) != 3:
        blob = build.reshape(blob, (shape[0], 1, math.prod(shape[1:])))
    blocks = (build.weight(node.inputs[1]), build.weight(node.inputs[2]))
    build.bind(node.outputs[0], build.emit(kind, (blob,), build.shapes[blob], params, blocks))
