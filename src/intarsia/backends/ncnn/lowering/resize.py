"""Resizing images, where ncnn samples the very points that ONNX asks for.

ncnn has one rule for nearest and two for linear; ONNX has dozens. The points of both are computed and compared, so a
node is taken when they agree at its own sizes, whatever its modes are called.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.lowering.resize import nearest, places
from intarsia.backends.ncnn.lowering.builder import Builder, blob_shape
from intarsia.backends.ncnn.lowering.layer import Refused
from intarsia.backends.ncnn.lowering.window import spatial

if TYPE_CHECKING:
    from intarsia.graph import Node

_NEAREST, _LINEAR = 1, 2
_MODES = ("align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel")
_POINT_TOLERANCE = 1e-5
"""Pixels by which two linear rules may differ: about the rounding of a float32 coordinate."""


def resize(build: Builder, node: Node) -> None:
    """``Resize`` of height and width, nearest or linear."""
    x, output = node.inputs[0], node.outputs[0]
    size, target = spatial(build, x, (2,)), build.shape(output)[2:]
    blob_shape(build.shape(output))
    if build.shape(x)[1] != build.shape(output)[1]:
        raise Refused("ncnn resizes height and width only")
    mode = node.attributes.get("mode", "nearest")
    if mode not in ("nearest", "linear") or node.attributes.get("antialias", 0):
        raise Refused(f"ncnn's {mode} resizing differs from ONNX's, or has no antialias")
    if size == target:
        raise Refused("a resize to the same size is left to others")
    scales = _scales(build, node)
    wanted = [_onnx_points(node, *dims) for dims in zip(size, target, scales, strict=True)]
    params = {3: target[0], 4: target[1]}
    if mode == "nearest":
        rule = node.attributes.get("nearest_mode", "round_prefer_floor")
        points = [nearest(exact, n, rule) for exact, n in zip(wanted, size, strict=True)]
        if any(not np.array_equal(a, _nearest(n, m)) for a, n, m in zip(points, size, target, strict=True)):
            raise Refused("ncnn's nearest pixels are others than this node's")
        params[0] = _NEAREST
    else:
        params |= {0: _LINEAR, 6: _corner_mode(wanted, size, target)}
    build.bind(output, build.emit("Interp", (build.blob(x),), build.shape(output)[1:], params))


def _scales(build: Builder, node: Node) -> tuple[float, float]:
    """Scales of height and width: as stated, or as the sizes give them."""
    if node.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch" or "axes" in node.attributes:
        raise Refused("only the plain form of scales and sizes is taken")
    name = build.optional(node, 2)
    stated = build.constant(name).reshape(-1) if name else np.empty(0)
    if stated.size == 4:
        return float(stated[2]), float(stated[3])
    before, after = build.shape(node.inputs[0]), build.shape(node.outputs[0])
    return after[2] / before[2], after[3] / before[3]


def _onnx_points(node: Node, size: int, target: int, scale: float) -> np.ndarray:
    """Where each output pixel is sampled, in pixels of the input."""
    mode = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    if mode not in _MODES or (mode == "pytorch_half_pixel" and target == 1):
        raise Refused(f"ncnn has no coordinate mode {mode}")
    return places(mode, size, target, scale)


def _nearest(size: int, target: int) -> np.ndarray:
    """The nearest pixels by ncnn's rule, in its own precision."""
    scale = np.float32(size) / np.float32(target)
    return np.minimum((np.arange(target, dtype=np.float32) * scale).astype(np.int64), size - 1)


def _corner_mode(wanted: list[np.ndarray], size: tuple[int, ...], target: tuple[int, ...]) -> int:
    """Which of ncnn's two linear rules samples the wanted points."""
    if min(size) < 2:
        raise Refused("ncnn reads outside images of one row or column when it resizes linearly")
    for corners in (0, 1):
        rules = [_linear(n, m, corners=bool(corners)) for n, m in zip(size, target, strict=True)]
        if all(_agree(a, b, n) for a, b, n in zip(wanted, rules, size, strict=True)):
            return corners
    raise Refused("ncnn's linear resizing samples other points than this node's")


def _agree(wanted: np.ndarray, rule: np.ndarray, size: int) -> bool:
    return np.allclose(np.clip(wanted, 0, size - 1), rule, rtol=0, atol=_POINT_TOLERANCE * size)


def _linear(size: int, target: int, *, corners: bool) -> np.ndarray:
    x = np.arange(target, dtype=np.float64)
    if corners:
        return x * (size - 1) / (target - 1) if target > 1 else np.full(1, math.nan)
    return np.clip((x + 0.5) * size / target - 0.5, 0, size - 1)
