"""Networks for microcontrollers: the four of MLPerf Tiny (Banbury et al., 2021) with seeded weights, and three more.

The four are built in fp32 as trained ones are exported, batch normalisation folded in, and quantised to int8 by ONNX
Runtime (`networks.quantised.integers`), each output channel of a weight with a scale of its own.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from networks.assembled import attention, layer_norm
from networks.assembly import Assembly
from networks.probe import feeds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx
    from numpy.typing import NDArray

    Builder = Callable[[str, int], onnx.ModelProto]
    Pads = tuple[int, int, int, int]
_SAME: Pads = (1, 1, 1, 1)
_HALVED: Pads = (0, 0, 1, 1)
"""What TensorFlow pads where 3 x 3 steps by 2 over an even size."""
_SPREAD = 0.05
_DEVIATION, _SAMPLES, _DIRECTIONS = 0.04, 16, 4
"""Of a class's share over samples, how many of those, and in how many directions of the features scores may differ."""


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """The named network, in int8 where `QUANTISED` has it; the same name and seed give the same numbers.

    Raises:
        ValueError: no such network.
    """
    model = in_float(name, seed)
    if name not in QUANTISED:
        return model
    from networks.quantised.integers import static

    return static(model, per_channel=True, activations="int8")


def in_float(name: str, seed: int = 0) -> onnx.ModelProto:
    """The named network in fp32.

    Raises:
        ValueError: no such network.
    """
    if name not in BUILDERS:
        raise ValueError(f"no network {name!r}; there are {', '.join(BUILDERS)}")
    return BUILDERS[name](name, seed)


def kws(name: str, seed: int) -> onnx.ModelProto:
    """Keyword spotting: DS-CNN of 64 channels over 49 frames of 10 coefficients (Zhang et al., 2017)."""
    net = Assembly(name, seed)
    x = _convolved(net, "stem", "frames", (1, 64), (10, 4), 2, (4, 1, 5, 1))
    for block in range(4):
        x = _separable(net, f"block{block}", x, (64, 64), 1)
    x = net.node("AveragePool", "mean", x, kernel_shape=[25, 5])
    return _classified(net, x, 64, 12, ("frames", (1, 1, 49, 10)))


def ic(name: str, seed: int) -> onnx.ModelProto:
    """Image classification: the ResNet-8 of MLPerf Tiny."""
    net = Assembly(name, seed)
    x = _convolved(net, "stem", "picture", (3, 16), (3, 3), 1, _SAME)
    channels = 16
    for stage, width in enumerate((16, 32, 64), start=1):
        label, stride = f"stage{stage}", 1 if width == channels else 2
        pads = _SAME if stride == 1 else _HALVED
        y = _convolved(net, f"{label}.conv1", x, (channels, width), (3, 3), stride, pads)
        y = _convolved(net, f"{label}.conv2", y, (width, width), (3, 3), 1, _SAME, relu=False, gain=0.5)
        if stride == 2:
            x = _convolved(
                net, f"{label}.shortcut", x, (channels, width), (1, 1), 2, (0, 0, 0, 0), relu=False, gain=0.7
            )
        x = net.relu(f"{label}.relu", net.node("Add", f"{label}.sum", x, y))
        channels = width
    x = net.node("AveragePool", "mean", x, kernel_shape=[8, 8], strides=[8, 8])
    return _classified(net, x, 64, 10, ("picture", (1, 3, 32, 32)))


def vww(name: str, seed: int) -> onnx.ModelProto:
    """Visual wake words: MobileNetV1 of a quarter of the width (Howard et al., 2017), person or not."""
    net = Assembly(name, seed)
    x = _convolved(net, "stem", "picture", (3, 8), (3, 3), 2, _HALVED)
    channels = 8
    widths = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))
    for block, (width, stride) in enumerate(widths):
        x = _separable(net, f"block{block}", x, (channels, width), stride)
        channels = width
    x = net.node("AveragePool", "mean", x, kernel_shape=[3, 3], strides=[3, 3])
    return _classified(net, x, 256, 2, ("picture", (1, 3, 96, 96)))


def ad(name: str, seed: int) -> onnx.ModelProto:
    """Anomaly detection: an autoencoder of ten products over 640 numbers (DCASE 2020, task 2)."""
    net = Assembly(name, seed)
    x, size = "spectrum", 640
    for place, width in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128)):
        x = net.relu(f"layer{place}.relu", _dense(net, f"layer{place}", x, (size, width), gain=math.sqrt(2)))
        size = width
    return net.model(("spectrum", (1, 640)), (_dense(net, "restored", x, (size, 640)), (1, 640)))


def cnn1d(name: str, seed: int) -> onnx.ModelProto:
    """Six channels of a motion sensor: three convolutions over 128 steps, two pools, six classes."""
    net = Assembly(name, seed)
    x, channels = "motion", 6
    for place, width in enumerate((16, 24, 32)):
        label = f"conv{place}"
        weight = net.weight(f"{label}.weight", net.draw.he(f"{label}.weight", (width, channels, 5), 5 * channels))
        bias = net.weight(f"{label}.bias", net.draw.normal(f"{label}.bias", (width,), std=_SPREAD))
        x = net.relu(f"{label}.relu", net.node("Conv", label, x, weight, bias, kernel_shape=[5], pads=[2, 2]))
        if place < 2:
            x = net.node("MaxPool", f"pool{place}", x, kernel_shape=[4], strides=[4])
        channels = width
    x = net.node("GlobalAveragePool", "mean", x)
    return _classified(net, x, 32, 6, ("motion", (1, 6, 128)))


def gru(name: str, seed: int) -> onnx.ModelProto:
    """Forty frames of ten coefficients through a GRU of 32; the last state decides among eight."""
    hidden, features = 32, 10
    net = Assembly(name, seed)
    x = net.node("Transpose", "steps", "frames", perm=[1, 0, 2])
    bound = 1 / math.sqrt(hidden)
    shapes = {"w": (1, 3 * hidden, features), "r": (1, 3 * hidden, hidden), "b": (1, 6 * hidden)}
    weights = [
        net.weight(f"gru.{key}", net.draw.uniform(f"gru.{key}", shape, -2 * bound, 2 * bound))
        for key, shape in shapes.items()
    ]
    net.node("GRU", "gru", x, *weights, outputs=2, hidden_size=hidden, linear_before_reset=1)
    x = net.node("Squeeze", "last", "gru.1", net.ints("last.axes", 0))
    return _classified(net, x, hidden, 8, ("frames", (1, 40, features)))


def transformer(name: str, seed: int) -> onnx.ModelProto:
    """One block of attention and a perceptron with Gelu, over 16 tokens of 32 numbers, and five classes."""
    tokens, width = 16, 32
    net = Assembly(name, seed)
    attended = attention(net, "attention", layer_norm(net, "norm1", "tokens", width), (1, tokens), width, 4)
    x = net.node("Add", "sum1", "tokens", attended)
    y = net.linear("fc1", layer_norm(net, "norm2", x, width), (width, 2 * width))
    y = net.linear("fc2", net.node("Gelu", "gelu", y), (2 * width, width))
    x = net.node("Add", "sum2", x, y)
    x = net.node("ReduceMean", "mean", layer_norm(net, "norm3", x, width), net.ints("mean.axes", 1), keepdims=0)
    return _classified(net, x, width, 5, ("tokens", (1, tokens, width)))


BUILDERS: Mapping[str, Builder] = MappingProxyType(
    {each.__name__: each for each in (kws, ic, vww, ad, cnn1d, gru, transformer)}
)
NAMES = tuple(BUILDERS)
QUANTISED = ("kws", "ic", "vww", "ad")


def _convolved(
    net: Assembly,
    label: str,
    x: str,
    channels: tuple[int, int],
    kernel: tuple[int, int],
    stride: int,
    pads: Pads,
    *,
    groups: int = 1,
    relu: bool = True,
    gain: float = 1.0,
) -> str:
    source, target = channels
    shape = (target, source // groups, *kernel)
    drawn = net.draw.he(f"{label}.weight", shape, math.prod(shape[1:]), gain=gain)
    weight = net.weight(f"{label}.weight", drawn)
    bias = net.weight(f"{label}.bias", net.draw.normal(f"{label}.bias", (target,), std=_SPREAD))
    window: dict[str, Any] = {"kernel_shape": list(kernel), "strides": [stride] * 2, "pads": list(pads)}
    y = net.node("Conv", label, x, weight, bias, group=groups, **window)
    return net.relu(f"{label}.relu", y) if relu else y


def _separable(net: Assembly, label: str, x: str, channels: tuple[int, int], stride: int) -> str:
    source, _ = channels
    pads = _SAME if stride == 1 else _HALVED
    x = _convolved(net, f"{label}.deep", x, (source, source), (3, 3), stride, pads, groups=source)
    return _convolved(net, f"{label}.wide", x, channels, (1, 1), 1, (0, 0, 0, 0))


def _dense(net: Assembly, label: str, x: str, features: tuple[int, int], gain: float = 1.0) -> str:
    std = gain / math.sqrt(features[0])
    weight = net.weight(f"{label}.weight", net.draw.normal(f"{label}.weight", features, std=std))
    bias = net.weight(f"{label}.bias", net.draw.normal(f"{label}.bias", features[1:], std=_SPREAD))
    return net.node("Gemm", label, x, weight, bias)


def _classified(
    net: Assembly, x: str, features: int, classes: int, source: tuple[str, tuple[int, ...]]
) -> onnx.ModelProto:
    """Scores that differ from input to input as a trained network's do, and their softmax.

    What pools over a picture is nearly one vector for all random inputs, so the product is set by samples.
    """
    flat = net.node("Flatten", "features", x)
    found = _answers(net.model(source, (flat, (1, features))))
    drawn = _along(found, net.draw.normal("scores.weight", (features, classes)))
    # Near even shares p, a share moves p * (1 - p) times as far as its score.
    wanted = _DEVIATION * classes**2 / (classes - 1)
    spread = (found @ drawn).std(axis=0)
    weight = net.weight("scores.weight", _rounded(drawn * (wanted / spread)))
    shift = _rounded(-(found.mean(axis=0) @ drawn) * (wanted / spread))
    scores = net.node("Gemm", "scores", flat, weight, net.weight("scores.bias", shift))
    return net.model(source, (net.node("Softmax", "shares", scores, axis=-1), (1, classes)))


def _answers(model: onnx.ModelProto) -> NDArray[np.float32]:
    """The one output for each of several inputs, a row each."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = [session.run(None, feeds(model, seed))[0].reshape(-1) for seed in range(_SAMPLES)]
    return np.stack(rows)


def _along(samples: NDArray[np.float32], drawn: NDArray[np.float32]) -> NDArray[np.float32]:
    """The part of drawn weights along which samples differ most: what differs least there is noise of quantisation."""
    centred = (samples - samples.mean(axis=0)).astype(np.float64)
    _, _, rows = np.linalg.svd(centred, full_matrices=False)
    main = rows[: min(_DIRECTIONS, drawn.shape[1] - 1)]
    return (main.T @ (main @ drawn)).astype(np.float32)


def _rounded(numbers: NDArray[Any]) -> NDArray[np.float32]:
    """To so few digits that the order of summation, which machines differ in, does not show."""
    return np.round(numbers, 3).astype(np.float32)
