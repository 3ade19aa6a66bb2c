"""Writes operators as others that give the same values, for engines that compute only those others correctly.

The backend of such an engine says which nodes it needs written so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from intarsia.graph.dtypes import elem_type_of

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

Shape = tuple[int, ...]


def legalise(node: Node, graph: Graph) -> list[onnx.NodeProto]:
    """Return the nodes to write in place of a node whose operator is in `REWRITES`, in opset 21 or later."""
    rewrite = _Rewrite(node, graph)
    REWRITES[node.op_type](rewrite)
    return rewrite.nodes


class _Rewrite:
    """Collects the nodes that replace one; names of intermediate values derive from its first output."""

    def __init__(self, node: Node, graph: Graph) -> None:
        self.node = node
        self.nodes: list[onnx.NodeProto] = []
        self._graph = graph

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.node.inputs

    def shape(self, name: str) -> Shape:
        shape = self._graph.values[name].shape
        assert shape is not None, "engines take no nodes of unknown shapes"
        return shape

    def dtype(self, name: str) -> str:
        return self._graph.values[name].dtype or ""

    def attribute(self, name: str, default: int) -> int:
        return int(self.node.attributes.get(name, default))

    def axis(self, default: int) -> int:
        """The attribute, counted from the front."""
        return self.attribute("axis", default) % len(self.shape(self.inputs[0]))

    def constant(self, array: np.ndarray) -> str:
        return self.add("Constant", (), value=numpy_helper.from_array(array))

    def with_row(self, name: str, row: str) -> str:
        """A value with one more axis; a weight stays one, with the same bytes."""
        if name not in self._graph.weights:
            return self.add("Unsqueeze", (name, row))
        return self.constant(np.expand_dims(self._graph.weights[name].array(), 2))

    def add(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """One more node, and the name of its output."""
        output = f"{self.node.outputs[0]}/legalised/{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def end(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> None:
        """The node that gives the value itself."""
        self.nodes.append(helper.make_node(op_type, inputs, [self.node.outputs[0]], **attributes))


def _cast_like(rewrite: _Rewrite) -> None:
    rewrite.end("Cast", rewrite.inputs[:1], to=elem_type_of(rewrite.dtype(rewrite.node.outputs[0])))


def _less(rewrite: _Rewrite) -> None:
    rewrite.end("Greater", rewrite.inputs[::-1])


def _equal(rewrite: _Rewrite) -> None:
    orders = (rewrite.inputs, rewrite.inputs[::-1])
    rewrite.end("And", [rewrite.add("GreaterOrEqual", order) for order in orders])


def _where(rewrite: _Rewrite) -> None:
    """Where: broadcasts every operand to the shape of the result."""
    result = rewrite.shape(rewrite.node.outputs[0])
    sizes = rewrite.constant(np.array(result, np.int64))
    rewrite.end("Where", [_stretched(rewrite, name, result, sizes) for name in rewrite.inputs])


def _stretched(rewrite: _Rewrite, name: str, result: Shape, sizes: str) -> str:
    return name if rewrite.shape(name) == result else rewrite.add("Expand", (name, sizes))


def _clip(rewrite: _Rewrite) -> None:
    """Clip: applies the upper bound last, so that it wins where the bounds cross."""
    data, low, high = (*rewrite.inputs, "", "")[:3]
    bounds = [(op_type, bound) for op_type, bound in (("Max", low), ("Min", high)) if bound]
    if not bounds:
        rewrite.end("Identity", (data,))
        return
    for op_type, bound in bounds[:-1]:
        data = rewrite.add(op_type, (data, bound))
    op_type, bound = bounds[-1]
    rewrite.end(op_type, (data, bound))


def _from_the_front(rewrite: _Rewrite) -> None:
    """Replaces indices that count from the end with those that count from the start."""
    data, indices, *rest = rewrite.inputs
    dtype = np.dtype(rewrite.dtype(indices))
    sizes = rewrite.constant(np.array(_indexed(rewrite), dtype))
    negative = rewrite.add("Less", (indices, rewrite.constant(np.array(0, dtype))))
    shift = rewrite.add("Mul", (rewrite.add("Cast", (negative,), to=elem_type_of(dtype.name)), sizes))
    counted = rewrite.add("Add", (indices, shift))
    rewrite.end(rewrite.node.op_type, (data, counted, *rest), **rewrite.node.attributes)


def _indexed(rewrite: _Rewrite) -> int | Shape:
    """Return the bound of each index: a size, or one size for each number of a tuple."""
    shape = rewrite.shape(rewrite.inputs[0])
    if rewrite.node.op_type != "GatherND":
        return shape[rewrite.axis(0)]
    first = rewrite.attribute("batch_dims", 0)
    return shape[first : first + rewrite.shape(rewrite.inputs[1])[-1]]


def _last_of_equals(rewrite: _Rewrite) -> None:
    """ArgMax or ArgMin with the last index: finds the first one in the reversed elements."""
    data = rewrite.inputs[0]
    axis = rewrite.axis(0)
    size = rewrite.shape(data)[axis]
    reverse = rewrite.add("Gather", (data, rewrite.constant(np.arange(size)[::-1].copy())), axis=axis)
    place = rewrite.add(rewrite.node.op_type, (reverse,), axis=axis, keepdims=rewrite.attribute("keepdims", 1))
    rewrite.end("Sub", (rewrite.constant(np.array(size - 1, np.int64)), place))


def _lp_normalization(rewrite: _Rewrite) -> None:
    """LpNormalization: divides by one where the norm is zero, since ONNX defines the result as zero there."""
    data = rewrite.inputs[0]
    axes = rewrite.constant(np.array([rewrite.axis(-1)], np.int64))
    is_square = rewrite.attribute("p", 2) == 2
    positive = rewrite.add("Mul", (data, data)) if is_square else rewrite.add("Abs", (data,))
    norm = rewrite.add("ReduceSum", (positive, axes))
    if is_square:
        norm = rewrite.add("Sqrt", (norm,))
    is_zero = rewrite.add("LessOrEqual", (norm, rewrite.constant(np.array(0, np.float32))))
    divisor = rewrite.add("Add", (norm, rewrite.add("Cast", (is_zero,), to=onnx.TensorProto.FLOAT)))
    rewrite.end("Div", (data, divisor))


def _layer_normalization(rewrite: _Rewrite) -> None:
    """LayerNormalization: adds a batch dimension of one in front of the normalised dimensions."""
    data, *factors = rewrite.inputs
    axes = rewrite.constant(np.array([0], np.int64))
    batch = rewrite.add("Unsqueeze", (data, axes))
    axis = rewrite.axis(-1) + 1
    epsilon = float(rewrite.node.attributes.get("epsilon", 1e-5))
    rewrite.end("Squeeze", (rewrite.add("LayerNormalization", (batch, *factors), axis=axis, epsilon=epsilon), axes))


def _convolution(rewrite: _Rewrite) -> None:
    """Convolution: as one over two dimensions, with explicit padding."""
    data, weight, *bias = rewrite.inputs
    kernel, size = rewrite.shape(weight)[2:], rewrite.shape(data)[2:]
    ones = (1,) * len(kernel)
    strides, dilations = (tuple(rewrite.node.attributes.get(name, ones)) for name in ("strides", "dilations"))
    pads = _stated_pads(rewrite, kernel, size, strides, dilations)
    rest: dict[str, Any] = {"group": rewrite.attribute("group", 1)}
    if len(size) == 2:
        rewrite.end(
            "Conv", rewrite.inputs, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads, **rest
        )
        return
    row = rewrite.constant(np.array([2], np.int64))
    image, weight = rewrite.add("Unsqueeze", (data, row)), rewrite.with_row(weight, row)
    rest |= {"kernel_shape": (1, *kernel), "strides": (1, *strides), "dilations": (1, *dilations)}
    result = rewrite.add("Conv", (image, weight, *bias), pads=(0, pads[0], 0, pads[1]), **rest)
    rewrite.end("Squeeze", (result, row))


def _stated_pads(rewrite: _Rewrite, kernel: Shape, size: Shape, strides: Shape, dilations: Shape) -> Shape:
    mode = rewrite.node.attributes.get("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return tuple(rewrite.node.attributes.get("pads", (0, 0) * len(kernel)))
    if mode == "VALID":
        return (0, 0) * len(kernel)
    totals = [
        max((-(-n // step) - 1) * step + (k - 1) * dilation + 1 - n, 0)
        for n, step, k, dilation in zip(size, strides, kernel, dilations, strict=True)
    ]
    less = tuple(total // 2 for total in totals)
    more = tuple(total - half for total, half in zip(totals, less, strict=True))
    return less + more if mode == "SAME_UPPER" else more + less


def _transposed_convolution(rewrite: _Rewrite) -> None:
    """Transposed convolution: computes padding and output padding from the stated output shape."""
    data, weight, *_ = rewrite.inputs
    kernel, size, made = rewrite.shape(weight)[2:], rewrite.shape(data)[2:], rewrite.shape(rewrite.node.outputs[0])[2:]
    known = dict(rewrite.node.attributes)
    mode, _ = known.pop("auto_pad", "NOTSET"), known.pop("output_shape", None)
    ones = (1,) * len(kernel)
    known = {"strides": ones, "dilations": ones, "output_padding": (0,) * len(kernel), **known, "kernel_shape": kernel}
    spans = zip(size, known["strides"], kernel, known["dilations"], known["output_padding"], strict=True)
    full = [(n - 1) * step + (k - 1) * dilation + 1 + more for n, step, k, dilation, more in spans]
    totals = [max(one - other, 0) for one, other in zip(full, made, strict=True)]
    less = tuple(total // 2 for total in totals)
    rest = tuple(total - half for total, half in zip(totals, less, strict=True))
    known["pads"] = less + rest if mode == "SAME_UPPER" else rest + less
    extra = zip(known["output_padding"], made, full, strict=True)
    known["output_padding"] = tuple(more + max(one - other, 0) for more, one, other in extra)
    rewrite.end("ConvTranspose", rewrite.inputs, **known)


def _gelu(rewrite: _Rewrite) -> None:
    data = rewrite.inputs[0]
    scaled = rewrite.add("Mul", (data, rewrite.constant(np.array(np.sqrt(0.5), np.float32))))
    above = rewrite.add("Add", (rewrite.add("Erf", (scaled,)), rewrite.constant(np.array(1, np.float32))))
    half = rewrite.add("Mul", (data, rewrite.constant(np.array(0.5, np.float32))))
    rewrite.end("Mul", (half, above))


def _gemm(rewrite: _Rewrite) -> None:
    left, *rest = rewrite.inputs
    attributes = {**rewrite.node.attributes, "transA": 0}
    rewrite.end("Gemm", (rewrite.add("Transpose", (left,), perm=(1, 0)), *rest), **attributes)


def _matrices(rewrite: _Rewrite) -> None:
    """MatMul: makes a vector a matrix of one row on the left, or of one column on the right."""
    left, right = rewrite.inputs
    added = []
    if len(rewrite.shape(left)) == 1:
        left = rewrite.add("Unsqueeze", (left, rewrite.constant(np.array([0], np.int64))))
        added.append(-2)
    if len(rewrite.shape(rewrite.inputs[1])) == 1:
        right = rewrite.add("Unsqueeze", (right, rewrite.constant(np.array([1], np.int64))))
        added.append(-1)
    product = rewrite.add("MatMul", (left, right))
    rewrite.end("Squeeze", (product, rewrite.constant(np.array(added, np.int64))))


def _mean(rewrite: _Rewrite) -> None:
    """Mean: sums two operands at a time."""
    total, *rest = rewrite.inputs
    for name in rest:
        total = rewrite.add("Add", (total, name))
    rewrite.end("Div", (total, rewrite.constant(np.array(len(rewrite.inputs), np.float32))))


REWRITES: Mapping[str, Callable[[_Rewrite], None]] = {
    "ArgMax": _last_of_equals,
    "ArgMin": _last_of_equals,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "Equal": _equal,
    "GatherElements": _from_the_front,
    "GatherND": _from_the_front,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "LayerNormalization": _layer_normalization,
    "Less": _less,
    "LpNormalization": _lp_normalization,
    "MatMul": _matrices,
    "Mean": _mean,
    "ScatterElements": _from_the_front,
    "Where": _where,
}
"""What each operator is written as. Equal and Less of floats, ArgMax and ArgMin that ask for the last of equals, Conv
over one or two dimensions, Gelu without approximation, Gemm with its left side transposed, MatMul with a vector."""
