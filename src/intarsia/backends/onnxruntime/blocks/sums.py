"""Lets our convolutions do what stands behind them alone: add another value, and an activation.

ONNX Runtime does so for its own convolutions on blocks. Behind one of ours that has values packed for it, both would be
passes over the values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import onnx

from intarsia.backends.onnxruntime.kernels import KERNELS
from intarsia.backends.onnxruntime.saved_model import attributes_of, constant_of
from intarsia.graph.placeholder_ops import DOMAIN

_SUM = 3
_OURS = {each.operator: each for each in KERNELS}
_ACTIVATIONS = {"Relu", "LeakyRelu"}


def join_sums(graph: onnx.GraphProto) -> None:
    """Give sums of two values, and activations, to the convolution before them, if nobody else reads what it gives."""
    readers = Counter(name for node in graph.node for name in node.input)
    readers.update(value.name for value in graph.output)
    constants = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    makers: dict[str, onnx.NodeProto] = {}
    kept: dict[int, onnx.NodeProto] = {}
    for node in graph.node:
        ours = [
            makers[name] for name in node.input if readers[name] == 1 and name in makers and _only_sums(makers[name])
        ]
        if node.op_type == "Add" and not constants.keys() & set(node.input):
            taker = next((each for each in ours if _can_add(each)), None)
        else:
            taker = ours[0] if node.op_type in _ACTIVATIONS and ours else None
        if taker is not None:
            # It goes to where the other stood: a value that it adds may be made in between.
            del kept[id(taker)]
            _take_over(taker, node, graph, constants)
        last = node if taker is None else taker
        kept[id(last)] = last
        makers |= dict.fromkeys(node.output, last)
    del graph.node[:]
    graph.node.extend(kept.values())


def _take_over(
    taker: onnx.NodeProto, node: onnx.NodeProto, graph: onnx.GraphProto, constants: Mapping[str, tuple[int, ...]]
) -> None:
    if node.op_type == "Relu":
        next(each for each in taker.attribute if each.name == "low").f = 0.0
    elif node.op_type == "LeakyRelu":
        slope = float(attributes_of(node).get("alpha", 0.01))
        taker.attribute.append(onnx.helper.make_attribute("slope", slope))
    else:
        (other,) = (name for name in node.input if name != taker.output[0])
        x, weights, bias = (*taker.input, "")[:_SUM]
        taker.input[:] = [x, weights, bias or constant_of(graph, 0.0, constants[weights][0]), other]
    taker.output[:] = node.output


def _only_sums(node: onnx.NodeProto) -> bool:
    """Whether a node is a convolution of ours that holds nothing yet."""
    if node.domain != DOMAIN or node.op_type not in _OURS:
        return False
    stated = attributes_of(node)
    return (stated["low"], stated["high"], stated.get("slope", 1.0)) == (-math.inf, math.inf, 1.0)


def _can_add(node: onnx.NodeProto) -> bool:
    return not _OURS[node.op_type].is_transposed and not any(node.input[_SUM:])
