"""Convolutions as networks have them: odd sizes, edges smaller than a tile, what is fused behind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.conformance.cases import Case, Feed, f32, i64, node, scalar

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


def _padded_cases() -> Iterator[Case]:
    """Padding of every kind: stated by the convolution, or by a node before it."""
    for pads in ((0, 0, 0, 0), (0, 1, 2, 0), (3, 4, 3, 2)):
        yield Case(
            name=f"conv3x3-padded-{'-'.join(map(str, pads))}",
            nodes=(node("Conv", "x w b", "c", pads=list(pads)), node("Relu", "c", "r"), node("Conv", "r v")),
            inputs={"x": f32(2, 32, 15, 22)},
            weights={"w": (32, 32, 3, 3), "b": (32,), "v": (32, 32, 3, 3)},
        )
    yield Case(
        name="conv3x3-behind-reflection",
        nodes=(node("Pad", "x edges", "p", mode="reflect"), node("Conv", "p w b")),
        inputs={"x": f32(1, 32, 13, 18)},
        weights={"edges": i64(0, 0, 1, 1, 0, 0, 1, 1), "w": (64, 32, 3, 3), "b": (64,)},
    )
    yield Case(
        name="conv3x3-behind-zeros",
        nodes=(
            node("Pad", "x edges - axes", "p"),
            node("Conv", "p w", "c", auto_pad="VALID"),
            node("Conv", "p v", "d", pads=[0, 0, 0, 0]),
            node("Concat", "c d", axis=1),
        ),
        inputs={"x": f32(1, 32, 13, 18)},
        weights={
            "edges": i64(2, 1, 0, 3),
            "axes": i64(-2, 3),
            "w": (64, 32, 3, 3),
            "v": (32, 32, 3, 3),
        },
    )
    yield Case(
        name="conv3x3-in-groups",
        nodes=(node("Conv", "x w b", "c", pads=[1, 1, 1, 1], group=2), node("Relu", "c")),
        inputs={"x": f32(1, 96, 14, 11)},
        weights={"w": (96, 48, 3, 3), "b": (96,)},
    )


def _large_cases() -> Iterator[Case]:
    """Filters of 5x5, in tiles of both sizes, and in groups."""
    for size, groups, pads in (((26, 26), 2, [2, 2, 2, 2]), ((7, 6), 1, [2, 2, 2, 2]), ((19, 30), 1, [0, 1, 3, 0])):
        yield Case(
            name=f"conv5x5-{'x'.join(map(str, size))}",
            nodes=(node("Conv", "x w b", "c", pads=pads, group=groups), node("Relu", "c")),
            inputs={"x": f32(1, 96, *size)},
            weights={"w": (96, 96 // groups, 5, 5), "b": (96,)},
        )


def _volume_cases() -> Iterator[Case]:
    """Convolutions over volumes, and what lies between them."""
    for size in ((1, 1, 1), (3, 7, 6), (8, 16, 12)):
        yield Case(
            name=f"conv3d-{'x'.join(map(str, size))}",
            nodes=(node("Conv", "x w b", "c", pads=[1] * 6), node("Relu", "c")),
            inputs={"x": f32(2, 32, *size)},
            weights={"w": (64, 32, 3, 3, 3), "b": (64,)},
        )
    yield Case(
        name="conv3d-u-shaped",
        nodes=(
            node("Conv", "x u", "a", pads=[1] * 6),
            node("Relu", "a", "b"),
            node("Conv", "b w", "c", pads=[1] * 6),
            node("MaxPool", "c", "d", kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
            node("Conv", "d v", "e", pads=[1] * 6),
            node("Relu", "e", "f"),
            node("ConvTranspose", "f t", "g", strides=[2, 2, 2]),
            node("Concat", "g c", "h", axis=1),
            node("Conv", "h s bias", "i", pads=[0, 1, 1, 2, 1, 1]),
            node("MaxPool", "i", kernel_shape=[3, 3, 3], strides=[2, 1, 2], pads=[1, 1, 1, 1, 1, 1]),
        ),
        inputs={"x": f32(1, 1, 8, 6, 10)},
        weights={
            "u": (32, 1, 3, 3, 3),
            "w": (32, 32, 3, 3, 3),
            "v": (64, 32, 3, 3, 3),
            "t": (64, 32, 2, 2, 2),
            "s": (32, 64, 3, 3, 3),
            "bias": (32,),
        },
    )
    yield Case(
        name="conv3d-residual",
        nodes=(
            node("Conv", "x w", "a", pads=[0, 1, 1, 0, 1, 1]),
            node("Relu", "a", "b"),
            node("Conv", "b v", "c", pads=[1, 1, 1, 1, 1, 1]),
            node("Add", "c a", "d"),
            node("Relu", "d"),
        ),
        inputs={"x": f32(1, 32, 3, 9, 8)},
        weights={"w": (32, 32, 1, 3, 3), "v": (32, 32, 3, 3, 3)},
    )


def _stepping_volume_cases() -> Iterator[Case]:
    """Convolutions over volumes that no transform serves: with steps, of one tap, from few channels."""
    yield Case(
        name="conv3d-with-steps",
        nodes=(
            node("Conv", "x u b", "a", strides=[1, 2, 2], pads=[1, 3, 3, 1, 3, 3]),
            node("Relu", "a", "c"),
            node("Conv", "c v", "d", strides=[2, 2, 2], pads=[1, 1, 1, 1, 1, 1]),
            node("Conv", "c w", "e", strides=[2, 2, 2]),
            node("Add", "d e", "f"),
            node("Relu", "f", "g"),
            node("Conv", "g t", "h", dilations=[1, 2, 2], pads=[0, 2, 2, 0, 2, 2]),
            node("Add", "h g", "i"),
            node("ConvTranspose", "i s b", strides=[1, 2, 3], pads=[0, 1, 0, 0, 0, 1], output_padding=[0, 0, 1]),
        ),
        inputs={"x": f32(2, 3, 6, 19, 23)},
        weights={
            "u": (32, 3, 3, 7, 7),
            "b": (32,),
            "v": (64, 32, 3, 3, 3),
            "w": (64, 32, 1, 1, 1),
            "t": (64, 64, 1, 3, 3),
            "s": (64, 32, 2, 3, 4),
        },
    )
    yield Case(
        name="conv3d-of-5x5",
        nodes=(node("Conv", "x w b", "c", pads=[1, 2, 2, 1, 2, 2]), node("Relu", "c")),
        inputs={"x": f32(1, 32, 5, 12, 9)},
        weights={"w": (32, 32, 3, 5, 5), "b": (32,)},
    )


def _signal_cases() -> Iterator[Case]:
    """Convolutions over signals, as networks for speech have them."""
    yield Case(
        name="conv1d-residual",
        nodes=(
            node("Conv", "x u b", "a", pads=[3, 3]),
            node("LeakyRelu", "a", "c", alpha=0.1),
            node("Conv", "c v b", "d", pads=[15, 15], dilations=[3]),
            node("LeakyRelu", "d", "e", alpha=0.2),
            node("Conv", "e v b", "f", auto_pad="SAME_UPPER"),
            node("Add", "f a", "g"),
            node("ConvTranspose", "g t b", "h", strides=[8], pads=[4, 4]),
            node("Conv", "h v", "i", strides=[2], pads=[1, 0]),
            node("Tanh", "i"),
        ),
        inputs={"x": f32(2, 32, 40)},
        weights={"u": (32, 32, 7), "v": (32, 32, 11), "t": (32, 32, 16), "b": (32,)},
    )
    yield Case(
        name="conv1d-of-a-wave",
        nodes=(
            node("Conv", "x u", "a", strides=[5]),
            node("Relu", "a", "b"),
            node("Conv", "b v", "c", strides=[2]),
            node("Transpose", "c", perm=[0, 2, 1]),
        ),
        inputs={"x": f32(1, 1, 323)},
        weights={"u": (32, 1, 10), "v": (48, 32, 3)},
    )


def _narrow_group_cases() -> Iterator[Case]:
    """Groups of which several are in a block, as ResNeXt has them."""
    for width, step in ((4, 1), (4, 2), (2, 1), (8, 2)):
        yield Case(
            name=f"conv3x3-in-groups-of-{width}-by-{step}",
            nodes=(
                node("Conv", "x u", "a"),
                node("Relu", "a", "b"),
                node("Conv", "b w t", "c", pads=[1, 1, 1, 1], group=64 // width, strides=[step, step]),
                node("Relu", "c", "d"),
                node("Conv", "d v"),
            ),
            inputs={"x": f32(2, 32, 15, 18)},
            weights={"u": (64, 32, 1, 1), "w": (64, width, 3, 3), "t": (64,), "v": (32, 64, 1, 1)},
        )


def _expanded_cases() -> Iterator[Case]:
    """Blocks of mobile networks: a 1x1 convolution, a depthwise one, and an activation behind each."""
    held = {"min": "low", "max": "high"}
    for name, step, size in (("by-1", 1, (14, 15)), ("by-2", 2, (15, 14)), ("small", 1, (1, 2))):
        for kind in ("held", "swish"):
            nodes = [node("Conv", "x u b", "a")]
            if kind == "held":
                nodes += [node("Clip", f"a {held['min']} {held['max']}", "c")]
            else:
                nodes += [node("Sigmoid", "a", "s"), node("Mul", "a s", "c")]
            nodes += [node("Conv", "c w t", "d", pads=[1, 1, 1, 1], strides=[step, step], group=48)]
            if kind == "held":
                nodes += [node("Relu", "d", "e")]
            else:
                nodes += [node("Sigmoid", "d", "g"), node("Mul", "g d", "e")]
            nodes += [node("Conv", "e v")]
            limits = {"low": scalar(0.0), "high": scalar(1.5)} if kind == "held" else {}
            yield Case(
                name=f"conv-depthwise-behind-1x1-{kind}-{name}",
                nodes=tuple(nodes),
                inputs={"x": f32(2, 32, *size)},
                weights={
                    "u": (48, 32, 1, 1),
                    "b": (48,),
                    "w": (48, 1, 3, 3),
                    "t": (48,),
                    "v": (32, 48, 1, 1),
                    **limits,
                },
            )
    yield Case(
        name="conv-depthwise-behind-1x1-read-twice",
        nodes=(
            node("Conv", "x u", "a"),
            node("Relu", "a", "c"),
            node("Conv", "c w", "d", pads=[0, 1, 2, 0], group=32),
            node("Conv", "d u", "e"),
            node("Conv", "e w", "f", pads=[1, 1, 1, 1], group=32),
            node("MaxPool", "c", "g", kernel_shape=[2, 2], pads=[0, 0, 1, 0]),
            node("Concat", "f g", axis=1),
        ),
        inputs={"x": f32(1, 32, 9, 10)},
        weights={"u": (32, 32, 1, 1), "w": (32, 1, 3, 3)},
    )


def _spread_cases() -> Iterator[Case]:
    """Pictures that become larger between two convolutions."""
    transposed = {
        "2-by-2": ({"strides": [2, 2]}, (2, 2)),
        "4-by-2": ({"strides": [2, 2], "pads": [1, 1, 1, 1]}, (4, 4)),
        "3-by-2": ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, (3, 3)),
        "2-by-3": ({"strides": [3, 1], "dilations": [1, 2]}, (2, 3)),
    }
    for name, (attributes, taps) in transposed.items():
        yield Case(
            name=f"conv-transposed-{name}",
            nodes=(
                node("Conv", "x u", "a", pads=[1, 1, 1, 1]),
                node("ConvTranspose", "a t b", "c", **attributes),
                node("Relu", "c", "d"),
                node("Conv", "d v", pads=[1, 1, 1, 1]),
            ),
            inputs={"x": f32(2, 32, 7, 9)},
            weights={"u": (32, 32, 3, 3), "t": (32, 48, *taps), "b": (48,), "v": (32, 48, 3, 3)},
        )
    for mode in ("DCR", "CRD"):
        yield Case(
            name=f"conv3x3-around-channels-that-become-pixels-{mode.lower()}",
            nodes=(
                node("Conv", "x u b", "a", pads=[1, 1, 1, 1]),
                node("DepthToSpace", "a", "c", blocksize=2, mode=mode),
                node("PRelu", "c slope", "d"),
                node("Conv", "d v", "e", pads=[1, 1, 1, 1]),
                node("Sigmoid", "e"),
            ),
            inputs={"x": f32(2, 32, 9, 10)},
            weights={"u": (128, 32, 3, 3), "b": (128,), "slope": scalar(0.3), "v": (3, 32, 3, 3)},
        )


def _resized_cases() -> Iterator[Case]:
    """Pictures that are resized by cubic interpolation before the first convolution."""
    for name, sizes, attributes in (
        ("larger", (27, 20), {}),
        ("smaller", (4, 5), {"coordinate_transformation_mode": "pytorch_half_pixel", "cubic_coeff_a": -0.5}),
        ("corners", (13, 1), {"coordinate_transformation_mode": "align_corners", "exclude_outside": 1}),
    ):
        yield Case(
            name=f"conv3x3-behind-a-picture-{name}",
            nodes=(
                node("Resize", "x - - sizes", "r", mode="cubic", **attributes),
                node("Conv", "r u", "c", pads=[1, 1, 1, 1]),
                node("Conv", "c v", pads=[1, 1, 1, 1]),
            ),
            inputs={"x": f32(2, 3, 9, 10)},
            weights={"sizes": i64(2, 3, *sizes), "u": (32, 3, 3, 3), "v": (32, 32, 3, 3)},
        )
    yield Case(
        name="conv3x3-behind-a-picture-by-scales",
        nodes=(
            node("Resize", "x - scales", "r", mode="cubic", coordinate_transformation_mode="asymmetric"),
            node("Conv", "r u", "c", pads=[1, 1, 1, 1]),
            node("Conv", "c v", pads=[1, 1, 1, 1]),
        ),
        inputs={"x": f32(1, 3, 9, 10)},
        weights={"scales": np.array([1, 1, 1.5, 2.5], np.float32), "u": (32, 3, 3, 3), "v": (32, 32, 3, 3)},
    )


def _few_output_cases() -> Iterator[Case]:
    """Convolutions to the colours of a picture, or to one map."""
    for channels, taps, pads in ((3, (9, 9), [4, 4, 4, 4]), (1, (3, 3), [0, 0, 0, 0]), (4, (1, 5), [0, 1, 0, 3])):
        yield Case(
            name=f"conv-to-{channels}-channels",
            nodes=(node("Conv", "x w b", "c", pads=pads), node("Relu", "c")),
            inputs={"x": f32(2, 32, 17, 21)},
            weights={"w": (channels, 32, *taps), "b": (channels,)},
        )
    yield Case(
        name="conv-to-colours-behind-a-block",
        nodes=(
            node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
            node("Relu", "c", "r"),
            node("Conv", "r v", "p"),
            node("Tanh", "p"),
        ),
        inputs={"x": f32(1, 32, 14, 13)},
        weights={"w": (32, 32, 3, 3), "v": (3, 32, 3, 3)},
    )


def _pointwise_cases() -> Iterator[Case]:
    """Convolutions of 1x1, with and without what is fused behind them."""
    for size, batch in (((7, 7), 1), ((1, 1), 3), ((29, 30), 2)):
        yield Case(
            name=f"conv1x1-{'x'.join(map(str, size))}",
            nodes=(
                node("Conv", "x w b", "c"),
                node("Relu", "c", "r"),
                node("Conv", "r v", "d"),
                node("Add", "d c", "a"),
                node("Relu", "a"),
            ),
            inputs={"x": f32(batch, 32, *size)},
            weights={"w": (96, 32, 1, 1), "b": (96,), "v": (96, 96, 1, 1)},
        )


def _normalised_cases() -> Iterator[Case]:
    """Convolutions of 1x1 behind normalisation, as dense networks have them."""
    for name, inputs, size in (("", "d v", (9, 11)), ("-and-bias", "d v u", (30, 40))):
        yield Case(
            name=f"conv1x1-behind-normalisation{name}",
            nodes=(
                node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
                node("Concat", "x c", "j", axis=1),
                node("BatchNormalization", "j s t mean spread", "n"),
                node("Mul", "n slopes", "m"),
                node("Add", "m shifts", "a"),
                node("Relu", "a", "d"),
                node("Conv", inputs, "e"),
                node("Relu", "e"),
            ),
            inputs={"x": f32(2, 32, *size)},
            weights={
                "w": (32, 32, 3, 3),
                "s": (64,),
                "t": (64,),
                "mean": (64,),
                "spread": np.linspace(0.5, 2, 64, dtype=np.float32),
                "slopes": (64, 1, 1),
                "shifts": (64, 1, 1),
                "v": (96, 64, 1, 1),
                **({"u": (96,)} if name else {}),
            },
        )


def _between_cases() -> Iterator[Case]:
    """What stands between two convolutions, and is computed in their layout or takes the values out of it."""
    resize = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    between = {
        "lrn": (node("LRN", "c", "d", size=5, alpha=0.1, beta=0.75, bias=2.0),),
        "lrn-of-another-power": (node("LRN", "c", "d", size=3, alpha=0.5, beta=0.6, bias=1.0),),
        "instance-normalisation": (
            node("InstanceNormalization", "c s t", "n"),
            node("Relu", "n", "r"),
            node("Pad", "r edges", "d", mode="reflect"),
        ),
        "a-shortcut": (
            node("InstanceNormalization", "c s t", "n", epsilon=1e-3),
            node("Add", "n c", "a"),
            node("Mul", "a a", "d"),
        ),
        "repeated-pixels": (node("Resize", "c - twice", "r", **resize), node("Pad", "r edges", "d", mode="edge")),
        "a-limit": (node("Pad", "c edges value", "p"), node("HardSigmoid", "p", "d")),
        "slopes": (node("PRelu", "c slopes", "d"),),
        "one-slope": (node("PRelu", "c slope", "d"),),
        "an-exponential": (node("Elu", "c", "d", alpha=1.5),),
        "normalisation": (
            node("BatchNormalization", "c s t mean spread", "n"),
            node("Mul", "n slopes", "m"),
            node("Add", "m shifts", "a"),
            node("Relu", "a", "d"),
        ),
        "normalisation-read-twice": (
            node("Relu", "c", "q"),
            node("BatchNormalization", "q s t mean spread", "n"),
            node("Relu", "n", "r"),
            node("ReduceMean", "r axes", "m"),
            node("Mul", "r m", "o"),
            node("Add", "o n", "d"),
        ),
        "squeeze-and-excite": (
            node("Sigmoid", "c", "g"),
            node("Mul", "c g", "a"),
            node("GlobalAveragePool", "a", "m"),
            node("Conv", "m squeeze", "q"),
            node("Relu", "q", "r"),
            node("Conv", "r excite", "f"),
            node("Sigmoid", "f", "h"),
            node("Mul", "h a", "d"),
        ),
    }
    for name, nodes in between.items():
        used = {each for one in nodes for each in one.input}
        weights: dict[str, np.ndarray | tuple[int, ...]] = {
            "s": (32,),
            "t": (32,),
            "edges": i64(0, 0, 1, 2, 0, 0, 3, 1),
            "twice": np.array([1, 1, 2, 3], np.float32),
            "value": scalar(0.5),
            "slopes": (32, 1, 1),
            "slope": np.array([[[0.2]]], np.float32),
            "shifts": (32, 1, 1),
            "mean": (32,),
            "spread": np.linspace(0.5, 2, 32, dtype=np.float32),
            "axes": i64(-1, 2),
            "squeeze": (8, 32, 1, 1),
            "excite": (32, 8, 1, 1),
        }
        yield Case(
            name=f"conv3x3-around-{name}",
            nodes=(
                node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
                *nodes,
                node("Conv", "d v", pads=[1, 1, 1, 1]),
            ),
            inputs={"x": f32(2, 32, 13, 18)},
            weights={each: weights[each] for each in weights if each in used}
            | {"w": (32, 32, 3, 3), "b": (32,), "v": (32, 32, 3, 3)},
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


CONVOLUTION_CASES = (
    *_cases(),
    *_padded_cases(),
    *_large_cases(),
    *_volume_cases(),
    *_stepping_volume_cases(),
    *_signal_cases(),
    *_narrow_group_cases(),
    *_expanded_cases(),
    *_spread_cases(),
    *_resized_cases(),
    *_few_output_cases(),
    *_pointwise_cases(),
    *_normalised_cases(),
    *_between_cases(),
)
