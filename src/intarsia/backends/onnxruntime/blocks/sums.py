"""Lets our convolutions do what stands behind them alone: add another value, and an activation.

ONNX Runtime does so for its own convolutions on blocks. Behind one of ours that has values packed for it, both would be
passes over the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx

from intarsia.backends.onnxruntime.endings import join_endings
from intarsia.backends.onnxruntime.kernels import KERNELS
from intarsia.backends.onnxruntime.saved_model import attributes_of, constant_of
from intarsia.graph.placeholder_ops import DOMAIN

_SUM = 3
_OURS = {each.operator: each for each in KERNELS}
_ACTIVATIONS = {"Relu", "LeakyRelu"}


def join_sums(graph: onnx.GraphProto) -> None:
    """Give sums of two values, and activations, to the convolution before them, if nobody else reads what it gives."""
    constants = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}

    def choose(node: onnx.NodeProto, makers: Sequence[onnx.NodeProto]) -> onnx.NodeProto | None:
        ours = [each for each in makers if _only_sums(each)]
        if node.op_type == "Add" and not constants.keys() & set(node.input):
            return next((each for each in ours if _can_add(each)), None)
        return ours[0] if node.op_type in _ACTIVATIONS and ours else None

    def take_over(taker: onnx.NodeProto, node: onnx.NodeProto) -> None:
        if node.op_type == "Relu":
            next(each for each in taker.attribute if each.name == "low").f = 0.0
        elif node.op_type == "LeakyRelu":
            slope = float(attributes_of(node).get("alpha", 0.01))
            taker.attribute.append(onnx.helper.make_attribute("slope", slope))
        else:
            (other,) = (name for name in node.input if name != taker.output[0])
            x, weights, bias = (*taker.input, "")[:_SUM]
            taker.input[:] = [x, weights, bias or constant_of(graph, 0.0, constants[weights][0]), other]

    join_endings(graph, choose, take_over)


def _only_sums(node: onnx.NodeProto) -> bool:
    """Whether a node is a convolution of ours that holds nothing yet."""
    if node.domain != DOMAIN or node.op_type not in _OURS:
        return False
    stated = attributes_of(node)
    return (stated["low"], stated["high"], stated.get("slope", 1.0)) == (-math.inf, math.inf, 1.0)


def _can_add(node: onnx.NodeProto) -> bool:
    return not _OURS[node.op_type].is_transposed and not any(node.input[_SUM:])
