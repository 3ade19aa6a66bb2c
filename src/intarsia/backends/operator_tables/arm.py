"""Operators of Arm's engines: the Compute Library, and the Ethos-N processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.node_facts import refused, words
from intarsia.backends.operator_tables.limits import (
    axes_of,
    axis_at,
    flat_weight,
    inside,
    is_depthwise,
    kernel,
    pads,
    per_channel_operand,
    plain_or_depthwise,
    result_of,
    same_shapes,
    shape_of,
    steps,
    two_inputs,
    undilated,
    window_of,
)
from intarsia.backends.operator_tables.sources import tvm
from intarsia.backends.operator_tables.table import ALL, OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_SUPPORTED = (
    "https://github.com/ARM-software/ethos-n-driver-stack/blob/0b16cad412b165a75a8bee774344c1981964c0c1/SUPPORTED.md"
)
_BOTH = words("float32 uint8")
_FLOAT = words("float32")
_IMAGE = frozenset({4})


def arm_acl(target: Target) -> OperatorTable:
    """What TVM gives the Arm Compute Library; concatenation is off there by default."""
    window = Row(dtypes=_BOTH, ranks=_IMAGE, limits=(undilated,))
    layer = Row(dtypes=_BOTH, constant=(1, 2), limits=(flat_weight,))
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("arm_compute_lib", "4603c1289a406d5b787dc1ee6807ccc199c5b1d0"),
        rows={
            "Conv": Row(
                dtypes=_BOTH, ranks=_IMAGE, batch=1, constant=(1, 2), limits=(plain_or_depthwise, _small_depth)
            ),
            "QLinearConv": Row(
                dtypes=words("uint8"), ranks=_IMAGE, batch=1, constant=(3, 8), limits=(plain_or_depthwise, _small_depth)
            ),
            "Gemm": layer,
            "MatMul": layer,
            "MaxPool": window,
            "AveragePool": window,
            "GlobalMaxPool": Row(dtypes=_BOTH, ranks=_IMAGE),
            "GlobalAveragePool": Row(dtypes=_BOTH, ranks=_IMAGE),
            "Relu": Row(dtypes=_BOTH, fused_into=words("Conv QLinearConv")),
            "Reshape": Row(dtypes=_BOTH),
            "Flatten": Row(dtypes=_BOTH),
            "Max": Row(dtypes=_FLOAT, data=2, limits=(two_inputs,)),
            "Add": Row(dtypes=_BOTH, data=2),
        },
    )


def _small_depth(node: Node, graph: Graph) -> str | None:
    if not is_depthwise(node, graph):
        return None
    fits = kernel(node, graph) in ((3, 3), (5, 5)) and steps(node, graph) in ((1, 1), (2, 2))
    return None if fits else "takes a group for each channel only with windows of 3x3 or 5x5 and strides of 1 or 2"


def ethos_n(target: Target) -> OperatorTable:
    """What Arm's driver stack says the processors run: integers only, one sample.

    Unless ``inline_non_compute_intensive_partitions`` is off, regions without arithmetic are left to others.
    """
    integer = words("int8 uint8")
    image: dict[str, Any] = {"dtypes": integer, "ranks": _IMAGE, "batch": 1}
    any_shape: dict[str, Any] = {"dtypes": integer, "ranks": frozenset({1, 2, 3, 4}), "batch": 1}
    window = (plain_or_depthwise, undilated, inside, _ethos_window, _same_or_valid)
    arithmetic = words(
        "Conv ConvTranspose QLinearConv Gemm MatMul Add AveragePool GlobalAveragePool MaxPool Sigmoid ReduceMean",
        "Resize DepthToSpace",
    )
    return OperatorTable(
        engine=target.kind.name,
        source=f"Arm Ethos-N Driver Stack at 0b16cad412, SUPPORTED.md, {_SUPPORTED}; tanh, and regions without "
        "arithmetic: " + tvm("ethosn", "035cee65f6993a8e6d0905d2cf527b168bfc26ed"),
        substance=arithmetic if target["inline_non_compute_intensive_partitions"] else frozenset(),
        rows={
            "Conv": Row(**image, constant=(1, 2), limits=window),
            "QLinearConv": Row(**image, constant=(3, 8), limits=window),
            "ConvTranspose": Row(**image, constant=(1, 2), limits=(undilated, _ethos_window)),
            "Gemm": Row(**any_shape, constant=(1, 2), limits=(flat_weight,)),
            "MatMul": Row(**any_shape, constant=(1,), limits=(flat_weight,)),
            "Add": Row(**any_shape, data=2, limits=(_equal_or_per_channel,)),
            "Mul": Row(**any_shape, limits=(_per_channel,)),
            "Relu": Row(**any_shape),
            "Clip": Row(**any_shape),
            "LeakyRelu": Row(**any_shape, limits=(_leaky,)),
            "Sigmoid": Row(**any_shape),
            "Tanh": Row(**any_shape),
            "AveragePool": Row(**image, limits=(_average,)),
            "GlobalAveragePool": Row(**image, limits=(_whole_image,)),
            "ReduceMean": Row(**image, limits=(_image_mean, _whole_image)),
            "MaxPool": Row(**image, limits=(undilated, _ethos_max)),
            "Reshape": Row(**any_shape),
            "Flatten": Row(**any_shape),
            "DepthToSpace": Row(**image, attributes={"blocksize": (2,), "mode": (None, "DCR", b"DCR")}),
            "SpaceToDepth": Row(**image),
            "Transpose": Row(**any_shape, limits=(_keeps_samples,)),
            "Resize": Row(**image, limits=(_doubled,)),
            "Concat": Row(**any_shape, data=ALL, limits=(_sixteen_inputs,)),
            "Split": Row(**any_shape, limits=(_sixteen,)),
        },
    )


_equal_or_per_channel = refused(
    "adds values of one shape, or a constant for each channel",
    lambda node, graph: same_shapes(node, graph) is not None and not per_channel_operand(node, graph),
)
_per_channel = refused(
    "multiplies by a constant for each channel", lambda node, graph: not per_channel_operand(node, graph)
)
_leaky = refused("takes slopes between 0 and 1", lambda node, graph: not 0 < node.attributes.get("alpha", 0.01) < 1)
_keeps_samples = refused("keeps the samples in front", lambda node, graph: (node.attributes.get("perm") or [1])[0] != 0)
_image_mean = refused("averages height and width", lambda node, graph: axes_of(node, graph) != (2, 3))
_whole_image = refused(
    "averages images of 7x7 or 8x8", lambda node, graph: shape_of(node, graph)[2:] not in ((7, 7), (8, 8))
)


def _ethos_window(node: Node, graph: Graph) -> str | None:
    limit = window_of((1, 2, 3, 5, 7, 9), (1, 2))(node, graph)
    if limit is None and len(set(steps(node, graph))) != 1:
        return "takes one stride for both axes"
    if limit is None and max(kernel(node, graph)) > 7 and max(steps(node, graph)) > 1:
        return "takes a window of 9 only with a stride of 1"
    return limit


def _same_or_valid(node: Node, graph: Graph) -> str | None:
    before, behind = pads(node, graph)
    if not any((*before, *behind)):
        return None
    read, given = shape_of(node, graph)[2:], result_of(node, graph)[2:]
    fits = all(-(-size // step) == out for size, step, out in zip(read, steps(node, graph), given, strict=False))
    fits &= all(abs(first - last) <= 1 for first, last in zip(before, behind, strict=True))
    return None if fits else "takes no padding, or as much as keeps the size"


def _average(node: Node, graph: Graph) -> str | None:
    window, size = kernel(node, graph), shape_of(node, graph)[2:]
    before, behind = pads(node, graph)
    if window == size and window in ((7, 7), (8, 8)) and not any((*before, *behind)):
        return None
    fits = window == (3, 3) and steps(node, graph) == (1, 1) and {*before, *behind} == {1}
    fits &= size[0] * size[1] <= 61_440
    return None if fits else "takes windows of 3x3 that keep the size, or one of 7x7 or 8x8 over the whole image"


def _ethos_max(node: Node, graph: Graph) -> str | None:
    window, size = kernel(node, graph), shape_of(node, graph)[2:]
    padded = any((*pads(node, graph)[0], *pads(node, graph)[1]))
    fits = window in ((2, 2), (3, 3)) and steps(node, graph) == (2, 2)
    fits &= all(each % 2 == (1 if padded else 0) for each in size)
    fits &= window == (2, 2) or size[1] <= 417
    return None if fits else "takes windows of 2x2 or 3x3 at strides of 2, on even sizes, or padded on odd ones"


def _doubled(node: Node, graph: Graph) -> str | None:
    if node.attributes.get("mode", "nearest") not in ("nearest", b"nearest"):
        return "takes the nearest pixel"
    read, given = shape_of(node, graph)[2:], result_of(node, graph)[2:]
    fits = len({each % 2 for each in given}) == 1
    fits &= all(out in (2 * size, 2 * size - 1) for size, out in zip(read, given, strict=False))
    return None if fits else "takes twice the size, or one less on both axes"


def _sixteen(node: Node, graph: Graph) -> str | None:
    if len(shape_of(node, graph)) < 4 or axis_at(1)(node, graph) is not None:
        return None
    return None if shape_of(node, graph)[1] % 16 == 0 else "needs a multiple of 16 channels"


def _sixteen_inputs(node: Node, graph: Graph) -> str | None:
    if len(result_of(node, graph)) < 4 or axis_at(1)(node, graph) is not None:
        return None
    fits = all(shape_of(node, graph, place)[1] % 16 == 0 for place in range(len(node.inputs)))
    return None if fits else "needs a multiple of 16 channels in each input"
