"""Resizes pictures by cubic interpolation with weights that are computed once.

ONNX Runtime computes the weights of each pixel anew, on one thread. Which rows and columns a pixel is made of, and with
which weights, is ONNX's definition of ``Resize``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from intarsia.backends.onnxruntime.saved_model import added, attributes_of
from intarsia.graph.placeholder_ops import DOMAIN

OPERATOR = "WeightedResize"
_TAPS = 4
_OF_TORCH = "pytorch_half_pixel"
_SCALES, _SIZES = 2, 3


def is_cubic(op_type: str, attributes: Mapping[str, Any]) -> bool:
    """Whether a node resizes by what `replace_cubic` can compute, but for its shapes."""
    stated = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", **attributes}
    known = stated["coordinate_transformation_mode"] in _PLACES
    plain = not stated.get("antialias", 0) and stated.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    return op_type == "Resize" and stated["mode"] == "cubic" and known and plain and not stated.get("axes")


def replace_cubic(node: onnx.NodeProto, graph: onnx.GraphProto, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Turn a node that resizes the last two of its dimensions into ours, if that can be done.

    Args:
        node: Of the graph.
        graph: Gets the weights as constants.
        shapes: Of values whose sizes are known.
    """
    attributes = attributes_of(node)
    before, after = shapes.get(node.input[0], ()), shapes.get(node.output[0], ())
    if not is_cubic(node.op_type, attributes) or len(before) < 2 or len(before) != len(after):
        return False
    scales = _scales(node, graph, before, after)
    if before[:-2] != after[:-2] or 0 in after or scales is None:
        return False
    if 1 in after[-2:] and attributes.get("coordinate_transformation_mode") == _OF_TORCH:
        return False  # implementations differ in where a single pixel is
    made = []
    for axis in (-2, -1):
        places, weights = weighing(before[axis], after[axis], scales[axis], attributes)
        for kind, numbers in (("places", places), ("weights", weights)):
            name = f"intarsia/{node.output[0]}/{kind}{axis}"
            made.append(added(graph, onnx.numpy_helper.from_array(numbers.astype(np.float32), name)))
    node.domain, node.op_type = DOMAIN, OPERATOR
    node.input[:] = [node.input[0], *made]
    del node.attribute[:]
    return True


def weighing(before: int, after: int, scale: float, attributes: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """For each result along a dimension four places and their weights, [after, 4] each."""
    mode = attributes.get("coordinate_transformation_mode", "half_pixel")
    at = _PLACES[mode](np.arange(after, dtype=np.float64), before, after, scale)
    whole = np.floor(at)
    apart = (at - whole)[:, None] - np.arange(-1, _TAPS - 1)
    weights = _cubic(np.abs(apart), attributes.get("cubic_coeff_a", -0.75))
    places = whole[:, None] + np.arange(-1, _TAPS - 1)
    if attributes.get("exclude_outside", 0):
        weights = np.where((places < 0) | (places >= before), 0.0, weights)
        weights /= weights.sum(axis=1, keepdims=True)
    return np.clip(places, 0, before - 1), weights


def _cubic(apart: np.ndarray, a: float) -> np.ndarray:
    """The weight of a pixel so far away (Keys, 1981)."""
    near = ((a + 2) * apart - (a + 3)) * apart**2 + 1
    far = ((apart - 5) * apart + 8) * apart * a - 4 * a
    found: np.ndarray = np.where(apart <= 1, near, np.where(apart < 2, far, 0.0))
    return found


def _half_pixel(at: np.ndarray, before: int, after: int, scale: float) -> np.ndarray:
    return (at + 0.5) / scale - 0.5


def _asymmetric(at: np.ndarray, before: int, after: int, scale: float) -> np.ndarray:
    return at / scale


def _corners(at: np.ndarray, before: int, after: int, scale: float) -> np.ndarray:
    return at * (before - 1) / (after - 1) if after > 1 else np.zeros_like(at)


_PLACES = {
    "half_pixel": _half_pixel,
    _OF_TORCH: _half_pixel,
    "asymmetric": _asymmetric,
    "align_corners": _corners,
}


def _scales(
    node: onnx.NodeProto, graph: onnx.GraphProto, before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[float, ...] | None:
    """By the scales that are stated, or by the sizes; ``None`` if scales are computed."""
    name = node.input[_SCALES] if len(node.input) > _SCALES else ""
    if not name or any(node.input[_SIZES:]):
        return tuple(more / less for less, more in zip(before, after, strict=True))
    stated = next((each for each in graph.initializer if each.name == name), None)
    if stated is None or stated.data_location == onnx.TensorProto.EXTERNAL:
        return None
    scales = tuple(float(each) for each in onnx.numpy_helper.to_array(stated).reshape(-1))
    return scales if len(scales) == len(before) else None
