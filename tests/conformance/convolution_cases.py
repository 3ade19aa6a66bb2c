"""3x3 convolutions of stride 1 as networks have them: odd sizes, edges smaller than a tile, what is fused behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.conformance.cases import Case, Feed, f32, node, scalar

_SIZES = ((1, 7, 7), (1, 13, 15), (1, 56, 56), (1, 1, 1), (2, 2, 9), (5, 5, 4), (1, 28, 28), (3, 8, 8), (1, 6, 6))
"""Batch, height and width."""


def _case(
    name: str,
    channels: tuple[int, int],
    size: tuple[int, int],
    *,
    batch: int = 1,
    bias: bool = True,
    relu: bool = True,
    residual: bool = False,
) -> Case:
    """One convolution of ``x``, with a second one of 1x1 added to it if it is residual."""
    channels_in, channels_out = channels
    nodes: list[onnx.NodeProto] = [node("Conv", "x w b" if bias else "x w", "c", pads=[1, 1, 1, 1])]
    if residual:
        nodes = [node("Conv", "x v", "s"), *nodes, node("Add", "c s", "a")]
    if relu:
        nodes.append(node("Relu", nodes[-1].output[0], "r"))
    nodes[-1].output[0] = "y"
    weights: dict[str, np.ndarray | tuple[int, ...]] = {"w": (channels_out, channels_in, 3, 3)}
    weights |= {"b": (channels_out,)} if bias else {}
    weights |= {"v": (channels_out, channels_in, 1, 1)} if residual else {}
    return Case(name=name, nodes=tuple(nodes), inputs={"x": f32(batch, channels_in, *size)}, weights=weights)


def _cases() -> Iterator[Case]:
    for batch, height, width in _SIZES:
        yield _case(f"conv3x3-{batch}x{height}x{width}", (64, 128), (height, width), batch=batch)
    yield _case("conv3x3-batch", (32, 32), (29, 31), batch=2)
    yield _case("conv3x3-plain", (32, 64), (25, 26), bias=False, relu=False)
    yield _case("conv3x3-residual", (64, 64), (28, 27), residual=True)
    yield _case("conv3x3-residual-without-bias", (64, 32), (15, 14), batch=3, bias=False, residual=True)
    yield _case("conv3x3-residual-without-relu", (32, 64), (25, 30), relu=False, residual=True)
    yield _case("conv3x3-many-channels", (512, 512), (7, 7), bias=False)
    yield Case(
        name="conv3x3-clipped",
        nodes=(node("Conv", "x w b", "c", auto_pad="SAME_UPPER"), node("Clip", "c low high")),
        inputs={"x": f32(1, 32, 26, 26)},
        weights={"w": (32, 32, 3, 3), "b": (32,), "low": scalar(0.0), "high": scalar(0.75)},
    )
    yield Case(
        name="conv3x3-before-a-branch",
        nodes=(
            node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
            node("If", "flag", "y", then_branch=_branch("left"), else_branch=_branch("right")),
        ),
        inputs={"x": f32(1, 32, 8, 16), "flag": Feed(shape=(), dtype="bool")},
        weights={"w": (32, 32, 3, 3), "b": (32,)},
    )
    yield Case(
        name="conv3x3-whose-sum-is-read-again",
        nodes=(
            node("Conv", "x v", "s"),
            node("Conv", "s w b", "c", pads=[1, 1, 1, 1]),
            node("Add", "c s", "a"),
            node("Relu", "a", "r"),
            node("Conv", "r w b", "d", pads=[1, 1, 1, 1]),
            node("Add", "d s", "y"),
        ),
        inputs={"x": f32(1, 32, 27, 28)},
        weights={"v": (32, 32, 1, 1), "w": (32, 32, 3, 3), "b": (32,)},
    )


def _branch(name: str) -> onnx.GraphProto:
    """One side of an ``If``: a product with a large weight of its own."""
    weight = np.random.default_rng(len(name)).standard_normal((16, 32)).astype(np.float32)
    return helper.make_graph(
        [node("MatMul", f"c {name}_w", name)],
        name,
        [],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, f"{name}_w")],
    )


CONVOLUTION_CASES = tuple(_cases())
