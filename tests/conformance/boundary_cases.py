"""Sub-graphs whose edges are unusual: what enters twice, what leaves and is read inside, what holds no weights."""

from __future__ import annotations

import numpy as np

from tests.conformance.cases import Case, Feed, f32, node

SMALL_NET = Case(
    name="small-net",
    nodes=(
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p v", "y"),
    ),
    inputs={"x": f32(1, 16, 12, 12)},
    weights={"w": (16, 16, 3, 3), "b": (16,), "v": (24, 16, 1, 1)},
)
"""What every engine takes: the contract is tested on it."""

EMBEDDING_NET = Case(
    name="embedding-net",
    nodes=(
        node("Conv", "x w0", "a", pads=[1, 1, 1, 1]),
        node("Relu", "a", "b"),
        node("Conv", "b w1", "c", pads=[1, 1, 1, 1]),
        node("Relu", "c", "d"),
        node("Conv", "d w2", "e", pads=[1, 1, 1, 1]),
        node("Add", "e b", "f"),
        node("Conv", "f w3", "g", pads=[1, 1, 1, 1]),
        node("Relu", "g", "h"),
        node("Conv", "h w4", "y"),
    ),
    inputs={"x": f32(1, 16, 12, 12)},
    weights={**{f"w{layer}": (16, 16, 3, 3) for layer in range(4)}, "w4": (24, 16, 1, 1)},
)
"""A residual network in which the second and the fourth convolution can be pieces, each with its activation."""
EMBEDDED_OUTPUTS = (("c", "d"), ("g", "h"))
"""What the nodes of those pieces compute."""

BOUNDARY_CASES = (
    Case(
        name="several-outputs",
        nodes=(node("Relu", "x", "y"), node("Sigmoid", "x", "z"), node("Add", "y z", "s")),
        inputs={"x": f32(1, 8, 6, 6)},
        outputs=("y", "z", "s"),
    ),
    Case(
        name="output-read-inside",
        nodes=(node("Relu", "x", "y"), node("Sigmoid", "y", "z")),
        inputs={"x": f32(1, 8, 6, 6)},
        outputs=("y", "z"),
    ),
    Case(name="input-used-twice-by-one-node", nodes=(node("Mul", "x x"),), inputs={"x": f32(1, 8, 6, 6)}),
    Case(
        name="input-used-by-two-nodes",
        nodes=(node("Relu", "x", "r"), node("Add", "x r")),
        inputs={"x": f32(1, 8, 6, 6)},
    ),
    Case(name="two-inputs-in-order", nodes=(node("Sub", "b a"),), inputs={"a": f32(1, 4, 6, 6), "b": f32(1, 4, 6, 6)}),
    Case(
        name="large-weight-feeds-add",
        nodes=(node("Add", "x w"),),
        inputs={"x": f32(1, 8, 16, 16)},
        weights={"w": (1, 8, 16, 16)},
    ),
    Case(
        name="one-weight-used-twice",
        nodes=(node("MatMul", "x w", "h"), node("MatMul", "h w")),
        inputs={"x": f32(4, 24)},
        weights={"w": (24, 24)},
    ),
    Case(name="pass-through", nodes=(node("Identity", "x"),), inputs={"x": f32(2, 3)}),
    Case(
        name="pass-through-beside-work",
        nodes=(node("Identity", "x", "y"), node("Relu", "x", "z")),
        inputs={"x": f32(1, 4, 5, 5)},
        outputs=("y", "z"),
    ),
    Case(
        name="reshape-only",
        nodes=(node("Reshape", "x s"),),
        inputs={"x": f32(2, 3, 4)},
        weights={"s": np.array([4, 6], np.int64)},
    ),
    Case(
        name="dropout-vanishes",
        nodes=(node("Dropout", "x", "d"), node("Relu", "d")),
        inputs={"x": f32(1, 4, 5, 5)},
    ),
    Case(
        name="input-shown-where-a-node-vanishes",
        nodes=(node("Dropout", "x", "y"), node("Sum", "x", "s"), node("Relu", "x", "z")),
        inputs={"x": f32(1, 4, 5, 5)},
        outputs=("y", "s", "z"),
    ),
    Case(name="scalar", nodes=(node("Add", "a b"),), inputs={"a": f32(), "b": f32()}),
    Case(name="no-elements", nodes=(node("Relu", "x"),), inputs={"x": f32(0, 3)}),
    Case(
        name="int64-in-and-out",
        nodes=(node("Identity", "x"),),
        inputs={"x": Feed(shape=(5,), dtype="int64", low=0, high=99)},
    ),
    Case(
        name="bool-in-and-out",
        nodes=(node("And", "a b"),),
        inputs={"a": Feed(shape=(5,), dtype="bool"), "b": Feed(shape=(5,), dtype="bool")},
    ),
    Case(
        name="int32-indices-out",
        nodes=(node("Relu", "x", "r"), node("ArgMax", "r", "y", axis=1, keepdims=0)),
        inputs={"x": f32(4, 16)},
    ),
    SMALL_NET,
)
