"""A model in fp32 as one in fp16 or bf16, as converters write it: whole, or with borders that stay in fp32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

HALVES = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}
_KEPT_INPUTS = {"Resize": (1, 2)}
"""Inputs that ONNX has in fp32 whatever the type of the others."""
_OPSET = {"float16": 21, "bfloat16": 22}
"""The first in which all layers of our networks take the type."""


def in_half(
    model: onnx.ModelProto, dtype: str, *, fp32_borders: bool, kept: Collection[str] = frozenset()
) -> onnx.ModelProto:
    """A copy that computes in half the bits.

    Args:
        model: All of it in fp32, 8-bit and index types aside; scales of its quantisers become halves too.
        dtype: ``float16`` or ``bfloat16``.
        fp32_borders: Inputs and outputs stay in fp32, behind Casts.
        kept: Operators that stay in fp32, between Casts: those that engines have no kernel of this type for.
    """
    to = HALVES[dtype]
    half = onnx.ModelProto()
    half.CopyFrom(model)
    graph = half.graph
    half.opset_import[0].version = max(half.opset_import[0].version, _OPSET[dtype])
    in_fp32 = {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT}
    stay = {
        node.input[place]
        for node in graph.node
        for place in (range(len(node.input)) if node.op_type in kept else _KEPT_INPUTS.get(node.op_type, ()))
        if place < len(node.input) and node.input[place] in in_fp32
    }
    for tensor in graph.initializer:
        if tensor.name in in_fp32 - stay:
            array = numpy_helper.to_array(tensor).astype(helper.tensor_dtype_to_np_dtype(to))
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    nodes = list(_nodes(graph, to, kept, stay))
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    _set_borders(graph, to, fp32_borders)
    checked = onnx.shape_inference.infer_shapes(half)
    onnx.checker.check_model(checked)
    return half


def _nodes(graph: onnx.GraphProto, to: int, kept: Collection[str], stay: Collection[str]) -> Iterator[onnx.NodeProto]:
    """The nodes, with Casts around those that stay in fp32; these read and write the names they had."""
    for node in graph.node:
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        for attribute in changed.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = to
        if node.op_type not in kept:
            yield changed
            continue
        for place, name in enumerate(node.input):
            if name and name not in stay:
                changed.input[place] = f"{name}.for.{node.name}"
                yield helper.make_node(
                    "Cast", [name], [changed.input[place]], changed.input[place], to=TensorProto.FLOAT
                )
        names = [name for name in node.output if name]
        for place, name in enumerate(names):
            changed.output[place] = f"{name}.in.fp32"
        yield changed
        for name in names:
            yield helper.make_node("Cast", [f"{name}.in.fp32"], [name], f"{name}.out", to=to)


def _set_borders(graph: onnx.GraphProto, to: int, fp32_borders: bool) -> None:
    """Give the inputs and outputs that were fp32 the new type, or leave them as they are, behind Casts."""
    for values, is_input in ((graph.input, True), (graph.output, False)):
        for value in values:
            if value.type.tensor_type.elem_type != TensorProto.FLOAT:
                continue
            if fp32_borders:
                _cast_border(graph, value.name, to, is_input=is_input)
            else:
                value.type.tensor_type.elem_type = to


def _cast_border(graph: onnx.GraphProto, name: str, to: int, *, is_input: bool) -> None:
    inside, label = f"{name}.half", f"{name}.cast"
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [inside if each == name else each for each in names]
    if is_input:
        graph.node.insert(0, helper.make_node("Cast", [name], [inside], label, to=to))
    else:
        graph.node.append(helper.make_node("Cast", [inside], [name], label, to=TensorProto.FLOAT))
