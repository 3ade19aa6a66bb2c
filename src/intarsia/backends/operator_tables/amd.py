"""Operators of AMD's Vitis AI."""

from __future__ import annotations

from math import ceil, isclose
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import Case, constant, refused, words
from intarsia.backends.operator_tables.limits import (
    axes_of,
    dilations,
    is_depthwise,
    kernel,
    pads,
    per_channel_operand,
    plain_or_depthwise,
    result_of,
    same_shapes,
    shape_of,
    steps,
    weight_of,
    window_of,
)
from intarsia.backends.operator_tables.table import ALL, OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_IMAGE = frozenset({4})

_CHANNELS = 4096
_PARALLEL, _DEPTH = 16, 2048


def vitis_ai(target: Target) -> OperatorTable:
    """What AMD's DPUCZDX8G takes in its configuration B4096, of a network in float32 that its tools quantise."""
    layers = words("Conv ConvTranspose BatchNormalization")
    return OperatorTable(
        engine=target.kind.name,
        source="Vitis AI User Guide UG1414 3.0, Currently Supported Operators, column DPUCZDX8G_ISA1_B4096, "
        "https://docs.amd.com/r/3.0-English/ug1414-vitis-ai/Currently-Supported-Operators; which operators TVM gives "
        "it: PyXIR, "
        "https://github.com/Xilinx/pyxir/blob/0dfb4aacd0c80733b454a0f158b5e3719b0e185a/python/pyxir/contrib/target/"
        "components/DPUCZDX8G/zcu104_op_support.py",
        rows={
            "Conv": Row(ranks=_IMAGE, constant=(1, 2), limits=(plain_or_depthwise, _dpu_window(16, 8), _dpu_layer)),
            "ConvTranspose": Row(ranks=_IMAGE, constant=(1, 2), limits=(_dpu_window(16, 16),)),
            "MaxPool": Row(ranks=_IMAGE, limits=(_dpu_window(8, 8), _dpu_channels)),
            "AveragePool": Row(ranks=_IMAGE, limits=(_dpu_window(8, 8), _square, _dpu_channels)),
            "GlobalAveragePool": Row(ranks=_IMAGE, limits=(_square, _dpu_whole_image, _dpu_channels)),
            "ReduceMean": Row(ranks=_IMAGE, limits=(_two_axes,)),
            "BatchNormalization": Row(constant=(1, 2, 3, 4), limits=(_dpu_channels,)),
            "Mul": Row(ranks=_IMAGE, limits=(_scale, _dpu_channels)),
            "Add": Row(ranks=_IMAGE, data=2, limits=(same_shapes,)),
            "Concat": Row(ranks=_IMAGE, data=ALL, limits=(_dpu_channels,)),
            "Relu": Row(fused_into=layers | words("Add Mul MaxPool AveragePool")),
            "Clip": Row(fused_into=layers | words("Mul"), limits=(_six,)),
            "LeakyRelu": Row(fused_into=layers | words("MaxPool AveragePool"), limits=(_tenth,)),
            "Resize": Row(ranks=_IMAGE, attributes={"mode": (None, "nearest", b"nearest")}),
        },
    )


_square = refused("takes square windows", lambda node, graph: len(set(kernel(node, graph))) != 1)
_two_axes = refused(
    "averages over two axes and keeps them",
    lambda node, graph: len(axes_of(node, graph) or ()) != 2 or not node.attributes.get("keepdims", 1),
)
_dpu_whole_image = refused("takes images up to 8x8", lambda node, graph: max(kernel(node, graph), default=9) > 8)
_scale = refused("multiplies by a constant for each channel", lambda node, graph: not per_channel_operand(node, graph))
_tenth = refused("takes a slope of 0.1", lambda node, graph: not isclose(_slope(node), 0.1, rel_tol=1e-5))
_dpu_channels = refused(
    f"takes up to {_CHANNELS} channels", lambda node, graph: (result_of(node, graph) or (0, 0))[1] > _CHANNELS
)


def _slope(node: Node) -> float:
    return float(node.attributes.get("alpha", 0.01))


def _six(node: Node, graph: Graph) -> str | None:
    low, high = constant(node, graph, 1), constant(node, graph, 2)
    fits = low is not None and high is not None and (float(low), float(high)) == (0.0, 6.0)
    return None if fits else "limits values to 0 to 6"


def _dpu_window(largest: int, widest: int) -> Case:
    size = window_of(range(1, largest + 1), range(1, widest + 1))

    def limit(node: Node, graph: Graph) -> str | None:
        padded = zip(*pads(node, graph), kernel(node, graph), dilations(node, graph), strict=True)
        if any(max(before, behind) > (window - 1) * apart for before, behind, window, apart in padded):
            return "pads by less than the window"
        return size(node, graph)

    return limit


def _dpu_layer(node: Node, graph: Graph) -> str | None:
    read, given = shape_of(node, graph)[1], weight_of(node, graph)[0]
    window, apart = kernel(node, graph), dilations(node, graph)
    if max(read, given) > _CHANNELS or max(apart) * read > _CHANNELS:
        return f"takes up to {_CHANNELS} channels, fewer where it is dilated"
    if any(one > 1 and step > 1 for one, step in zip(apart, steps(node, graph), strict=True)):
        return "takes a dilation only with strides of 1"
    rows = 1 if is_depthwise(node, graph) else ceil(read / _PARALLEL)
    return None if window[0] * window[1] * rows <= _DEPTH else "has no room for the weights of one output channel"
