"""Quantised networks for comparing integers with ONNX Runtime's: drawn at random, and ResNet-18."""

from __future__ import annotations

import numpy as np
import onnx

from networks.assembly import Assembly
from networks.quantised.integers import static

_CLASSES = 20


def drawn(seed: int) -> onnx.ModelProto:
    """At least 17 convolutions in residual blocks, bottlenecks, depthwise pairs, concatenations and pools; float32."""
    rng = np.random.default_rng(seed)
    net = Assembly("drawn", seed)
    channels, size, count, block = int(rng.choice([8, 12, 16])), 24, 1, 0
    x = net.conv_relu("stem", "picture", (3, channels))
    while count < 17:
        block += 1
        name = f"block{block}"
        match rng.choice(["basic", "basic", "bottleneck", "depthwise", "pool", "concat"]):
            case "basic":
                y = net.conv_relu(f"{name}.first", x, (channels, channels))
                y = net.conv(f"{name}.second", y, (channels, channels), gain=0.7)
                x = net.node("Add", f"{name}.sum", *((y, x) if rng.random() < 0.5 else (x, y)))
                x = net.relu(f"{name}.relu", x) if rng.random() < 0.7 else x
                count += 2
            case "bottleneck":
                y = net.conv_relu(f"{name}.first", x, (channels, channels // 2), 1)
                y = net.conv_relu(f"{name}.second", y, (channels // 2, channels // 2))
                y = net.conv(f"{name}.third", y, (channels // 2, channels), 1, gain=0.7)
                x = net.node("Add", f"{name}.sum", y, x)
                count += 3
            case "depthwise":
                x = net.conv(f"{name}.point", _depthwise(net, f"{name}.deep", x, channels), (channels, channels), 1)
                count += 2
            case "pool" if size >= 8:
                # An average of an even count has ties, which ONNX Runtime breaks by errors of float32.
                kind, kernel = [("MaxPool", 2), ("AveragePool", 3)][int(rng.integers(2))]
                pads = [0] * 4 if kernel == 2 else [1] * 4
                told = {"count_include_pad": 1} if kind == "AveragePool" else {}
                x = net.node(kind, f"{name}.pool", x, kernel_shape=[kernel] * 2, strides=[2, 2], pads=pads, **told)
                size //= 2
            case "concat" if channels <= 32:
                y = net.conv_relu(f"{name}.more", x, (channels, 8), 1)
                x = net.node("Concat", f"{name}.both", x, y, axis=1)
                channels += 8
                count += 1
    x = net.node("GlobalAveragePool", "mean", x)
    x = net.linear("scores", net.node("Flatten", "features", x), (channels, _CLASSES), gain=3.0)
    return net.model(("picture", (1, 3, 24, 24)), (x, (1, _CLASSES)))


def resnet18() -> onnx.ModelProto:
    """He et al. (2016): a stem, eight basic blocks in four stages, and 1000 classes, for 224 x 224; float32."""
    net = Assembly("resnet18", 0)
    x = net.conv_relu("stem", "picture", (3, 64), 7, 2)
    x = net.node("MaxPool", "stem.pool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    source = 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for block in range(2):
            name, stride = f"stage{stage}.block{block}", 2 if stage and not block else 1
            y = net.conv_relu(f"{name}.first", x, (source, width), 3, stride)
            y = net.conv(f"{name}.second", y, (width, width), gain=0.7)
            around = net.conv(f"{name}.around", x, (source, width), 1, stride, gain=0.7) if source != width else x
            x = net.relu(f"{name}.relu", net.node("Add", f"{name}.sum", y, around))
            source = width
    x = net.node("GlobalAveragePool", "mean", x)
    x = net.linear("scores", net.node("Flatten", "features", x), (source, 1000), gain=3.0)
    return net.model(("picture", (1, 3, 224, 224)), (x, (1, 1000)))


def quantised(model: onnx.ModelProto, dtype: str, *, per_channel: bool) -> onnx.ModelProto:
    """By ONNX Runtime's static quantiser, with the outputs in 8 bits."""
    made = static(model, per_channel=per_channel, activations="int8" if dtype == "int8" else "uint8")
    for place, output in enumerate(made.graph.output):
        (last,) = (node for node in made.graph.node if output.name in node.output)
        assert last.op_type == "DequantizeLinear"
        shape = [dim.dim_value for dim in output.type.tensor_type.shape.dim]
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        made.graph.node.remove(last)
        made.graph.output[place].CopyFrom(onnx.helper.make_tensor_value_info(last.input[0], kind, shape))
    return made


def _depthwise(net: Assembly, name: str, x: str, channels: int) -> str:
    weight = net.weight(f"{name}.weight", net.draw.he(f"{name}.weight", (channels, 1, 3, 3), 9))
    bias = net.weight(f"{name}.bias", net.draw.normal(f"{name}.bias", (channels,), std=0.05))
    y = net.node("Conv", name, x, weight, bias, kernel_shape=[3, 3], pads=[1] * 4, group=channels)
    return net.relu(f"{name}.relu", y)
