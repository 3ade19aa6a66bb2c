"""Which function lowers which operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from intarsia.backends.ncnn.lowering import (
    activation,
    convolution,
    elementwise,
    matmul,
    normalise,
    pooling,
    reduction,
    resize,
    shape,
)
from intarsia.backends.ncnn.lowering.builder import Builder

if TYPE_CHECKING:
    from intarsia.graph import Node

LOWERINGS: Mapping[str, Callable[[Builder, Node], None]] = {
    "Conv": convolution.conv,
    "ConvTranspose": convolution.conv_transpose,
    "MaxPool": pooling.max_pool,
    "AveragePool": pooling.average_pool,
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), pooling.global_pool),
    "Gemm": matmul.gemm,
    "MatMul": matmul.matmul,
    "BatchNormalization": normalise.batch_normalization,
    "InstanceNormalization": normalise.instance_normalization,
    "GroupNormalization": normalise.group_normalization,
    "LayerNormalization": normalise.layer_normalization,
    "LRN": normalise.local_response_normalization,
    "Softmax": normalise.softmax,
    "LogSoftmax": normalise.log_softmax,
    "Pow": elementwise.power,
    "Clip": activation.clip,
    "PRelu": activation.prelu,
    **dict.fromkeys(("Identity", "Dropout"), shape.same),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), shape.reshape),
    "Transpose": shape.transpose,
    "Concat": shape.concat,
    "Split": shape.split,
    "Slice": shape.slice_,
    "Pad": shape.pad,
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), shape.shuffle),
    "Resize": resize.resize,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"), elementwise.arithmetic),
    **dict.fromkeys(activation.UNARY, activation.unary),
    **dict.fromkeys(reduction.REDUCTIONS, reduction.reduce),
}
