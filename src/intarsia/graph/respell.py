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


def written(nodes: Sequence[Node], graph: Graph, respell: Collection[str]) -> Iterator[onnx.NodeProto]:
    """Nodes as ONNX writes them, those whose ids are in ``respell`` in other words."""
    for node in nodes:
        if node.id in respell:
            yield from respelled(node, graph)
        else:
            yield node.proto


def respelled(node: Node, graph: Graph) -> list[onnx.NodeProto]:
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
    size = spell.constant(np.array(spell.shape(data)[spell.axis(0)], dtype))
    negative = spell.add("Less", (indices, spell.constant(np.array(0, dtype))))
    shift = spell.add("Mul", (spell.add("Cast", (negative,), to=elem_type_of(dtype.name)), size))
    counted = spell.add("Add", (indices, shift))
    spell.end(spell.node.op_type, (data, counted, *rest), **spell.node.attributes)


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


SPELLINGS: Mapping[str, Callable[[_Speller], None]] = {
    "ArgMax": _last_of_equals,
    "ArgMin": _last_of_equals,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Equal": _equal,
    "GatherElements": _from_the_front,
    "LayerNormalization": _layer_normalization,
    "Less": _less,
    "LpNormalization": _lp_normalization,
    "ScatterElements": _from_the_front,
    "Where": _where,
}
"""What each operator is written as. Equal and Less of floats; ArgMax and ArgMin that ask for the last of equals."""
