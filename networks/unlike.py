"""Networks of our own whose parts are unlike: a place where a mix of engines can win."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from networks.assembled import attention, basic_block, layer_norm
from networks.assembly import Assembly

if TYPE_CHECKING:
    import onnx

LINE_READER, TINY = "line_reader", "tiny"
_AS_GIVEN = 0
"""In the shape of a Reshape: this dimension stays as it is."""


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """The named network at opset 21.

    Raises:
        ValueError: no such network.
    """
    if name not in BUILDERS:
        raise ValueError(f"no network {name!r}; there are {', '.join(BUILDERS)}")
    return BUILDERS[name](name, seed)


def text_recogniser(name: str, seed: int) -> onnx.ModelProto:
    """CRNN (Shi, Bai and Yao, 2015): a VGG-style stack and two bidirectional GRU layers read a line of grey text."""
    return _recogniser(Assembly(name, seed), normalises=False)


def line_reader(name: str, seed: int) -> onnx.ModelProto:
    """The same with LRN, as AlexNet has it: one engine is slow at that, and another at the GRUs. For two machines."""
    return _recogniser(Assembly(name, seed), normalises=True)


def _recogniser(net: Assembly, *, normalises: bool) -> onnx.ModelProto:
    width, hidden, symbols = 320, 256, 37
    x = "line"
    for stage, channels in enumerate(((1, 64), (64, 128)), start=1):
        x = net.conv_relu(f"conv{stage}", x, channels)
        x = net.node("LRN", f"norm{stage}", x, size=5) if normalises else x
        x = net.node("MaxPool", f"pool{stage}", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.conv_relu("conv3", x, (128, 256))
    x = net.conv_relu("conv4", x, (256, 256))
    x = net.node("MaxPool", "pool3", x, kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
    x = net.conv_relu("conv5", x, (256, 512))
    x = net.conv_relu("conv6", x, (512, 512))
    x = net.node("MaxPool", "pool4", x, kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
    x = net.relu("conv7.relu", net.conv("conv7", x, (512, 512), 2, pad=0))
    steps = width // 4 + 1
    x = net.node("Squeeze", "columns", x, net.ints("height_axis", 2))
    x = net.node("Transpose", "sequence", x, perm=[2, 0, 1])
    for layer in (1, 2):
        x = _bidirectional_gru(net, f"gru{layer}", x, 512, hidden)
    x = net.linear("symbols", x, (2 * hidden, symbols), gain=4.0)
    net.node("Softmax", "probabilities", x, axis=-1)
    return net.model(("line", (1, 1, 32, width)), ("probabilities", (steps, 1, symbols)))


def _bidirectional_gru(net: Assembly, label: str, x: str, features: int, hidden: int) -> str:
    """One layer over (time, batch, features), giving (time, batch, 2 * hidden)."""
    bound = 1 / math.sqrt(hidden)
    shapes = {"w": (2, 3 * hidden, features), "r": (2, 3 * hidden, hidden), "b": (2, 6 * hidden)}
    weights = [
        net.weight(f"{label}.{key}", net.draw.uniform(f"{label}.{key}", shape, -bound, bound))
        for key, shape in shapes.items()
    ]
    # As PyTorch exports it: its kind of GRU, and the final state named although nothing reads it.
    x = net.node(
        "GRU", label, x, *weights, outputs=2, direction="bidirectional", hidden_size=hidden, linear_before_reset=1
    )
    x = net.node("Transpose", f"{label}.batch", x, perm=[0, 2, 1, 3])
    return net.node("Reshape", f"{label}.joined", x, net.ints(f"{label}.shape", 0, 0, -1))


def style_transfer(name: str, seed: int) -> onnx.ModelProto:
    """Fast neural style (Johnson, Alahi and Fei-Fei, 2016), with instance norm and nearest upsampling."""
    size = 160
    net = Assembly(name, seed)
    x = _padded_conv(net, "conv1", "picture", (3, 32), kernel=9)
    x = net.relu("conv1.relu", _instance_norm(net, "conv1.norm", x, 32))
    for label, channels in {"conv2": (32, 64), "conv3": (64, 128)}.items():
        x = _padded_conv(net, label, x, channels, stride=2)
        x = net.relu(f"{label}.relu", _instance_norm(net, f"{label}.norm", x, channels[1]))
    for block in range(1, 6):
        x = _style_block(net, f"block{block}", x, 128)
    scales = net.weight("twice", np.array([1, 1, 2, 2], dtype=np.float32))
    for label, channels in {"up1": (128, 64), "up2": (64, 32)}.items():
        x = net.node(
            "Resize", f"{label}.resize", x, "", scales,
            mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric",
        )  # fmt: skip
        x = _padded_conv(net, label, x, channels)
        x = net.relu(f"{label}.relu", _instance_norm(net, f"{label}.norm", x, channels[1]))
    x = _padded_conv(net, "painted", x, (32, 3), kernel=9)
    return net.model(("picture", (1, 3, size, size)), (x, (1, 3, size, size)))


def _style_block(net: Assembly, label: str, x: str, channels: int) -> str:
    y = _padded_conv(net, f"{label}.conv1", x, (channels, channels))
    y = net.relu(f"{label}.relu", _instance_norm(net, f"{label}.norm1", y, channels))
    y = _padded_conv(net, f"{label}.conv2", y, (channels, channels))
    return net.node("Add", f"{label}.sum", _instance_norm(net, f"{label}.norm2", y, channels), x)


def _padded_conv(
    net: Assembly, label: str, x: str, channels: tuple[int, int], *, kernel: int = 3, stride: int = 1
) -> str:
    """Convolution behind reflection padding."""
    rim = kernel // 2
    pads = net.ints(f"{label}.pads", 0, 0, rim, rim, 0, 0, rim, rim)
    return net.conv(label, net.node("Pad", f"{label}.pad", x, pads, mode="reflect"), channels, kernel, stride, pad=0)


def _instance_norm(net: Assembly, label: str, x: str, channels: int) -> str:
    return net.node("InstanceNormalization", label, x, *net.scale_and_bias(label, channels))


def cnn_transformer(name: str, seed: int) -> onnx.ModelProto:
    """A hybrid ViT (Dosovitskiy et al., 2021): three ResNet-18 stages, then six encoder blocks on 14 x 14 tokens."""
    width, tokens, classes = 256, 196, 1000
    net = Assembly(name, seed)
    x = net.conv_relu("stem", "picture", (3, 64), kernel=7, stride=2)
    x = net.node("MaxPool", "stem.pool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, channels in enumerate(((64, 64), (64, 128), (128, width)), start=1):
        x = basic_block(net, f"stage{stage}.block1", x, channels)
        x = basic_block(net, f"stage{stage}.block2", x, (channels[1], channels[1]))
    x = net.node("Reshape", "grid", x, net.ints("grid.shape", 1, width, tokens))
    x = net.node("Transpose", "tokens", x, perm=[0, 2, 1])
    places = net.draw.normal("positions", (1, tokens, width), std=0.2)
    x = net.node("Add", "placed", x, net.weight("positions", places))
    for block in range(1, 7):
        x = _encoder_block(net, f"encoder{block}", x, tokens, width)
    x = layer_norm(net, "norm", x, width)
    x = net.node("ReduceMean", "mean", x, net.ints("mean.axes", 1), keepdims=0)
    x = net.linear("classes", x, (width, classes), gain=4.0)
    net.node("Softmax", "probabilities", x, axis=-1)
    return net.model(("picture", (1, 3, 224, 224)), ("probabilities", (1, classes)))


def text_encoder(seed: int = 0) -> onnx.ModelProto:
    """Four blocks of a text encoder over an open number of word vectors: for ranges of sizes, not for the suite."""
    width, x = 256, "words"
    net = Assembly("text_encoder", seed)
    for block in range(1, 5):
        x = _encoder_block(net, f"encoder{block}", x, _AS_GIVEN, width)
    net.node("Tanh", "meanings", layer_norm(net, "norm", x, width))
    return net.model(("words", (1, "seq", width)), ("meanings", (1, "seq", width)))


def _encoder_block(net: Assembly, label: str, x: str, tokens: int, width: int) -> str:
    """Pre-norm self-attention and perceptron, each around a shortcut."""
    attended = attention(net, f"{label}.attention", layer_norm(net, f"{label}.norm1", x, width), (1, tokens), width, 8)
    x = net.node("Add", f"{label}.sum1", x, attended)
    y = net.linear(f"{label}.fc1", layer_norm(net, f"{label}.norm2", x, width), (width, 4 * width))
    y = net.linear(f"{label}.fc2", net.node("Gelu", f"{label}.gelu", y), (4 * width, width))
    return net.node("Add", f"{label}.sum2", x, y)


def tiny(name: str, seed: int) -> onnx.ModelProto:
    """Four convolutions that take about a millisecond, where the cost of a call itself shows."""
    net = Assembly(name, seed)
    x = net.conv_relu("conv1", "picture", (3, 32), stride=2)
    x = net.conv_relu("conv2", x, (32, 64), stride=2)
    x = net.conv_relu("conv3", x, (64, 64))
    x = net.conv_relu("conv4", x, (64, 128), stride=2)
    x = net.node("GlobalAveragePool", "mean", x)
    x = net.node("Flatten", "features", x)
    x = net.linear("classes", x, (128, 10))
    return net.model(("picture", (1, 3, 160, 160)), (x, (1, 10)))


BUILDERS = MappingProxyType(
    {build.__name__: build for build in (text_recogniser, style_transfer, cnn_transformer, line_reader, tiny)}
)
NAMES = tuple(name for name in BUILDERS if name not in {LINE_READER, TINY})
