"""Networks whose sizes are open: attention, convolutions, recurrence, and arithmetic over shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod, sqrt
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
WIDTH = 32
HEADS = 4
WORDS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCase:
    """A network and the sizes that its open dimensions may have.

    Attributes:
        name: Unique.
        model: The ONNX file.
        ranges: The least and the largest size of each open dimension.
        inputs: The dimensions of each input, open ones by name; integers are below `WORDS`, those of a mask 0 or 1.
    """

    name: str
    model: bytes
    ranges: Mapping[str, tuple[int, int]]
    inputs: Mapping[str, tuple[int, Sequence[int | str]]]

    @property
    def shapes(self) -> dict[str, str]:
        """As `compile` takes them."""
        return {name: f"{low}..{high}" for name, (low, high) in self.ranges.items()}

    def feeds(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Inputs of these sizes."""
        return {name: _drawn(rng, name, *kind, sizes) for name, kind in self.inputs.items()}

    def order(self, rng: np.random.Generator, count: int) -> list[dict[str, int]]:
        """Sizes in an order that goes up and down, with the least, the next one and the largest among them."""
        return [
            {
                name: int(rng.choice([low, low, min(low + 1, high), high, *rng.integers(low, high + 1, 3)]))
                for name, (low, high) in self.ranges.items()
            }
            for _ in range(count)
        ]


def _drawn(
    rng: np.random.Generator, name: str, kind: int, dims: Sequence[int | str], sizes: Mapping[str, int]
) -> np.ndarray:
    shape = [sizes[dim] if isinstance(dim, str) else dim for dim in dims]
    if kind == INT:
        drawn = rng.integers(0, 2 if name == "mask" else WORDS, shape)
        drawn[:, 0] = 1  # a mask that hides everything has no right answer
        return drawn
    return rng.standard_normal(shape).astype(np.float32)


class _Drawing:
    """A network in the making, with seeded weights."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def constant(self, content: Any) -> str:
        name = f"c{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(content), name))
        return name

    def ints(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def weight(self, *shape: int) -> str:
        scale = sqrt(prod(shape[1:]) if len(shape) > 2 else shape[0])
        return self.constant((self._rng.standard_normal(shape) / scale).astype(np.float32))

    def node(self, op_type: str, *reads: str, **attributes: Any) -> str:
        name = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(op_type, reads, [name], name, **attributes))
        return name

    def size(self, x: str, axis: int) -> str:
        return self.node("Gather", self.node("Shape", x), self.ints(axis))

    def norm(self, x: str) -> str:
        return self.node("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), axis=-1)

    def attention(self, queries: str, keys: str, mask: str | None = None) -> str:
        split, order = self.ints(0, 0, HEADS, WIDTH // HEADS), [0, 2, 1, 3]

        def heads(x: str, perm: Sequence[int]) -> str:
            wide = self.node("Add", self.node("MatMul", x, self.weight(WIDTH, WIDTH)), self.weight(WIDTH))
            return self.node("Transpose", self.node("Reshape", wide, split), perm=perm)

        scores = self.node("MatMul", heads(queries, order), heads(keys, [0, 2, 3, 1]))
        scores = self.node("Mul", scores, self.constant(np.float32(sqrt(HEADS / WIDTH))))
        scores = self.node("Add", scores, mask) if mask else scores
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), heads(keys, order))
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=order), self.ints(0, 0, WIDTH))
        return self.node("MatMul", joined, self.weight(WIDTH, WIDTH))

    def block(self, x: str, keys: str | None = None, mask: str | None = None) -> str:
        """Attention and a feed-forward part, each added to what it reads."""
        x = self.norm(self.node("Add", x, self.attention(x, keys or x, mask)))
        inner = self.node("Add", self.node("MatMul", x, self.weight(WIDTH, 2 * WIDTH)), self.weight(2 * WIDTH))
        inner = self.node("MatMul", self.node("Gelu", inner), self.weight(2 * WIDTH, WIDTH))
        return self.norm(self.node("Add", x, inner))

    def case(
        self,
        name: str,
        outputs: Sequence[str],
        inputs: Mapping[str, tuple[int, Sequence[int | str]]],
        **ranges: tuple[int, int],
    ) -> SizeCase:
        takes = [helper.make_tensor_value_info(each, kind, dims) for each, (kind, dims) in inputs.items()]
        gives = [helper.make_tensor_value_info(each, FLOAT, None) for each in outputs]
        graph = helper.make_graph(self._nodes, name, takes, gives, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        return SizeCase(name=name, model=model.SerializeToString(), ranges=ranges, inputs=inputs)


def _encoder() -> SizeCase:
    """Words with positions and a mask, as exporters write a text encoder."""
    net = _Drawing()
    words = net.node("Gather", net.weight(WORDS, WIDTH), "ids")
    places = net.node("Slice", net.weight(1, 256, WIDTH), net.ints(0), net.size("ids", 1), net.ints(1))
    hidden = net.node("Cast", net.node("Unsqueeze", "mask", net.ints(1, 2)), to=FLOAT)
    hidden = net.node("Mul", net.node("Sub", net.constant(np.float32(1)), hidden), net.constant(np.float32(-1e4)))
    x = net.norm(net.node("Add", words, places))
    for _ in range(2):
        x = net.block(x, mask=hidden)
    first = net.node("Gather", x, net.constant(np.int64(0)), axis=1)
    pooled = net.node("Tanh", net.node("MatMul", first, net.weight(WIDTH, WIDTH)))
    dims = ("batch", "seq")
    return net.case("encoder", [x, pooled], {"ids": (INT, dims), "mask": (INT, dims)}, batch=(1, 4), seq=(1, 200))


def _translator() -> SizeCase:
    """Two sequences of different lengths, one of which attends to the other."""
    net = _Drawing()
    x = net.block(net.block("x"), keys="memory")
    inputs = {"x": (FLOAT, ("batch", "target", WIDTH)), "memory": (FLOAT, ("batch", "source", WIDTH))}
    return net.case("translator", [x], inputs, batch=(1, 3), target=(1, 70), source=(1, 90))


def _decoder() -> SizeCase:
    """A causal mask, made for the length of the input."""
    net = _Drawing()
    length = net.size("x", 1)
    square = net.node("Expand", net.constant(np.float32(1)), net.node("Concat", length, length, axis=0))
    seen = net.node("Cast", net.node("Trilu", square, upper=0), to=TensorProto.BOOL)
    mask = net.node("Where", seen, net.constant(np.float32(0)), net.constant(np.float32(-1e9)))
    x = net.block(net.block("x", mask=mask), mask=mask)
    return net.case("decoder", [x], {"x": (FLOAT, (1, "seq", WIDTH))}, seq=(1, 150))


def _patches() -> SizeCase:
    """An image of any size cut into patches, with a token in front of them."""
    net = _Drawing()
    cut = net.node("Conv", "x", net.weight(WIDTH, 3, 4, 4), strides=[4, 4])
    tokens = net.node("Transpose", net.node("Reshape", cut, net.ints(0, WIDTH, -1)), perm=[0, 2, 1])
    shape = net.node("Concat", net.size(cut, 0), net.ints(1, WIDTH), axis=0)
    x = net.node("Concat", net.node("Expand", net.weight(1, 1, WIDTH), shape), tokens, axis=1)
    x = net.node("Gather", net.block(net.block(x)), net.constant(np.int64(0)), axis=1)
    return net.case("patches", [x], {"x": (FLOAT, ("n", 3, "h", "w"))}, n=(1, 3), h=(4, 48), w=(4, 48))


def _images() -> SizeCase:
    """Convolutions, dense and per channel, pools, a squeeze of the channels, an enlarged image and a class."""
    net = _Drawing()
    x, channels = "x", 3
    for wide, stride in ((16, 1), (WIDTH, 2), (WIDTH, 1)):
        kernel = net.weight(wide, channels, 3, 3)
        x = net.node("Relu", net.node("Conv", x, kernel, net.weight(wide), strides=[stride] * 2, pads=[1] * 4))
        channels = wide
    light = net.node("Conv", x, net.weight(WIDTH, 1, 3, 3), pads=[1] * 4, group=WIDTH)
    x = net.node("MaxPool", net.node("Add", x, net.node("HardSwish", light)), kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    gate = net.node("Conv", net.node("GlobalAveragePool", x), net.weight(WIDTH, WIDTH, 1, 1))
    x = net.node("Mul", x, net.node("Sigmoid", gate))
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))
    large = net.node("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    flat = net.node("Flatten", net.node("GlobalAveragePool", x))
    classes = net.node("Gemm", flat, net.weight(WIDTH, 10))
    inputs = {"x": (FLOAT, ("n", 3, "h", "w"))}
    return net.case("images", [large, classes], inputs, n=(1, 4), h=(1, 40), w=(1, 40))


def _skip() -> SizeCase:
    """A small image enlarged to the size of another and put beside it."""
    net = _Drawing()
    whole = net.node("Relu", net.node("Conv", "x", net.weight(8, 3, 3, 3), pads=[1] * 4))
    half = net.node("Relu", net.node("Conv", whole, net.weight(16, 8, 3, 3), strides=[2, 2], pads=[1] * 4))
    sides = net.node("Slice", net.node("Shape", whole), net.ints(2), net.ints(4))
    front = net.node("Slice", net.node("Shape", half), net.ints(0), net.ints(2))
    sizes = net.node("Concat", front, sides, axis=0)
    modes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    large = net.node("Resize", half, "", "", sizes, mode="nearest", **modes)
    y = net.node("Conv", net.node("Concat", large, whole, axis=1), net.weight(3, 24, 3, 3), pads=[1] * 4)
    y = net.node("InstanceNormalization", y, net.weight(3), net.weight(3))
    return net.case("skip", [y], {"x": (FLOAT, (1, 3, "h", "w"))}, h=(2, 40), w=(2, 40))


def _recurrent(op_type: str, gates: int, is_both: bool) -> SizeCase:
    """Two recurrent layers over an open time, in an open batch."""
    net = _Drawing()
    ways, hidden, x, width = 2 if is_both else 1, 16, "x", 24
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if is_both else "forward"}
    if op_type == "GRU":
        attributes["linear_before_reset"] = 1
    for _ in range(2):
        weights = [net.weight(ways, gates * hidden, columns) for columns in (width, hidden)]
        y = net.node(op_type, x, *weights, net.weight(ways, 2 * gates * hidden), **attributes)
        width = ways * hidden
        x = net.node("Reshape", net.node("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, 0, width))
    inputs = {"x": (FLOAT, ("t", "n", 24))}
    return net.case(op_type, [net.node("MatMul", x, net.weight(width, 8))], inputs, t=(1, 60), n=(1, 4))


def _arithmetic() -> SizeCase:
    """Half of a length, products of sizes, tiles and running sums."""
    net = _Drawing()
    count, length = net.size("x", 0), net.size("x", 1)
    half = net.node("Div", net.node("Add", length, net.ints(1)), net.ints(2))
    front = net.node("Slice", "x", net.ints(0), half, net.ints(1))
    rows = net.node("Concat", net.node("Mul", count, half), net.ints(-1), axis=0)
    y = net.node("Relu", net.node("MatMul", net.node("Reshape", front, rows), net.weight(12, 12)))
    y = net.node("Reshape", y, net.node("Concat", count, half, net.ints(12), axis=0))
    y = net.node("Slice", net.node("Tile", y, net.ints(1, 2, 1)), net.ints(0), length, net.ints(1))
    y = net.node("Add", y, "x")
    shares = net.node("Softmax", net.node("ReduceMean", y, net.ints(2), keepdims=0), axis=1)
    sums = net.node("CumSum", shares, net.constant(np.int64(1)))
    both = net.node("Concat", sums, shares, axis=1)
    return net.case("arithmetic", [y, both], {"x": (FLOAT, ("n", "l", 12))}, n=(1, 5), l=(1, 80))


def _windows() -> SizeCase:
    """A length padded to a multiple of four inside the model, as attention in windows does."""
    net = _Drawing()
    length, four = net.size("x", 1), net.ints(4)
    missing = net.node("Mod", net.node("Sub", four, net.node("Mod", length, four)), four)
    padded = net.node("Pad", "x", net.node("Concat", net.ints(0, 0, 0, 0), missing, net.ints(0), axis=0))
    y = net.node("Tanh", net.node("MatMul", net.node("Reshape", padded, net.ints(0, -1, 32)), net.weight(32, 32)))
    y = net.node("Slice", net.node("Reshape", y, net.ints(0, -1, 8)), net.ints(0), length, net.ints(1))
    steps = net.node("Range", *(net.constant(np.int64(0)), net.node("Squeeze", length), net.constant(np.int64(1))))
    wave = net.node("Unsqueeze", net.node("Sin", net.node("Cast", steps, to=FLOAT)), net.ints(1))
    return net.case("windows", [net.node("Add", y, wave)], {"x": (FLOAT, ("n", "l", 8))}, n=(1, 3), l=(1, 70))


def _pairs() -> SizeCase:
    """Every row of one input with every row of another: dimensions of 1 that are broadcast beside open ones."""
    net = _Drawing()
    each = net.node("Mul", net.node("Unsqueeze", "x", net.ints(2)), net.node("Unsqueeze", "y", net.ints(1)))
    gate = net.node("Sigmoid", net.node("Sub", each, net.node("ReduceMax", each, net.ints(1))))
    gate = net.node("Exp", net.node("Neg", net.node("Abs", gate)))
    z = net.node("Add", net.node("Mul", gate, each), net.node("ReduceSum", each, net.ints(2)))
    inputs = {"x": (FLOAT, ("n", "p", 8)), "y": (FLOAT, ("n", "q", 8))}
    return net.case("pairs", [z], inputs, n=(1, 3), p=(1, 40), q=(1, 40))


def _sound() -> SizeCase:
    """Convolutions over time that leave a quarter of it, attention over that, and the way back."""
    net = _Drawing()
    x, channels = "x", 4
    for _ in range(2):
        kernel = net.weight(WIDTH, channels, 3)
        x = net.node("Relu", net.node("Conv", x, kernel, net.weight(WIDTH), pads=[1, 1], strides=[2]))
        channels = WIDTH
    x = net.node("Transpose", net.block(net.node("Transpose", x, perm=[0, 2, 1])), perm=[0, 2, 1])
    y = net.node("ConvTranspose", x, net.weight(WIDTH, 4, 4), strides=[2], pads=[1, 1])
    return net.case("sound", [y], {"x": (FLOAT, ("n", 4, "t"))}, n=(1, 3), t=(1, 300))


_BUILDERS: tuple[Callable[[], SizeCase], ...] = (
    _encoder,
    _translator,
    _decoder,
    _patches,
    _images,
    _skip,
    partial(_recurrent, "GRU", 3, True),
    partial(_recurrent, "LSTM", 4, True),
    partial(_recurrent, "RNN", 1, False),
    _arithmetic,
    _windows,
    _pairs,
    _sound,
)
SIZE_CASES = tuple(build() for build in _BUILDERS)
