"""A model that is being changed: who makes and reads a value, weights as arrays, and nodes put behind others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

T = TypeVar("T")
PRODUCTS = {"Conv": 1, "MatMul": 1, "Gemm": 1, "ConvInteger": 1, "MatMulInteger": 1, "QLinearConv": 3, "MatMulNBits": 1}
"""Operators that weights are multiplied in, and the place of the weight among their inputs."""
_DEQUANTISERS = {"DequantizeLinear": 1, "QLinearConv": 1, "QLinearMatMul": 1}
"""Operators that read quantised activations, and the place of their scale; the zero point is behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An operator on a value: its other inputs, as names or constants, and its attributes."""

    op_type: str
    others: Sequence[str | np.ndarray | np.generic]
    attributes: Mapping[str, Any]


def step(op_type: str, *others: str | np.ndarray | np.generic, **attributes: Any) -> Step:
    """Short for a `Step`."""
    return Step(op_type=op_type, others=others, attributes=attributes)


def cast(to: int | np.dtype) -> Step:
    """To another element type."""
    return step("Cast", to=helper.np_dtype_to_tensor_dtype(to) if isinstance(to, np.dtype) else to)


TO_FP32, TO_INT32 = cast(TensorProto.FLOAT), cast(TensorProto.INT32)


def picked(found: Sequence[T], at: float) -> T:
    """One of several; ``at`` says where between the first, 0, and the last, 1."""
    return found[round(at * (len(found) - 1))]


class Edit:
    """A copy of a model, and what is done to it. Nodes stay in an order in which they can run."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        del self.model.graph.value_info[:]
        self._tensors = {tensor.name: tensor for tensor in self.model.graph.initializer}
        self._makers: dict[str, onnx.NodeProto] = {name: node for node in self.model.graph.node for name in node.output}
        self._count = 0

    def nodes(self, *op_types: str) -> list[onnx.NodeProto]:
        """Those of these types, in running order."""
        return [node for node in self.model.graph.node if node.op_type in op_types]

    def is_weight(self, name: str) -> bool:
        """Whether a value is a constant of the model."""
        return name in self._tensors

    def is_constant(self, name: str) -> bool:
        """Whether a value is a constant, or one that is dequantised."""
        return self.is_weight(self._stored(name))

    def is_vector(self, name: str) -> bool:
        """Whether a value is a constant of one number for each channel, dequantised perhaps."""
        stored = self._stored(name)
        return self.is_weight(stored) and len(self._tensors[stored].dims) == 1 and self._tensors[stored].dims[0] > 1

    def array(self, name: str) -> np.ndarray:
        """A constant's values."""
        return numpy_helper.to_array(self._tensors[name])

    def maker(self, name: str) -> onnx.NodeProto:
        """The node that computes a value."""
        return self._makers[name]

    def weights(self) -> list[tuple[onnx.NodeProto, int]]:
        """Each weight that something is multiplied with: the node that reads its numbers, and at which place."""
        return list(self._weights())

    def activations(self) -> list[tuple[onnx.NodeProto, int]]:
        """Each reading of quantised activations: the node, and the place of its scale."""
        found = self.nodes(*_DEQUANTISERS)
        return [(node, _DEQUANTISERS[node.op_type]) for node in found if not self.is_weight(node.input[0])]

    def give(self, node: onnx.NodeProto, place: int, array: np.ndarray) -> None:
        """Have one node, and no other, read this constant."""
        node.input[place] = self.constant(array)

    def constant(self, array: np.ndarray | np.generic) -> str:
        """A constant more, and its name."""
        name = self.new("constant")
        self._tensors[name] = numpy_helper.from_array(np.asarray(array), name)
        self.model.graph.initializer.append(self._tensors[name])
        return name

    def behind(self, node: onnx.NodeProto, output: int, steps: Sequence[Step]) -> None:
        """Put steps behind one output: whoever reads it reads what the last of them gives."""
        name = node.output[output]
        node.output[output] = self.new(name)
        self.chain(node, node.output[output], steps, name)

    def chain(self, before: onnx.NodeProto, x: str, steps: Sequence[Step], result: str) -> onnx.NodeProto:
        """Put steps behind a node, from value ``x`` to one called ``result``; returns the last."""
        place = list(self.model.graph.node).index(before)
        for number, each in enumerate(steps, start=1):
            inputs = [x, *(other if isinstance(other, str) else self.constant(other) for other in each.others)]
            x = result if number == len(steps) else self.new(result)
            made = helper.make_node(each.op_type, inputs, [x], self.new(each.op_type), **each.attributes)
            self.model.graph.node.insert(place + number, made)
            self._makers[x] = self.model.graph.node[place + number]
        return self._makers[result]

    def detach(self, node: onnx.NodeProto) -> str:
        """Nobody reads the node's first output any more; whoever did reads what is computed under the name returned."""
        name = str(node.output[0])
        node.output[0] = self.new(name)
        return name

    def turn_into(self, node: onnx.NodeProto, op_type: str, x: str) -> None:
        """Make another operator of a node, with this input, and no attributes."""
        node.op_type, node.domain = op_type, ""
        del node.input[:], node.attribute[:]
        node.input.append(x)

    def new(self, name: str) -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{name}.edit{self._count}"

    def _weights(self) -> Iterator[tuple[onnx.NodeProto, int]]:
        for node in self.model.graph.node:
            name = node.input[PRODUCTS[node.op_type]] if node.op_type in PRODUCTS else ""
            if self.is_weight(name):
                yield node, PRODUCTS[node.op_type]
            elif name and self.is_constant(name):
                yield self._makers[name], 0

    def _stored(self, name: str) -> str:
        """The constant behind a value, if that is a constant or dequantised."""
        maker = self._makers.get(name)
        return str(maker.input[0]) if maker is not None and maker.op_type == "DequantizeLinear" else name
