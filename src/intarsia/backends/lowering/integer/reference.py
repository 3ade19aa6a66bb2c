"""What each `q_*` instruction computes, in numpy: the definition that kernels are held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from intarsia.backends.lowering.integer.fixed_point import (
    averaged,
    in_steps,
    nearest,
    requantised,
    scaling,
)
from intarsia.backends.lowering.integer.sums import sum_of, summed
from intarsia.backends.lowering.program import Attributes

Reference = Callable[..., np.ndarray]

SHARE_BITS = 8
_MOST_STEPS = 24
"""Bits of the steps of a softmax, behind the point and before it: with a share of 30 bits they stay within 64."""


def _window_taps(
    x: np.ndarray, out: Sequence[int], attrs: Attributes, kernel: Sequence[int], fill: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """For each tap of a window what it meets, (batch, channels, *out); and how many taps lie inside at each place."""
    sizes = x.shape[2:]
    need = [
        (o - 1) * s + d * (k - 1) + 1
        for o, s, d, k in zip(out, attrs["strides"], attrs["dilations"], kernel, strict=True)
    ]
    around = [(b, max(0, n - size - b)) for n, size, b in zip(need, sizes, attrs["before"], strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *around], constant_values=fill)
    inside = np.pad(np.ones(sizes, np.int64), around)
    taps, counts = [], np.zeros(tuple(out), np.int64)
    for place in product(*map(range, kernel)):
        cut = tuple(
            slice(p * d, p * d + (o - 1) * s + 1, s)
            for p, d, o, s in zip(place, attrs["dilations"], out, attrs["strides"], strict=True)
        )
        taps.append(padded[(slice(None), slice(None), *cut)])
        counts += inside[cut]
    return taps, counts


def _along(numbers: Sequence[int], rank: int) -> np.ndarray:
    return np.asarray(numbers, np.int64).reshape(1, -1, *[1] * (rank - 2))


def _held(steps: np.ndarray, attrs: Attributes) -> np.ndarray:
    result: np.ndarray = np.clip(steps + attrs["y_zero"], attrs["low"], attrs["high"]).astype(np.int8)
    return result


def q_conv(x: np.ndarray, w: np.ndarray, bias: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Channels first."""
    kernel, groups = w.shape[2:], attrs["groups"]
    out = [
        (size + b + a - d * (k - 1) - 1) // s + 1
        for size, b, a, d, k, s in zip(
            x.shape[2:], attrs["before"], attrs["after"], attrs["dilations"], kernel, attrs["strides"], strict=True
        )
    ]
    taps, _ = _window_taps(x.astype(np.int64), out, attrs, kernel, attrs["x_zero"])
    total = np.zeros((x.shape[0], w.shape[0], *out), np.float64)
    rows = w.astype(np.float64).reshape(groups, w.shape[0] // groups, w.shape[1], -1)
    for place, tap in enumerate(taps):
        inner = (tap - attrs["x_zero"]).astype(np.float64)
        parts = inner.reshape(x.shape[0], groups, w.shape[1], -1)
        # float64 holds every sum of products of 8-bit numbers exactly.
        total += np.einsum("ngcp,goc->ngop", parts, rows[..., place]).reshape(total.shape)
    summed = total.astype(np.int64) + _along(list(bias), x.ndim)
    multipliers, shifts = _along(attrs["multipliers"], x.ndim), _along(attrs["shifts"], x.ndim)
    return _held(nearest(summed, multipliers, shifts), attrs)


def q_dense(x: np.ndarray, w: np.ndarray, bias: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Rows by rows of weights."""
    total = (x.astype(np.float64) - attrs["x_zero"]) @ w.astype(np.float64).T
    summed = total.astype(np.int64) + bias.astype(np.int64)
    multipliers, shifts = (np.asarray(attrs[name], np.int64) for name in ("multipliers", "shifts"))
    return _held(nearest(summed, multipliers, shifts), attrs)


def q_matmul(a: np.ndarray, b: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Products of matrices."""
    total = (a.astype(np.float64) - attrs["a_zero"]) @ (b.astype(np.float64) - attrs["b_zero"])
    return _held(nearest(total, attrs["multiplier"], attrs["shift"]), attrs)


def _sum(a: np.ndarray, b: np.ndarray, attrs: Attributes, minus: bool) -> np.ndarray:
    found = sum_of(attrs, minus=minus)
    assert found is not None
    result: np.ndarray = np.clip(summed(a, b, found), attrs["low"], attrs["high"]).astype(np.int8)
    return result


def q_mul(a: np.ndarray, b: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Products, element by element."""
    total = (a.astype(np.int64) - attrs["a_zero"]) * (b.astype(np.int64) - attrs["b_zero"])
    found = product_scaling(attrs)
    return _held(nearest(total, found[0], found[1]), attrs)


def product_scaling(attrs: Attributes) -> tuple[int, int]:
    """Multiplier and shift of `q_mul`."""
    found = scaling([attrs["a_scale"] * attrs["b_scale"] / attrs["y_scale"]])
    return found.multipliers[0], found.shifts[0]


def mean_scaling(attrs: Attributes, count: int) -> tuple[int, int]:
    """Multiplier and shift of an average of so many elements."""
    found = scaling([attrs["x_scale"] / (attrs["y_scale"] * count)])
    return found.multipliers[0], found.shifts[0]


def shares_scale(attrs: Attributes) -> bool:
    """Whether an average is in the steps of what it is over, as ONNX Runtime's quantiser makes it."""
    return bool(np.float32(attrs["x_scale"]) == np.float32(attrs["y_scale"]))


def centred(attrs: Attributes) -> Attributes:
    """An average with the zero points that it is computed with: ``even_codes`` says that ties go to even codes, not to
    even distances from the zero point. Then all of the zero points is taken off the operand.
    """
    if not attrs["even_codes"]:
        return attrs
    return {**attrs, "x_zero": attrs["x_zero"] - attrs["y_zero"], "y_zero": 0}


def _mean(total: np.ndarray, counts: np.ndarray, attrs: Attributes) -> np.ndarray:
    if shares_scale(attrs):
        result: np.ndarray = np.clip(averaged(total, counts) + attrs["y_zero"], attrs["low"], attrs["high"])
        return result.astype(np.int8)
    pairs = {int(count): mean_scaling(attrs, int(count)) for count in np.unique(counts)}
    by, shifts = (np.vectorize(lambda count, place=place: pairs[int(count)][place])(counts) for place in (0, 1))
    return requantised(total, by, shifts, attrs["y_zero"], attrs["low"], attrs["high"])


def q_pool_avg(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Channels first; ``divisor`` 0 counts the elements that each window meets."""
    out = [
        (size + b + a - d * (k - 1) - 1) // s + 1
        for size, b, a, d, k, s in zip(
            x.shape[2:],
            attrs["before"],
            attrs["after"],
            attrs["dilations"],
            attrs["kernel"],
            attrs["strides"],
            strict=True,
        )
    ]
    attrs = centred(attrs)
    taps, counts = _window_taps(x.astype(np.int64) - attrs["x_zero"], out, attrs, attrs["kernel"], 0)
    counts = np.full_like(counts, attrs["divisor"]) if attrs["divisor"] else counts
    return _mean(np.sum(taps, axis=0), counts, attrs)


def q_mean(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Over some axes, which are kept."""
    axes = tuple(attrs["axes"])
    count = int(np.prod([x.shape[axis] for axis in axes]))
    total = (x.astype(np.int64) - attrs["x_zero"]).sum(axes, keepdims=True)
    return _mean(total, np.array(count), attrs)


def q_pool_max(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Channels first; what lies in the padding counts for nothing."""
    out = [
        (size + b + a - d * (k - 1) - 1) // s + 1
        for size, b, a, d, k, s in zip(
            x.shape[2:],
            attrs["before"],
            attrs["after"],
            attrs["dilations"],
            attrs["kernel"],
            attrs["strides"],
            strict=True,
        )
    ]
    taps, _ = _window_taps(x, out, attrs, attrs["kernel"], -128)
    result: np.ndarray = np.clip(np.max(taps, axis=0), attrs["low"], attrs["high"]).astype(np.int8)
    return result


def exponentials(scale: float, count: int) -> np.ndarray:
    """``exp(-d * scale)`` for differences d from 0 to 255, in units so small that so many of them fit in 32 bits."""
    unit = 2.0 ** np.floor(np.log2((2.0**32 - 1) / max(count, 2)))
    result: np.ndarray = np.rint(np.exp(-np.arange(256) * float(scale)) * min(unit, 2.0**30)).astype(np.int64)
    return result


def q_softmax(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Exponentials from a table, and their shares of the sum: rounded to the nearest step, a half upwards."""
    axis = attrs["axis"]
    moved = np.moveaxis(x, axis, -1).astype(np.int64)
    table = exponentials(attrs["x_scale"], moved.shape[-1])
    each = table[moved.max(-1, keepdims=True) - moved]
    total = each.sum(-1, keepdims=True)
    found = (2 * each * attrs["steps"] + (total << SHARE_BITS)) // (2 * total << SHARE_BITS)
    result: np.ndarray = np.moveaxis(np.clip(found + attrs["y_zero"], -128, 127), -1, axis).astype(np.int8)
    return result


def softmax_steps(y_scale: float, *, is_whole: bool) -> int:
    """How many steps a share of 1 is, in units of ``2**-SHARE_BITS``.

    Args:
        y_scale: A step.
        is_whole: Whole ones alone, and counted in float32, as ONNX Runtime's QLinearSoftmax does.

    Raises:
        OverflowError: They are 2**24 or more.
    """
    steps = float(np.floor(np.float32(1.0) / np.float32(y_scale))) if is_whole else 1.0 / y_scale
    if steps >= 2.0**_MOST_STEPS:
        raise OverflowError(f"{steps:.3g} steps")
    return round(steps * (1 << SHARE_BITS))


def q_lookup(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Any function of a code."""
    return np.asarray(attrs["table"], np.int8)[x.astype(np.int64) + 128]


def quantize(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """Divided in float32, rounded half to even; turned if there is an ``order``."""
    steps = in_steps(x, attrs["scale"], attrs["zero"])
    return steps.transpose(attrs["order"]) if "order" in attrs else steps


def dequantize(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """In float32."""
    result: np.ndarray = ((x.astype(np.int32) - attrs["zero"]).astype(np.float32) * np.float32(attrs["scale"])).astype(
        np.float32
    )
    return result


def q_flip(x: np.ndarray, attrs: Attributes) -> np.ndarray:
    """uint8 to int8 that is less by 128, or back."""
    return (x.view(np.uint8) ^ np.uint8(128)).view(np.int8 if x.dtype == np.uint8 else np.uint8)


REFERENCES: Mapping[str, Reference] = {
    "dequantize": dequantize,
    "q_add": lambda a, b, attrs: _sum(a, b, attrs, minus=False),
    "q_conv": q_conv,
    "q_dense": q_dense,
    "q_flip": q_flip,
    "q_lookup": q_lookup,
    "q_matmul": q_matmul,
    "q_mean": q_mean,
    "q_mul": q_mul,
    "q_pool_avg": q_pool_avg,
    "q_pool_max": q_pool_max,
    "q_softmax": q_softmax,
    "q_sub": lambda a, b, attrs: _sum(a, b, attrs, minus=True),
    "quantize": quantize,
}


def computed(name: str, operands: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> np.ndarray:
    """The result of an instruction, channels first or, where its name ends in ``_last``, last."""
    if not name.endswith("_last"):
        return REFERENCES[name](*operands, attrs)
    first = [np.moveaxis(each, -1, 1) if each.ndim > 2 else each for each in operands]
    return np.moveaxis(REFERENCES[name.removesuffix("_last")](*first, attrs), 1, -1)
