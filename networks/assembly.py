"""A short hand for writing ONNX graphs: layers with drawn weights, each node and its output named by a label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from networks.draw import Draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_OPSET = 21
_IR_VERSION = 10
_SPREAD = 0.05


class Assembly:
    """One graph in the making; each method adds a layer and returns the name of its result.

    Convolutions carry a bias where a trained network has one folded in from its batch normalisation.
    """

    def __init__(self, name: str, seed: int) -> None:
        self.draw = Draw(network=name, seed=seed)
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def node(self, op_type: str, label: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """A node of any op, and its first output; `outputs` says how many it has."""
        names = [label, *(f"{label}.{place}" for place in range(1, outputs))]
        self._nodes.append(helper.make_node(op_type, inputs, names, name=label, **attributes))
        return label

    def weight(self, label: str, values: NDArray[Any]) -> str:
        """An initialiser."""
        self._weights.append(numpy_helper.from_array(values, label))
        return label

    def ints(self, label: str, *values: int) -> str:
        """A one-dimensional constant, as shapes and axes are given."""
        return self.weight(label, np.array(values, dtype=np.int64))

    def conv(
        self,
        label: str,
        x: str,
        channels: tuple[int, int],
        kernel: int = 3,
        stride: int = 1,
        *,
        pad: int | None = None,
        gain: float = 1.0,
    ) -> str:
        """Convolution with bias, of (from, to) channels; left out, `pad` keeps the size at stride 1."""
        source, target = channels
        shape = (target, source, kernel, kernel)
        weight = self.weight(f"{label}.weight", self.draw.he(f"{label}.weight", shape, source * kernel**2, gain=gain))
        bias = self.weight(f"{label}.bias", self.draw.normal(f"{label}.bias", (target,), std=_SPREAD))
        pads = [kernel // 2 if pad is None else pad] * 4
        return self.node("Conv", label, x, weight, bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)

    def conv_relu(self, label: str, x: str, channels: tuple[int, int], kernel: int = 3, stride: int = 1) -> str:
        """Convolution with bias and Relu."""
        return self.relu(f"{label}.relu", self.conv(label, x, channels, kernel, stride))

    def relu(self, label: str, x: str) -> str:
        """Relu."""
        return self.node("Relu", label, x)

    def linear(self, label: str, x: str, features: tuple[int, int], *, gain: float = 1.0) -> str:
        """MatMul and Add over the last axis, of (from, to) features, with Xavier weights."""
        std = gain * math.sqrt(2 / sum(features))
        weight = self.weight(f"{label}.weight", self.draw.normal(f"{label}.weight", features, std=std))
        bias = self.weight(f"{label}.bias", self.draw.normal(f"{label}.bias", features[1:], std=_SPREAD))
        return self.node("Add", label, self.node("MatMul", f"{label}.matmul", x, weight), bias)

    def scale_and_bias(self, label: str, channels: int) -> tuple[str, str]:
        """The two parameters of a normalisation."""
        scale = self.draw.normal(f"{label}.scale", (channels,), mean=1.0, std=_SPREAD)
        bias = self.draw.normal(f"{label}.bias", (channels,), std=_SPREAD)
        return self.weight(f"{label}.scale", scale), self.weight(f"{label}.bias", bias)

    def model(
        self,
        source: tuple[str, Sequence[int | str]],
        result: tuple[str, Sequence[int | str]],
        of: int = onnx.TensorProto.FLOAT,
    ) -> onnx.ModelProto:
        """The finished model, of one (name, shape) input of this element type, and one output of fp32.

        A dimension with a name is open.
        """
        taken = helper.make_tensor_value_info(source[0], of, source[1])
        given = helper.make_tensor_value_info(result[0], onnx.TensorProto.FLOAT, result[1])
        graph = helper.make_graph(self._nodes, self._name, [taken], [given], self._weights)
        opset = helper.make_operatorsetid("", _OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION, producer_name="intarsia")
        onnx.checker.check_model(model, full_check=True)
        return model
