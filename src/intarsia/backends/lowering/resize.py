"""Resize: along each dimension a product with a matrix of weights, or a choice of rows for nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.node_context import NodeContext, Rule, axes_of
from intarsia.backends.lowering.program import Term, UnsupportedError


@cache
def places(mode: str, size: int, out: int, scale: float) -> np.ndarray:
    """Where each new element lies among the old ones."""
    x = np.arange(out, dtype=np.float64)
    exact = scale * size
    match mode:
        case "align_corners":
            return x * 0 if exact == 1 else x * (size - 1) / (exact - 1)
        case "asymmetric":
            return x / scale
        case "half_pixel":
            return (x + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            return size / 2 * (1 - out / exact) + (x + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return x * 0 - 0.5 if exact == 1 else (x + 0.5) / scale - 0.5
    raise UnsupportedError(f"the coordinates {mode}")


def nearest(points: np.ndarray, size: int, mode: str) -> np.ndarray:
    """The old element that each place is rounded to."""
    rounded = {
        "round_prefer_floor": np.ceil(points - 0.5),
        "round_prefer_ceil": np.floor(points + 0.5),
        "floor": np.floor(points),
        "ceil": np.ceil(points),
    }[mode]
    rows: np.ndarray = np.clip(rounded, 0, size - 1).astype(np.int64)
    return rows


def _linear(distance: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.clip(1 - np.abs(distance), 0, 1)
    return shares


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    shares: np.ndarray = np.where(x <= 1, near, np.where(x < 2, far, 0))
    return shares


def _weights(ctx: NodeContext, places: np.ndarray, size: int, scale: float) -> np.ndarray:
    """For each new element the share that each old one has in it."""
    is_cubic = ctx.get("mode") == "cubic"
    narrow = min(scale, 1.0) if ctx.get("antialias", 0) else 1.0
    reach = int(np.ceil((2 if is_cubic else 1) / narrow)) + 1
    base = np.floor(places).astype(np.int64)
    taps = base[:, None] + np.arange(-reach, reach + 1)
    distance = (taps - places[:, None]) * narrow
    shares = _cubic(distance, ctx.get("cubic_coeff_a", -0.75)) if is_cubic else _linear(distance)
    if ctx.get("exclude_outside", 0):
        shares = np.where((taps >= 0) & (taps < size), shares, 0)
    if narrow < 1 or ctx.get("exclude_outside", 0):
        shares = shares / shares.sum(1, keepdims=True)
    found = np.zeros((len(places), size))
    rows = np.broadcast_to(np.arange(len(places))[:, None], taps.shape)
    np.add.at(found, (rows, np.clip(taps, 0, size - 1)), shares)
    return found


def _multiplied(b: Builder, x: Term, weights: np.ndarray, axis: int) -> Term:
    matrix = b.cast(b.constant(weights.astype(np.float32)), x.dtype)
    if x.rank >= 2 and axis == x.rank - 2:
        return b.matmul(matrix, x)
    order = [place for place in range(x.rank) if place != axis] + [axis]
    moved = b.transpose(x, order)
    flat = b.reshape(moved, (1, *moved.shape)) if x.rank == 1 else moved
    found = b.matmul(flat, b.transpose(matrix, (1, 0)))
    found = b.reshape(found, (*moved.shape[:-1], len(weights)))
    return b.transpose(found, np.argsort(order).tolist())


def _is_plain_image(ctx: NodeContext, x: Term, out: tuple[int, ...], scales: list[float]) -> bool:
    """Whether bilinear interpolation is what it is everywhere: of images, by the ratio of their sizes."""
    if ctx.get("mode") != "linear" or ctx.get("antialias", 0) or ctx.get("exclude_outside", 0):
        return False
    coordinates = ctx.get("coordinate_transformation_mode", "half_pixel")
    if coordinates not in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        return False
    if x.rank != 4 or out[:2] != x.shape[:2] or (coordinates == "pytorch_half_pixel" and 1 in out[2:]):
        return False
    return all(abs(scale * size - new) < 1e-4 for scale, size, new in zip(scales, x.shape, out, strict=True))


def _scales(ctx: NodeContext, x: Term, out: tuple[int, ...]) -> list[float]:
    scales = [1.0] * x.rank
    axes = axes_of(ctx.get("axes"), x.rank)
    if ctx.has(2) and ctx.known(2).size:
        given = [float(scale) for scale in ctx.known(2).reshape(-1)]
    else:
        sizes = ctx.numbers(3)
        given = [size / x.shape[axis] for size, axis in zip(sizes, axes, strict=True)]
        policy = ctx.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            given = [(min if policy == "not_larger" else max)(given)] * len(given)
    for axis, scale in zip(ctx.get("axes") or range(x.rank), given, strict=True):
        scales[axis] = scale
    return scales


def _resize(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    out, mode = ctx.shape_of_output(), ctx.get("mode", "nearest")
    coordinates = ctx.get("coordinate_transformation_mode", "half_pixel")
    if mode == "nearest" and ctx.get("antialias", 0):
        raise UnsupportedError("nearest neighbours without aliasing")
    if mode != "nearest" and not x.is_float:
        raise UnsupportedError(f"interpolation of {x.dtype}")
    scales = _scales(ctx, x, out)
    if "resize_linear" in b.natives and _is_plain_image(ctx, x, out, scales):
        return b.emit("resize_linear", (x,), x.dtype, out, coordinates=coordinates)
    for axis, scale in enumerate(scales):
        size = x.shape[axis]
        if scale == 1.0 and size == out[axis]:
            continue
        points = places(coordinates, size, out[axis], scale)
        if mode == "nearest":
            rows = nearest(points, size, ctx.get("nearest_mode", "round_prefer_floor"))
            x = b.take(x, b.constant(rows), axis)
        else:
            x = _multiplied(b, x, _weights(ctx, points, size, scale), axis)
    return b.unary("identity", x) if x is ctx.operand(0) else x


RULES: Mapping[str, Rule] = {"Resize": _resize}
