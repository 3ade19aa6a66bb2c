"""ResNet-18 (He et al., 2016) as deployed networks are: batch normalisations folded in; in fp32, and in int8.

It needs no torch, unlike `residual`, and its pictures may be of any size that is a multiple of 32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from networks.assembly import Assembly

if TYPE_CHECKING:
    import onnx

NAME = "resnet18"
CLASSES = 1000
_BRANCH, _AROUND = 0.5, 0.7
"""Gains of a branch's last convolution and of the projection around it: sums do not grow from block to block."""


def in_float(size: int = 224, seed: int = 0) -> onnx.ModelProto:
    """In fp32, for pictures of 3 x size x size; the same size and seed give the same numbers."""
    net = Assembly(NAME, seed)
    x = net.conv_relu("stem", "picture", (3, 64), 7, 2)
    x = net.node("MaxPool", "pool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, width in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            x = _block(net, f"stage{stage}.{block}", x, (channels, width), 2 if block == 0 and width > channels else 1)
            channels = width
    flat = net.node("Flatten", "features", net.node("GlobalAveragePool", "mean", x))
    std = channels**-0.5
    weight = net.weight("scores.weight", net.draw.normal("scores.weight", (channels, CLASSES), std=std))
    bias = net.weight("scores.bias", net.draw.normal("scores.bias", (CLASSES,), std=std))
    scores = net.node("Gemm", "scores", flat, weight, bias)
    return net.model(("picture", (1, 3, size, size)), (scores, (1, CLASSES)))


def in_integers(size: int = 224, seed: int = 0) -> onnx.ModelProto:
    """In int8, quantised by ONNX Runtime, each output channel of a weight with a scale of its own."""
    from networks.quantised.integers import static

    return static(in_float(size, seed), per_channel=True, activations="int8")


def _block(net: Assembly, label: str, x: str, channels: tuple[int, int], stride: int) -> str:
    source, width = channels
    y = net.conv_relu(f"{label}.conv1", x, (source, width), 3, stride)
    y = net.conv(f"{label}.conv2", y, (width, width), gain=_BRANCH)
    if source != width:
        x = net.conv(f"{label}.around", x, (source, width), 1, stride, gain=_AROUND)
    return net.relu(f"{label}.relu", net.node("Add", f"{label}.sum", x, y))
