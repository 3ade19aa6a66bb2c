"""The networks in fp32 that `quantised` makes smaller types of: small, deep, and of any batch."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import onnx

from networks.assembled import attention, basic_block, layer_norm
from networks.assembly import Assembly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Builder = Callable[[str, int | str], onnx.ModelProto]
_HEADS = 4
_ROWS = (0, -1)
"""Batch and tokens of any number, as `Reshape` is told."""
_WORDS = 200
_EPSILON = 1e-5


def build(name: str, batch: int | str = 1) -> onnx.ModelProto:
    """The named network; a batch that is a text is a dimension of that name, which stays open.

    Raises:
        ValueError: no such network.
    """
    if name not in BUILDERS:
        raise ValueError(f"no network {name!r}; there are {', '.join(BUILDERS)}")
    return BUILDERS[name](name, batch)


def residual(name: str, batch: int | str) -> onnx.ModelProto:
    """A classifier of pictures: 21 convolutions in nine residual blocks, and a product."""
    net = Assembly(name, 0)
    x = net.conv_relu("stem", "picture", (3, 16))
    channels = 16
    for stage, width in enumerate((16, 32, 48), start=1):
        for block in range(3):
            x = basic_block(net, f"stage{stage}.block{block}", x, (channels, width))
            channels = width
    x = net.node("AveragePool", "mean", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.linear("scores", net.node("Flatten", "features", x), (9 * channels, 20), gain=3.0)
    return net.model(("picture", (batch, 3, 24, 24)), (x, (batch, 20)))


def mobile(name: str, batch: int | str) -> onnx.ModelProto:
    """Inverted residuals: 26 convolutions, a third of them depthwise, between clipped activations."""
    net = Assembly(name, 0)
    net.weight("low", np.array(0, dtype=np.float32))
    net.weight("high", np.array(6, dtype=np.float32))
    x = _clipped(net, "stem", net.conv("stem", "picture", (3, 16), stride=2))
    channels = 16
    for block, (width, stride) in enumerate(((16, 1), (16, 1), (24, 2), (24, 1), (24, 1), (32, 2), (32, 1), (32, 1))):
        label = f"block{block}"
        y = _clipped(net, f"{label}.wide", net.conv(f"{label}.wide", x, (channels, 4 * channels), 1))
        y = _clipped(net, f"{label}.deep", _depthwise(net, f"{label}.deep", y, 4 * channels, stride))
        y = net.conv(f"{label}.narrow", y, (4 * channels, width), 1, gain=0.7)
        x = net.node("Add", f"{label}.sum", y, x) if (stride, width) == (1, channels) else y
        channels = width
    x = _clipped(net, "head", net.conv("head", x, (channels, 64), 1))
    x = net.node("GlobalAveragePool", "mean", x)
    x = net.linear("scores", net.node("Flatten", "features", x), (64, 20), gain=3.0)
    return net.model(("picture", (batch, 3, 32, 32)), (x, (batch, 20)))


def superres(name: str, batch: int | str) -> onnx.ModelProto:
    """A picture made twice as large: 23 convolutions, a sub-pixel shuffle, and the enlarged input added."""
    net = Assembly(name, 0)
    x = first = net.conv("head", "picture", (3, 16))
    for block in range(10):
        y = net.conv_relu(f"block{block}.conv1", x, (16, 16))
        x = net.node("Add", f"block{block}.sum", net.conv(f"block{block}.conv2", y, (16, 16), gain=0.4), x)
    x = net.node("Add", "body", net.conv("body.conv", x, (16, 16), gain=0.7), first)
    x = net.conv("up", x, (16, 64), gain=0.7)
    x = net.conv("tail", net.node("DepthToSpace", "shuffle", x, blocksize=2), (16, 3), gain=0.5)
    scales = net.weight("twice", np.array([1, 1, 2, 2], dtype=np.float32))
    large = net.node("Resize", "large", "picture", "", scales, mode="linear")
    net.node("Add", "enlarged", x, large)
    return net.model(("picture", (batch, 3, 20, 20)), ("enlarged", (batch, 3, 40, 40)))


def vit(name: str, batch: int | str) -> onnx.ModelProto:
    """A vision transformer: patches, six blocks of attention and perceptron with Gelu, behind norms."""
    width, tokens = 64, 64
    net = Assembly(name, 0)
    x = net.conv("patches", "picture", (3, width), 4, 4, pad=0)
    x = net.node("Reshape", "grid", x, net.ints("grid.shape", 0, width, tokens))
    x = net.node("Transpose", "tokens", x, perm=[0, 2, 1])
    places = net.draw.normal("positions", (1, tokens, width), std=0.2)
    x = net.node("Add", "placed", x, net.weight("positions", places))
    for block in range(6):
        label = f"block{block}"
        attended = attention(
            net, f"{label}.attention", layer_norm(net, f"{label}.norm1", x, width), _ROWS, width, _HEADS
        )
        x = net.node("Add", f"{label}.sum1", x, attended)
        y = net.linear(f"{label}.fc1", layer_norm(net, f"{label}.norm2", x, width), (width, 2 * width))
        y = net.linear(f"{label}.fc2", net.node("Gelu", f"{label}.gelu", y), (2 * width, width))
        x = net.node("Add", f"{label}.sum2", x, y)
    x = net.node("ReduceMean", "mean", layer_norm(net, "norm", x, width), net.ints("mean.axes", 1), keepdims=0)
    x = net.linear("scores", x, (width, 20), gain=3.0)
    return net.model(("picture", (batch, 3, 32, 32)), (x, (batch, 20)))


def encoder(name: str, batch: int | str) -> onnx.ModelProto:
    """A reader of words: a table, four blocks with norms behind the sums, Gelu spelt with Erf."""
    width, tokens = 64, 16
    net = Assembly(name, 0)
    table = net.weight("table", net.draw.normal("table", (_WORDS, width)))
    x = layer_norm(net, "embedded", net.node("Gather", "looked_up", table, "words"), width)
    for block in range(4):
        label = f"block{block}"
        x = net.node("Add", f"{label}.sum1", x, attention(net, f"{label}.attention", x, _ROWS, width, _HEADS))
        x = layer_norm(net, f"{label}.norm1", x, width)
        y = _gelu(net, f"{label}.gelu", net.linear(f"{label}.fc1", x, (width, 2 * width)))
        x = net.node("Add", f"{label}.sum2", x, net.linear(f"{label}.fc2", y, (2 * width, width)))
        x = layer_norm(net, f"{label}.norm2", x, width)
    return net.model(("words", (batch, tokens)), (x, (batch, tokens, width)), of=onnx.TensorProto.INT64)


def decoder(name: str, batch: int | str) -> onnx.ModelProto:
    """Three blocks of a language model on embedded words: root mean square norms, gated perceptrons, wide products."""
    width, tokens = 128, 8
    net = Assembly(name, 0)
    x = "embedded"
    for block in range(3):
        label = f"block{block}"
        attended = attention(
            net, f"{label}.attention", _rms_norm(net, f"{label}.norm1", x, width), _ROWS, width, _HEADS
        )
        x = net.node("Add", f"{label}.sum1", x, attended)
        y = _rms_norm(net, f"{label}.norm2", x, width)
        gate = net.linear(f"{label}.gate", y, (width, 2 * width))
        gate = net.node("Mul", f"{label}.swish", gate, net.node("Sigmoid", f"{label}.sigmoid", gate))
        y = net.node("Mul", f"{label}.gated", gate, net.linear(f"{label}.up", y, (width, 2 * width)))
        x = net.node("Add", f"{label}.sum2", x, net.linear(f"{label}.down", y, (2 * width, width)))
    x = net.linear("logits", _rms_norm(net, "norm", x, width), (width, 96))
    return net.model(("embedded", (batch, tokens, width)), (x, (batch, tokens, 96)))


def gru(name: str, batch: int | str) -> onnx.ModelProto:
    """A reader of sound: two convolutions over time, two bidirectional GRU layers, a product for each step."""
    net = Assembly(name, 0)
    x = net.relu("conv1.relu", _conv_over_time(net, "conv1", "frames", (20, 32)))
    x = net.relu("conv2.relu", _conv_over_time(net, "conv2", x, (32, 32)))
    x = net.node("Transpose", "steps", x, perm=[2, 0, 1])
    for layer, features in enumerate((32, 48)):
        x = _bidirectional_gru(net, f"gru{layer}", x, features, 24)
    x = net.linear("hidden", x, (48, 48))
    x = net.linear("symbols", net.relu("hidden.relu", x), (48, 30), gain=2.0)
    net.node("Transpose", "scores", x, perm=[1, 0, 2])
    return net.model(("frames", (batch, 20, 24)), ("scores", (batch, 24, 30)))


BUILDERS: Mapping[str, Builder] = MappingProxyType(
    {build.__name__: build for build in (residual, mobile, superres, vit, encoder, decoder, gru)}
)


def _clipped(net: Assembly, label: str, x: str) -> str:
    return net.node("Clip", f"{label}.clip", x, "low", "high")


def _depthwise(net: Assembly, label: str, x: str, channels: int, stride: int) -> str:
    weight = net.weight(f"{label}.weight", net.draw.he(f"{label}.weight", (channels, 1, 3, 3), 9))
    bias = net.weight(f"{label}.bias", net.draw.normal(f"{label}.bias", (channels,), std=0.05))
    window = {"kernel_shape": [3, 3], "strides": [stride] * 2, "pads": [1] * 4}
    return net.node("Conv", label, x, weight, bias, outputs=1, group=channels, **window)


def _conv_over_time(net: Assembly, label: str, x: str, channels: tuple[int, int]) -> str:
    source, target = channels
    weight = net.weight(f"{label}.weight", net.draw.he(f"{label}.weight", (target, source, 3), 3 * source))
    bias = net.weight(f"{label}.bias", net.draw.normal(f"{label}.bias", (target,), std=0.05))
    return net.node("Conv", label, x, weight, bias, kernel_shape=[3], pads=[1, 1])


def _rms_norm(net: Assembly, label: str, x: str, width: int) -> str:
    """Spelt out, as exporters of language models write it."""
    square = net.node("Mul", f"{label}.square", x, x)
    mean = net.node("ReduceMean", f"{label}.mean", square, net.ints(f"{label}.axes", -1), keepdims=1)
    epsilon = net.weight(f"{label}.epsilon", np.array(_EPSILON, dtype=np.float32))
    root = net.node("Sqrt", f"{label}.root", net.node("Add", f"{label}.shifted", mean, epsilon))
    scale = net.weight(f"{label}.scale", net.draw.normal(f"{label}.scale", (width,), mean=1.0, std=0.05))
    return net.node("Mul", label, net.node("Div", f"{label}.divided", x, root), scale)


def _gelu(net: Assembly, label: str, x: str) -> str:
    root = net.weight(f"{label}.root", np.array(math.sqrt(2), dtype=np.float32))
    one = net.weight(f"{label}.one", np.array(1, dtype=np.float32))
    half = net.weight(f"{label}.half", np.array(0.5, dtype=np.float32))
    erf = net.node("Erf", f"{label}.erf", net.node("Div", f"{label}.divided", x, root))
    twice = net.node("Mul", f"{label}.twice", x, net.node("Add", f"{label}.sum", erf, one))
    return net.node("Mul", label, twice, half)


def _bidirectional_gru(net: Assembly, label: str, x: str, features: int, hidden: int) -> str:
    """One layer over (time, batch, features), giving (time, batch, 2 * hidden)."""
    bound = 1 / math.sqrt(hidden)
    shapes = {"w": (2, 3 * hidden, features), "r": (2, 3 * hidden, hidden), "b": (2, 6 * hidden)}
    weights = [
        net.weight(f"{label}.{key}", net.draw.uniform(f"{label}.{key}", shape, -bound, bound))
        for key, shape in shapes.items()
    ]
    x = net.node("GRU", label, x, *weights, direction="bidirectional", hidden_size=hidden, linear_before_reset=1)
    x = net.node("Transpose", f"{label}.batch", x, perm=[0, 2, 1, 3])
    return net.node("Reshape", f"{label}.joined", x, net.ints(f"{label}.shape", 0, 0, -1))
