"""The models that an installed release compiles: a network of the literature, and one for the lines of README."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES = 1000


class _Network:
    """Nodes and weights as they are added, each drawn from one seed."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(0)

    def add(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """A node's output."""
        output = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], output, **attributes))
        return output

    def weight(self, *shape: int) -> str:
        """Weights that keep the size of what they are multiplied with (He et al., ICCV 2015); a bias is near zero."""
        spread = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.01
        name = f"w{len(self.weights)}"
        values = (self._random.standard_normal(shape) * spread).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def convolution(self, x: str, channels: tuple[int, int], kernel: int, stride: int) -> str:
        """A convolution with its batch normalisation folded into it."""
        before, behind = channels
        weights = [self.weight(behind, before, kernel, kernel), self.weight(behind)]
        return self.add("Conv", [x, *weights], strides=[stride] * 2, pads=[kernel // 2] * 4)

    def classified(self, x: str, channels: int, batch: int | str) -> onnx.ModelProto:
        """The model over a batch of pictures, with the mean of each channel classified."""
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])])
        self.nodes.append(
            helper.make_node("Gemm", [x, self.weight(CLASSES, channels), self.weight(CLASSES)], ["scores"], transB=1)
        )
        data, scores = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("data", (batch, 3, 224, 224)), ("scores", (batch, CLASSES)))
        )
        graph = helper.make_graph(self.nodes, "network", [data], [scores], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def resnet18() -> onnx.ModelProto:
    """ResNet-18 of He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1."""
    network = _Network()
    x = network.add("Relu", [network.convolution("data", (3, 64), 7, 2)])
    x = network.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    before = 64
    for channels in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if block == 0 and channels > 64 else 1
            way_around = x if stride == 1 else network.convolution(x, (before, channels), 1, stride)
            branch = network.add("Relu", [network.convolution(x, (before, channels), 3, stride)])
            branch = network.convolution(branch, (channels, channels), 3, 1)
            x = network.add("Relu", [network.add("Add", [branch, way_around])])
            before = channels
    return network.classified(x, before, 1)


def small(batch: int | str) -> onnx.ModelProto:
    """Two convolutions for a picture, of a millisecond."""
    network = _Network()
    x = network.add("Relu", [network.convolution("data", (3, 16), 7, 4)])
    x = network.add("Relu", [network.convolution(x, (16, 32), 3, 2)])
    return network.classified(x, 32, batch)
