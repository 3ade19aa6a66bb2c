"""Operators of Qualcomm's OpenCL ML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import refused, words
from intarsia.backends.operator_tables.limits import (
    axis_at,
    dilations,
    flat_weight,
    is_depthwise,
    kernel,
    plain_or_depthwise,
    result_of,
    same_shapes,
    shape_of,
    two_inputs,
)
from intarsia.backends.operator_tables.sources import tvm
from intarsia.backends.operator_tables.table import ALL, OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_IMAGE = frozenset({4})


def clml(target: Target) -> OperatorTable:
    """What TVM gives Qualcomm's OpenCL ML."""
    types = words("float16 float32")
    plain = Row(dtypes=types)
    image = Row(dtypes=types, ranks=_IMAGE)
    pair = Row(dtypes=types, data=2, batch=1, limits=(two_inputs, same_shapes))
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("clml", "5a2949bd701df355ba104c6e409a1122b99a6f8a"),
        rows={
            **dict.fromkeys(words("Add Sub Mul Div Min Max"), pair),
            "Conv": Row(dtypes=types, ranks=_IMAGE, constant=(1, 2), limits=(plain_or_depthwise, _dilated_depth)),
            "ConvTranspose": Row(dtypes=types, ranks=_IMAGE, constant=(1, 2)),
            "Gemm": Row(dtypes=types, constant=(1, 2), batch=1, limits=(flat_weight,)),
            "MatMul": Row(dtypes=types, limits=(_single_product,)),
            "Pad": Row(dtypes=types, ranks=_IMAGE, constant=(1, 2), limits=(_computed,)),
            "Concat": Row(dtypes=types, data=ALL, limits=(axis_at(1),)),
            "BatchNormalization": Row(dtypes=types, constant=(1, 2, 3, 4)),
            "Softmax": Row(dtypes=types, ranks=frozenset({2, 4})),
            "Reshape": Row(dtypes=types, limits=(_small_dimensions,)),
            "AveragePool": image,
            "MaxPool": image,
            "GlobalAveragePool": image,
            "GlobalMaxPool": image,
            "Relu": plain,
            "Clip": plain,
            "Flatten": plain,
            "DepthToSpace": image,
            "Resize": Row(dtypes=types, ranks=_IMAGE, attributes={"mode": ("linear", b"linear")}),
        },
    )


_dilated_depth = refused(
    "takes no dilated window of 3x3 with a group for each channel",
    lambda node, graph: (
        is_depthwise(node, graph) and kernel(node, graph)[0] == 3 and any(each != 1 for each in dilations(node, graph))
    ),
)
_computed = refused("pads what the network computed", lambda node, graph: graph.values[node.inputs[0]].producer is None)
_small_dimensions = refused(
    "gives one sample, of at most 32768 in each dimension",
    lambda node, graph: (
        not result_of(node, graph) or result_of(node, graph)[0] > 1 or max(result_of(node, graph)) > 32_768
    ),
)


def _single_product(node: Node, graph: Graph) -> str | None:
    first, second = shape_of(node, graph, 0), shape_of(node, graph, 1)
    if len(first) == len(second) == 2 and node.inputs[1] in graph.weights:
        return None
    fits = len(first) == len(second) == 3 and first[0] == second[0] == 1
    return None if fits else "takes two matrices, one of them constant, or one pair of them"
