"""Scales, zero points, axes and blocks that are read as others than the model has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

from networks.quantised.faults.edit import TO_INT32, Edit, cast, picked, step

if TYPE_CHECKING:
    from collections.abc import Callable

    Change = Callable[[np.ndarray], np.ndarray]
_W_SCALE = 4
"""Of QLinearConv, the place of the scales of the weight."""


def one_scale(edit: Edit, factor: float, at: float) -> bool:
    """One scale of activations is wrong by a factor; ``at`` says which, between the first, 0, and the last, 1."""
    if dynamic := edit.nodes("DynamicQuantizeLinear"):
        _scale_found(edit, picked(dynamic, at), factor)
        return True
    places = edit.activations()
    if places:
        _scale(edit, *picked(places, at), factor)
    return bool(places)


def every_scale(edit: Edit, factor: float) -> bool:
    """Each scale of activations is wrong by a factor."""
    dynamic, places = edit.nodes("DynamicQuantizeLinear"), edit.activations()
    for node in dynamic:
        _scale_found(edit, node, factor)
    for node, place in places:
        _scale(edit, node, place, factor)
    return bool(dynamic or places)


def one_scale_for_all_channels(edit: Edit) -> bool:
    """Where a weight has a scale for each channel, the first counts for all."""
    stored = [node for node in edit.nodes("DequantizeLinear") if edit.is_weight(node.input[0])]
    places = [(node, 1) for node in stored if edit.array(node.input[0]).ndim > 1]
    places += [(node, _W_SCALE) for node in edit.nodes("QLinearConv")]
    several = [(node, place) for node, place in places if edit.is_vector(node.input[place])]
    for node, place in several:
        scales = edit.array(node.input[place])
        edit.give(node, place, np.full_like(scales, scales[0]))
    return bool(several)


def other_axis(edit: Edit) -> bool:
    """The scales of weights with as many channels in as out are taken along the other axis."""
    found = False
    for node in edit.nodes("DequantizeLinear"):
        if not edit.is_weight(node.input[0]) or not edit.is_vector(node.input[1]):
            continue
        shape, count = edit.array(node.input[0]).shape, len(edit.array(node.input[1]))
        if shape[:2] == (count, count):
            stated = {each.name: each for each in node.attribute}.get("axis")
            axis = 1 if stated is None else stated.i
            if stated is not None:
                node.attribute.remove(stated)
            node.attribute.append(helper.make_attribute("axis", 1 - axis))
            found = True
    return found


def zero_points(edit: Edit, change: Change, *, once: bool = False) -> bool:
    """Zero points of activations are read as something else: the one in the middle, or all."""
    integers = [node for node in edit.nodes("MatMulInteger", "ConvInteger") if len(node.input) > 2]
    found = [(node, 2) for node in integers]
    for node, scale in edit.activations():
        if len(node.input) > scale + 1 and edit.is_weight(node.input[scale + 1]):
            now = edit.array(node.input[scale + 1])
            if now.dtype.kind in "iu" and not np.array_equal(now, change(now)):
                found.append((node, scale + 1))
    for node, place in [picked(found, 0.5)] if once and found else found:
        if edit.is_weight(node.input[place]):
            edit.give(node, place, change(edit.array(node.input[place])))
        else:
            _change_found(edit, node, place, change)
    return bool(found)


def plus_one(points: np.ndarray) -> np.ndarray:
    """One more, or one less where there is no more."""
    most = np.iinfo(points.dtype).max
    return np.where(points == most, points - 1, points + 1).astype(points.dtype)


def swapped_nibbles(edit: Edit) -> bool:
    """Of two 4-bit weights in one byte the second comes first."""
    found = False
    for node, place in edit.weights():
        values = edit.array(node.input[place])
        if node.op_type == "MatMulNBits":
            swapped = (values >> 4) | ((values & 15) << 4)
        elif values.dtype.name in ("int4", "uint4"):
            swapped = values.reshape(-1, 2)[:, ::-1].reshape(values.shape).copy()
        else:
            continue
        edit.give(node, place, swapped)
        found = True
    return found


def double_blocks(edit: Edit) -> bool:
    """A block of a weight is taken for twice as long: every other scale counts for two."""
    found = False
    for node, _ in edit.weights():
        numbers = {each.name: each.i for each in node.attribute}
        if node.op_type == "MatMulNBits":
            place, columns = 2, numbers["N"]  # a row of scales for each column of the product
        elif numbers.get("block_size", 0):
            place, columns = 1, None
        else:
            continue
        scales = edit.array(node.input[place]).copy()
        by_column = scales.T if columns is None else scales.reshape(columns, -1)
        by_column[:, 1::2] = by_column[:, : by_column.shape[1] // 2 * 2 : 2]
        edit.give(node, place, scales)
        found = True
    return found


def _scale(edit: Edit, node: onnx.NodeProto, place: int, factor: float) -> None:
    scale = edit.array(node.input[place])
    edit.give(node, place, (scale.astype(np.float64) * factor).astype(scale.dtype))


def _scale_found(edit: Edit, node: onnx.NodeProto, factor: float) -> None:
    """Of a scale that running tells."""
    edit.behind(node, 1, [step("Mul", np.float32(factor))])


def _change_found(edit: Edit, node: onnx.NodeProto, place: int, change: Change) -> None:
    """Of a zero point that running tells: a constant takes its place, or another is computed from it."""
    some = [change(np.array(point, dtype=np.uint8)) for point in (100, 101)]
    if some[0] == some[1]:
        edit.give(node, place, some[0])
        return
    name, result = node.input[place], edit.new(node.input[place])
    more = np.int32(int(some[0]) - 100)
    edit.chain(edit.maker(name), name, [TO_INT32, step("Add", more), cast(TensorProto.UINT8)], result)
    node.input[place] = result
