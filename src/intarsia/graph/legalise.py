"""Operators written as others that give the same values, for engines that compute only those others rightly.

Which nodes an engine wants written so is its own business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from intarsia.graph.dtypes import elem_type_of

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.parts import Node

Shape = tuple[int, ...]


def written(nodes: Sequence[Node], graph: Graph, legalise: Collection[str]) -> Iterator[onnx.NodeProto]:
    """Nodes as ONNX writes them, those whose ids are in ``legalise`` in other words."""
    for node in nodes:
        if node.id in legalise:
            yield from legalised(node, graph)
        else:
            yield node.proto


def legalised(node: Node, graph: Graph) -> list[onnx.NodeProto]:
    """What to write instead of a node whose operator is one of `SPELLINGS`, in ONNX of opset 21 and later."""
    speller = _Speller(node, graph)
    SPELLINGS[node.op_type](speller)
    return speller.nodes


class _Speller:
    """Collects the nodes that stand for one; names of values in between are made from its first output."""

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
        output = f"{self.node.outputs[0]}/respelled/{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def end(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> None:
        """The node that gives the value itself."""
        self.nodes.append(helper.make_node(op_type, inputs, [self.node.outputs[0]], **attributes))


def _cast_like(spell: _Speller) -> None:
    spell.end("Cast", spell.inputs[:1], to=elem_type_of(spell.dtype(spell.node.outputs[0])))


def _less(spell: _Speller) -> None:
    spell.end("Greater", spell.inputs[::-1])


def _equal(spell: _Speller) -> None:
    orders = (spell.inputs, spell.inputs[::-1])
    spell.end("And", [spell.add("GreaterOrEqual", order) for order in orders])


def _where(spell: _Speller) -> None:
    """Every operand in the result's shape."""
    result = spell.shape(spell.node.outputs[0])
    sizes = spell.constant(np.array(result, np.int64))
    spell.end("Where", [_stretched(spell, name, result, sizes) for name in spell.inputs])


def _stretched(spell: _Speller, name: str, result: Shape, sizes: str) -> str:
    return name if spell.shape(name) == result else spell.add("Expand", (name, sizes))


def _clip(spell: _Speller) -> None:
    """The upper bound last: it holds where the bounds are crossed."""
    data, low, high = (*spell.inputs, "", "")[:3]
    bounds = [(op_type, bound) for op_type, bound in (("Max", low), ("Min", high)) if bound]
    if not bounds:
        spell.end("Identity", (data,))
        return
    for op_type, bound in bounds[:-1]:
        data = spell.add(op_type, (data, bound))
    op_type, bound = bounds[-1]
    spell.end(op_type, (data, bound))


def _from_the_front(spell: _Speller) -> None:
    """The same operator, with indices that count from the end counted from the front."""
    data, indices, *rest = spell.inputs
    dtype = np.dtype(spell.dtype(indices))
    sizes = spell.constant(np.array(_indexed(spell), dtype))
    negative = spell.add("Less", (indices, spell.constant(np.array(0, dtype))))
    shift = spell.add("Mul", (spell.add("Cast", (negative,), to=elem_type_of(dtype.name)), sizes))
    counted = spell.add("Add", (indices, shift))
    spell.end(spell.node.op_type, (data, counted, *rest), **spell.node.attributes)


def _indexed(spell: _Speller) -> int | Shape:
    """What each index is below: a size, or one for each number of a tuple."""
    shape = spell.shape(spell.inputs[0])
    if spell.node.op_type != "GatherND":
        return shape[spell.axis(0)]
    first = spell.attribute("batch_dims", 0)
    return shape[first : first + spell.shape(spell.inputs[1])[-1]]


def _last_of_equals(spell: _Speller) -> None:
    """The first among the elements in reverse, from which the place follows."""
    data = spell.inputs[0]
    axis = spell.axis(0)
    size = spell.shape(data)[axis]
    reverse = spell.add("Gather", (data, spell.constant(np.arange(size)[::-1].copy())), axis=axis)
    place = spell.add(spell.node.op_type, (reverse,), axis=axis, keepdims=spell.attribute("keepdims", 1))
    spell.end("Sub", (spell.constant(np.array(size - 1, np.int64)), place))


def _lp_normalization(spell: _Speller) -> None:
    """Where all is zero, zero by one: ONNX says zero there."""
    data = spell.inputs[0]
    axes = spell.constant(np.array([spell.axis(-1)], np.int64))
    is_square = spell.attribute("p", 2) == 2
    positive = spell.add("Mul", (data, data)) if is_square else spell.add("Abs", (data,))
    norm = spell.add("ReduceSum", (positive, axes))
    if is_square:
        norm = spell.add("Sqrt", (norm,))
    is_zero = spell.add("LessOrEqual", (norm, spell.constant(np.array(0, np.float32))))
    divisor = spell.add("Add", (norm, spell.add("Cast", (is_zero,), to=onnx.TensorProto.FLOAT)))
    spell.end("Div", (data, divisor))


def _layer_normalization(spell: _Speller) -> None:
    """With a batch of one before all that is normalised together."""
    data, *factors = spell.inputs
    axes = spell.constant(np.array([0], np.int64))
    batch = spell.add("Unsqueeze", (data, axes))
    axis = spell.axis(-1) + 1
    epsilon = float(spell.node.attributes.get("epsilon", 1e-5))
    spell.end("Squeeze", (spell.add("LayerNormalization", (batch, *factors), axis=axis, epsilon=epsilon), axes))


def _convolution(spell: _Speller) -> None:
    """Over two dimensions, with the pads stated."""
    data, weight, *bias = spell.inputs
    kernel, size = spell.shape(weight)[2:], spell.shape(data)[2:]
    ones = (1,) * len(kernel)
    strides, dilations = (tuple(spell.node.attributes.get(name, ones)) for name in ("strides", "dilations"))
    pads = _stated_pads(spell, kernel, size, strides, dilations)
    rest: dict[str, Any] = {"group": spell.attribute("group", 1)}
    if len(size) == 2:
        spell.end("Conv", spell.inputs, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads, **rest)
        return
    row = spell.constant(np.array([2], np.int64))
    image, weight = spell.add("Unsqueeze", (data, row)), spell.with_row(weight, row)
    rest |= {"kernel_shape": (1, *kernel), "strides": (1, *strides), "dilations": (1, *dilations)}
    result = spell.add("Conv", (image, weight, *bias), pads=(0, pads[0], 0, pads[1]), **rest)
    spell.end("Squeeze", (result, row))


def _stated_pads(spell: _Speller, kernel: Shape, size: Shape, strides: Shape, dilations: Shape) -> Shape:
    mode = spell.node.attributes.get("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return tuple(spell.node.attributes.get("pads", (0, 0) * len(kernel)))
    if mode == "VALID":
        return (0, 0) * len(kernel)
    totals = [
        max((-(-n // step) - 1) * step + (k - 1) * dilation + 1 - n, 0)
        for n, step, k, dilation in zip(size, strides, kernel, dilations, strict=True)
    ]
    less = tuple(total // 2 for total in totals)
    more = tuple(total - half for total, half in zip(totals, less, strict=True))
    return less + more if mode == "SAME_UPPER" else more + less


def _transposed_convolution(spell: _Speller) -> None:
    """With pads and output padding stated, where ONNX has them follow from the shape of the result."""
    data, weight, *_ = spell.inputs
    kernel, size, made = spell.shape(weight)[2:], spell.shape(data)[2:], spell.shape(spell.node.outputs[0])[2:]
    known = dict(spell.node.attributes)
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
    spell.end("ConvTranspose", spell.inputs, **known)


def _gelu(spell: _Speller) -> None:
    data = spell.inputs[0]
    scaled = spell.add("Mul", (data, spell.constant(np.array(np.sqrt(0.5), np.float32))))
    above = spell.add("Add", (spell.add("Erf", (scaled,)), spell.constant(np.array(1, np.float32))))
    half = spell.add("Mul", (data, spell.constant(np.array(0.5, np.float32))))
    spell.end("Mul", (half, above))


def _gemm(spell: _Speller) -> None:
    left, *rest = spell.inputs
    attributes = {**spell.node.attributes, "transA": 0}
    spell.end("Gemm", (spell.add("Transpose", (left,), perm=(1, 0)), *rest), **attributes)


def _matrices(spell: _Speller) -> None:
    """Vectors as matrices of one row on the left and one column on the right."""
    left, right = spell.inputs
    added = []
    if len(spell.shape(left)) == 1:
        left = spell.add("Unsqueeze", (left, spell.constant(np.array([0], np.int64))))
        added.append(-2)
    if len(spell.shape(spell.inputs[1])) == 1:
        right = spell.add("Unsqueeze", (right, spell.constant(np.array([1], np.int64))))
        added.append(-1)
    product = spell.add("MatMul", (left, right))
    spell.end("Squeeze", (product, spell.constant(np.array(added, np.int64))))


def _mean(spell: _Speller) -> None:
    """Sums of two at a time."""
    total, *rest = spell.inputs
    for name in rest:
        total = spell.add("Add", (total, name))
    spell.end("Div", (total, spell.constant(np.array(len(spell.inputs), np.float32))))


SPELLINGS: Mapping[str, Callable[[_Speller], None]] = {
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
