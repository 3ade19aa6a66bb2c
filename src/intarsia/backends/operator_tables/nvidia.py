"""Operators of NVIDIA's engines: TensorRT, CUTLASS, cuDNN, cuBLAS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.node_facts import Case, constant, input_rank, refused, words
from intarsia.backends.operator_tables.limits import (
    axes_of,
    even_pads,
    inside,
    kernel,
    not_depthwise,
    pads,
    result_of,
    same_shapes,
    shape_of,
    two_inputs,
    undilated,
)
from intarsia.backends.operator_tables.sources import tvm
from intarsia.backends.operator_tables.table import ALL, OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_FLOATS = words("float16 float32 float64")
_MATRIX = frozenset({2})
_IMAGE = frozenset({4})
_UNARY = words("Relu LeakyRelu Sigmoid Tanh Exp Log Sqrt Abs Neg Flatten Clip Sin Cos Atan Ceil Floor Erf Dropout")
_BINARY = words("Div Sub Pow Max Min")


def tensorrt(target: Target) -> OperatorTable:
    """What TVM gives TensorRT, in float32, and float16 with ``use_fp16``.

    With ``use_implicit_batch``, its default there, nothing may change the first dimension. A stated
    ``tensorrt_version`` before 7 has no Erf. ``remove_no_mac_subgraphs`` leaves regions without products to others.
    """
    types = words("float32 float16") if target["use_fp16"] else words("float32")
    version = tuple(target.options.get("tensorrt_version", ()))
    implicit = bool(target["use_implicit_batch"])
    batch = (_keeps_batch,) if implicit else ()
    reduction = Row(dtypes=types, limits=(_reduces_behind_batch,) if implicit else ())
    pool = Row(dtypes=types, ranks=frozenset({4, 5}), limits=(inside,))
    rows = {
        **{name: Row(dtypes=types) for name in _UNARY},
        **{name: Row(dtypes=types, data=2, limits=(two_inputs,)) for name in _BINARY},
        **dict.fromkeys(words("ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean"), reduction),
        "Add": Row(dtypes=types, data=2, limits=(_no_scalars,) if implicit else (_no_batched_constant,)),
        "Mul": Row(dtypes=types, data=2),
        "Conv": Row(dtypes=types, ranks=frozenset({3, 4, 5}), constant=(1, 2)),
        "ConvTranspose": Row(dtypes=types, ranks=frozenset({4, 5}), limits=(undilated, _no_output_padding)),
        "Gemm": Row(dtypes=types, ranks=_MATRIX, constant=(1,)),
        "MatMul": Row(dtypes=types, data=2, limits=(_matrix_product(implicit=implicit),)),
        "MaxPool": pool,
        "AveragePool": Row(dtypes=types, ranks=frozenset({4, 5}), limits=(inside, _even_if_counted)),
        "GlobalMaxPool": Row(dtypes=types, ranks=_IMAGE),
        "GlobalAveragePool": Row(dtypes=types, ranks=_IMAGE),
        "BatchNormalization": Row(dtypes=types, ranks=frozenset({2, 3, 4, 5}), constant=(1, 2, 3, 4)),
        "LayerNormalization": Row(dtypes=types, limits=(_axis_behind_batch,) if implicit else ()),
        "Softmax": Row(dtypes=types, limits=(_axis_behind_batch,) if implicit else ()),
        "Concat": Row(dtypes=types, data=ALL, limits=(_no_constants, *((_axis_behind_batch,) if implicit else ()))),
        "Split": Row(dtypes=types, limits=(_axis_behind_batch,) if implicit else ()),
        "Squeeze": Row(dtypes=types, limits=(_stated_axes, *batch)),
        "Unsqueeze": Row(dtypes=types, limits=(_stated_axes, *batch)),
        "Reshape": Row(dtypes=types, constant=(1,), limits=batch),
        "Transpose": Row(dtypes=types, limits=(_transposes_behind_batch,) if implicit else ()),
        "Pad": Row(dtypes=types, ranks=frozenset({4, 5}), constant=(1, 2), limits=(_zeros_around_images,)),
        "Slice": Row(dtypes=types, constant=(1, 2, 3, 4), limits=(_forwards, *batch)),
    }
    if version and version < (7,):
        del rows["Erf"]
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("tensorrt", "041e06b81bf8c2a93783b646fcdaa649331736b7"),
        rows=rows,
        substance=words(
            "Conv ConvTranspose Gemm MatMul ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean"
        )
        if target["remove_no_mac_subgraphs"]
        else frozenset(),
    )  # fmt: skip


def cutlass(target: Target) -> OperatorTable:
    """What TVM gives CUTLASS: products and convolutions, and what their kernels do at the end."""
    types = words("float16 float32 int8 uint8")
    layers, images = words("Gemm MatMul"), words("Conv")
    ends: dict[str, Any] = {"dtypes": types}
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("cutlass", "dbc2b5fea5d237c44ba5aa717c5834477d960640"),
        rows={
            "Gemm": Row(dtypes=types, data=2, ranks=_MATRIX),
            "MatMul": Row(dtypes=types, data=2, ranks=frozenset({2, 3})),
            "Conv": Row(dtypes=types, data=2, ranks=_IMAGE, limits=(not_depthwise,)),
            "ConvTranspose": Row(dtypes=types, data=2, ranks=_IMAGE, limits=(not_depthwise,)),
            "Relu": Row(**ends, fused_into=layers | images | words("Add Mul")),
            "Gelu": Row(**ends, fused_into=layers),
            "Sigmoid": Row(**ends, fused_into=images),
            "HardSwish": Row(**ends, fused_into=images),
            "Swish": Row(**ends, fused_into=images),
            "Add": Row(**ends, data=2, fused_into=images, limits=(same_shapes,)),
            "Mul": Row(**ends, data=2, fused_into=images, limits=(same_shapes,)),
        },
    )


def cudnn(target: Target) -> OperatorTable:
    """What TVM gives cuDNN."""
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("cudnn", "8e816e0724ab80a6d673bf7b1adbce7d89371cdc"),
        rows={
            "Conv": Row(dtypes=_FLOATS, data=2, ranks=_IMAGE, limits=(even_pads,)),
            "Relu": Row(dtypes=_FLOATS, fused_into=words("Conv")),
            "Softmax": Row(dtypes=_FLOATS),
            "LogSoftmax": Row(dtypes=_FLOATS, ranks=_MATRIX, attributes={"axis": (None, -1, 1)}),
        },
    )


def cublas(target: Target) -> OperatorTable:
    """What TVM gives cuBLAS: matrix products of two values of one type."""
    product = Row(dtypes=_FLOATS, data=2, ranks=frozenset({2, 3}))
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("cublas", "03c8f0c215e564192304eb841292eb504ec8dc72"),
        rows={
            "MatMul": product,
            "Gemm": product,
            "MatMulInteger": Row(dtypes=words("int8"), data=2, ranks=frozenset({2, 3}), limits=(_fours,)),
        },
    )


_fours = refused(
    "needs rows of a multiple of 4",
    lambda node, graph: any(not shape or shape[-1] % 4 for shape in (shape_of(node, graph, place) for place in (0, 1))),
)
_no_scalars = refused("takes no scalars", lambda node, graph: any(input_rank(node, graph, at) == 0 for at in (0, 1)))
_no_output_padding = refused(
    "takes no output padding in three dimensions",
    lambda node, graph: len(kernel(node, graph)) == 3 and any(node.attributes.get("output_padding") or ()),
)
_even_if_counted = refused(
    "counts padding only where it is the same on both sides",
    lambda node, graph: node.attributes.get("count_include_pad") and len(set(pads(node, graph))) != 1,
)
_no_constants = refused("takes no constants", lambda node, graph: any(name in graph.weights for name in node.inputs))
_stated_axes = refused("needs axes that are stated", lambda node, graph: not axes_of(node, graph))
_keeps_batch = refused(
    "keeps the first dimension",
    lambda node, graph: not shape_of(node, graph) or shape_of(node, graph)[:1] != result_of(node, graph)[:1],
)
_reduces_behind_batch = refused(
    "keeps the first dimension", lambda node, graph: not axes_of(node, graph) or 0 in (axes_of(node, graph) or ())
)
_transposes_behind_batch = refused(
    "keeps the first dimension", lambda node, graph: (node.attributes.get("perm") or [1])[0] != 0
)


def _no_batched_constant(node: Node, graph: Graph) -> str | None:
    shapes = [shape_of(node, graph, at) for at in (0, 1)]
    batched = any(name in graph.weights for name in node.inputs) and all(shapes) and max(map(len, shapes)) > 3
    if batched and shapes[0][0] == shapes[1][0] != 1:
        return "adds no constant of several samples"
    return None


def _axis_behind_batch(node: Node, graph: Graph) -> str | None:
    default = {"Softmax": -1, "LayerNormalization": -1}.get(node.op_type, 0)
    axis = node.attributes.get("axis", default)
    rank = input_rank(node, graph, 0)
    if rank is None:
        return "needs a known number of dimensions"
    return "keeps the first dimension" if axis in (0, -rank) else None


def _matrix_product(*, implicit: bool) -> Case:
    def limit(node: Node, graph: Graph) -> str | None:
        first, second = input_rank(node, graph, 0), input_rank(node, graph, 1)
        if node.inputs[1] in graph.weights and second == 2:
            return None if first in (2, 3, 4) else "takes 2, 3 or 4 dimensions"
        if implicit and first != second:
            return "takes inputs of as many dimensions as each other"
        return None

    return limit


def _zeros_around_images(node: Node, graph: Graph) -> str | None:
    if node.attributes.get("mode", "constant") not in ("constant", b"constant"):
        return "pads with a constant"
    value, amounts = constant(node, graph, 2), constant(node, graph, 1)
    if value is not None and value.size and float(value.reshape(-1)[0]) != 0:
        return "pads with zeros"
    if amounts is None or axes_of(node, graph, 3) is not None:
        return "needs the padding of every axis"
    rank = amounts.size // 2
    outside = [*amounts[: rank - 2].tolist(), *amounts[rank:-2].tolist()]
    return "pads the last two dimensions" if any(outside) else None


def _forwards(node: Node, graph: Graph) -> str | None:
    strides = constant(node, graph, 4)
    if strides is not None and (strides <= 0).any():
        return "goes forwards"
    return None if result_of(node, graph) and 0 not in result_of(node, graph) else "gives a result that is not empty"
