"""Layers that networks of our own are assembled from, node by node."""

from __future__ import annotations

import math

import numpy as np

from networks.assembly import Assembly


def basic_block(net: Assembly, label: str, x: str, channels: tuple[int, int]) -> str:
    """Two 3 x 3 convolutions and a shortcut; where the channels change, the size is halved."""
    stride = 1 if channels[0] == channels[1] else 2
    y = net.conv_relu(f"{label}.conv1", x, channels, stride=stride)
    y = net.conv(f"{label}.conv2", y, (channels[1], channels[1]), gain=0.5)
    if stride == 2:
        x = net.conv(f"{label}.shortcut", x, channels, kernel=1, stride=2, gain=0.7)
    return net.relu(f"{label}.relu", net.node("Add", f"{label}.sum", y, x))


def attention(net: Assembly, label: str, x: str, rows: tuple[int, int], width: int, heads: int) -> str:
    """Self-attention; ``rows`` is how `Reshape` is told batch and tokens."""
    size = width // heads
    split = net.ints(f"{label}.split", *rows, heads, size)
    query, key, value = (
        net.node(
            "Transpose",
            f"{label}.{part}.heads",
            net.node("Reshape", f"{label}.{part}.split", net.linear(f"{label}.{part}", x, (width, width)), split),
            perm=[0, 2, 3, 1] if part == "key" else [0, 2, 1, 3],
        )
        for part in ("query", "key", "value")
    )
    scale = net.weight(f"{label}.scale", np.array(1 / math.sqrt(size), dtype=np.float32))
    scores = net.node("Mul", f"{label}.scaled", net.node("MatMul", f"{label}.scores", query, key), scale)
    shares = net.node("Softmax", f"{label}.shares", scores, axis=-1)
    y = net.node("Transpose", f"{label}.merged", net.node("MatMul", f"{label}.mixed", shares, value), perm=[0, 2, 1, 3])
    y = net.node("Reshape", f"{label}.joined", y, net.ints(f"{label}.join", *rows, width))
    return net.linear(f"{label}.projection", y, (width, width))


def layer_norm(net: Assembly, label: str, x: str, width: int) -> str:
    """Over the last dimension."""
    return net.node("LayerNormalization", label, x, *net.scale_and_bias(label, width), axis=-1)
