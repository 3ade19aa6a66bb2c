"""Activations that are rounded by another rule, saturate elsewhere, or lose bits that their type has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

from networks.quantised.faults.edit import TO_FP32, TO_INT32, Edit, Step, cast, step

if TYPE_CHECKING:
    from collections.abc import Sequence
_TOP_LOST = 27
"""Steps of 8 bits that a range lacks where it ends too early."""
_SMALLEST, _LARGEST = 0.06, 2.0
"""What halves are flushed below and saturate at; our networks have values of variance 1."""
_POINTS = {"QuantizeLinear": 2, "QLinearConv": 7, "QLinearMatMul": 7}
"""Operators that quantise, and the place of the zero point of what they give."""


def narrow_range(edit: Edit) -> bool:
    """Activations saturate before their type ends: at 100 where 127 is the largest."""
    found = False
    for node in edit.nodes("DynamicQuantizeLinear", *_POINTS):
        dtype = _type_of(edit, node)
        if dtype is not None:
            ends = np.iinfo(dtype)
            edit.behind(node, 0, [step("Clip", np.array(ends.min, dtype), np.array(ends.max - _TOP_LOST, dtype))])
            found = True
    return found


def rounds(edit: Edit, rule: str | None, *, wraps: bool = False) -> bool:
    """Activations are rounded by another rule, ``None`` being towards zero, or begin anew where their type ends."""
    for node in edit.nodes("QLinearConv"):
        _unfold(edit, node)
    found = False
    for node in edit.nodes("QuantizeLinear", "DynamicQuantizeLinear"):
        dtype = _type_of(edit, node)
        if dtype is not None:
            ends = np.iinfo(dtype)
            limits = [] if wraps else [step("Clip", np.int32(ends.min), np.int32(ends.max))]
            rounded = [] if rule is None else [step(rule)]
            _quantise(edit, node, [*rounded, TO_INT32], [*limits, cast(dtype)])
            found = True
    return found


def bf16_for_fp16(edit: Edit) -> bool:
    """What products give keeps 8 bits of 11."""
    return _in_halves(edit, [cast(TensorProto.BFLOAT16), TO_FP32])


def half_saturates(edit: Edit) -> bool:
    """What products give ends far below the largest number of its type."""
    return _in_halves(edit, [step("Clip", np.float32(-_LARGEST), np.float32(_LARGEST))])


def half_flushes(edit: Edit) -> bool:
    """What products give is zero where it is small."""
    return _in_halves(edit, [step("Shrink", lambd=_SMALLEST, bias=0.0)])


def _quantise(edit: Edit, node: onnx.NodeProto, rounded: Sequence[Step], narrowed: Sequence[Step]) -> None:
    """Have a quantiser's work done by steps: the zero point is added between those that round and those that narrow."""
    result, x = edit.detach(node), node.input[0]
    if node.op_type == "QuantizeLinear":
        before = node
        scale: str | np.ndarray = edit.array(node.input[1]).astype(np.float32)
        point: str | np.ndarray = edit.array(node.input[2]).astype(np.int32)
    else:
        scale, point = node.output[1], edit.new("wide")
        before = edit.chain(node, node.output[2], [TO_INT32], point)
    edit.chain(before, x, [TO_FP32, step("Div", scale), *rounded, step("Add", point), *narrowed], result)


def _unfold(edit: Edit, node: onnx.NodeProto) -> None:
    """QLinearConv as what it stands for: a convolution in fp32 between quantisers."""
    x, scale, point, w, w_scale, w_point, y_scale, y_point, *bias = node.input
    values = edit.array(w).astype(np.float32)
    by_channel = (-1, *[1] * (values.ndim - 1))
    scales = edit.array(w_scale).reshape(by_channel)
    others = [(values - edit.array(w_point).astype(np.float32).reshape(by_channel)) * scales]
    if bias:
        others.append(edit.array(bias[0]).astype(np.float32) * edit.array(scale) * edit.array(w_scale))
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    result = edit.detach(node)
    convolution = step("Conv", *others, **attributes)
    steps = [step("DequantizeLinear", scale, point), convolution, step("QuantizeLinear", y_scale, y_point)]
    edit.chain(node, x, steps, result)


def _in_halves(edit: Edit, steps: Sequence[Step]) -> bool:
    """What products of half-precision weights give goes through steps in fp32."""
    found = False
    for node in edit.nodes("Conv", "MatMul", "Gemm"):
        types = [edit.array(name).dtype for name in node.input[1:] if edit.is_weight(name)]
        halves = [dtype for dtype in types if dtype.itemsize == 2]
        if halves:
            edit.behind(node, 0, [TO_FP32, *steps, cast(halves[0])])
            found = True
    return found


def _type_of(edit: Edit, node: onnx.NodeProto) -> np.dtype | None:
    """The 8-bit type that a node quantises to."""
    if node.op_type == "DynamicQuantizeLinear":
        return np.dtype(np.uint8)
    place = _POINTS[node.op_type]
    if len(node.input) <= place or not edit.is_weight(node.input[place]):
        return None
    dtype = edit.array(node.input[place]).dtype
    return dtype if dtype.kind in "iu" and dtype.itemsize == 1 else None
