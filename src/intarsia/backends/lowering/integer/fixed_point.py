"""How a sum of products becomes 8 bits again without floating point, and the rounding of it, stated once.

An accumulator stands for the real number ``accumulator * scale``, in steps of the result. A multiplier ``m`` of up to
31 bits and a shift ``s`` say the scale as ``m / 2**s``. All channels of a layer share ``s``.

Two roundings are in use:

- *As float32 rounds*: the product is rounded to 24 digits, and then to the nearest step, a half to the even neighbour
  each time. It is computed in integers, and gives the bits of ONNX Runtime's ``rint(float32(accumulator) *
  float32(scale))`` for accumulators below 2**24, where the multiplier holds all 24 digits of the scale: for all
  channels whose scale is not below a 128th of the layer's greatest. Layers and products of matrices are defined so,
  by `nearest`.
- *Once*: ``clamp(zero + floor((accumulator * m + 2**(s - 1)) / 2**s), low, high)``, with the product in 64 bits: to the
  nearest step, a half upwards, by `requantised`. From ``s`` = 32 on the upper half of the product is all that is
  needed, which Cortex-M4 and MVE have as one instruction.

`fitted` moves multipliers by a few units, so that the second rounding gives the same steps as the first for nearly all
accumulators. The kernels for Cortex-M take those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

HIGH_HALF = 32
_MOST_EXACT = 52
"""Shifts up to which the steps are fitted: the products stay within 64 bits."""
_BITS = 31
_DIGITS = 24
"""Of a float32."""
_NEAR = 20
"""Bits of a multiplier that fitting leaves as they are."""
_SPREAD = 0.25
"""Standard deviation of results, as a share of the greatest, for which fitting weighs what it misses: calibration
takes the range from the extremes, so most results are far within."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Scales as integers.

    Attributes:
        multipliers: From 0 to 2**31 - 1.
        shifts: How many bits each product is shifted to the right, from 1 to 62.
    """

    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]


def scaling(scales: Sequence[float] | np.ndarray) -> Scaling:
    """Multipliers of these scales, one for each output channel or a single one, with one shift for all.

    Raises:
        OverflowError: A scale is 2**30 or more.
    """
    exact = np.asarray(scales, np.float64).reshape(-1)
    _, shift = normalised(float(exact.max()))
    multipliers = np.minimum(np.rint(exact * 2.0**shift), 2.0**_BITS - 1)
    return Scaling(multipliers=tuple(int(number) for number in multipliers), shifts=(shift,) * exact.size)


def nearest(total: np.ndarray, multipliers: np.ndarray | int, shifts: np.ndarray | int) -> np.ndarray:
    """Steps of accumulators, rounded as float32 rounds; multipliers and shifts broadcast against them."""
    shift = np.asarray(shifts, np.int64)
    half = np.int64(1) << (shift - 1)
    product = total.astype(np.int64) * np.asarray(multipliers, np.int64)
    steps = (product + half) >> shift
    behind = product + half - (steps << shift)
    lower = np.where(behind < half, steps - 1, steps)
    away = np.where(behind < half, behind, 2 * half - behind)
    # Numbers so near to the middle between two steps are that middle in float32: half the distance of two numbers of
    # 24 digits there, which halves below a power of two. Among the middles only 1/2 is one.
    twice = np.abs(2 * lower + 1)
    coarse = np.frexp(twice.astype(np.float64))[1] - 1 - ((twice == 1) & (np.abs(product) < half))
    reach = half >> np.clip(_DIGITS - coarse, 0, 2 * _BITS)
    found: np.ndarray = np.where(away <= reach, lower + (lower & 1), steps)
    return found


def fitted(plain: Scaling, zero: int, low: int, high: int) -> tuple[int, ...]:
    """Multipliers that come next to `nearest` with one rounding, and a half upwards.

    Each is moved so that every step begins at the accumulator at which it begins there. In about a third of all
    channels no number serves all steps; then one is taken that misses steps which few results reach. What it misses is
    one step, for one accumulator.

    Args:
        plain: Multipliers and shift of the scales.
        zero: Of the result.
        low: Least result.
        high: Greatest result.
    """
    shift = plain.shifts[0]
    nominal = np.asarray(plain.multipliers, np.int64)
    if not 1 < shift <= _MOST_EXACT or high <= low:
        return plain.multipliers
    below = np.arange(low - zero, high - zero, dtype=np.int64)[None, :]
    first = _first(below, nominal[:, None], shift)
    # The product has to reach the middle between two steps at the first accumulator, and not at the one before.
    middle = (2 * below + 1) << (shift - 1)
    at, before = np.where(first == 0, 1, first), np.where(first == 1, 2, first) - 1
    least = np.maximum(np.where(first > 0, -(-middle // at), 0), np.where(first < 1, middle // before + 1, 0))
    no_bound = np.int64(2**_BITS - 1)
    most = np.minimum(
        np.where(first < 0, middle // at, no_bound), np.where(first > 1, -(-middle // before) - 1, no_bound)
    )
    spread = _SPREAD * max(abs(low - zero), abs(high - zero))
    likely = np.exp(-0.5 * ((below[0] + 0.5) / spread) ** 2)
    return tuple(_within(*row, likely) for row in zip(nominal, least, most, strict=True))


def _within(nominal: np.int64, least: np.ndarray, most: np.ndarray, likely: np.ndarray) -> int:
    """The number next to the nominal one that lies between these bounds, or between the likeliest of them."""
    low, high = int(least.max()), int(most.min())
    if low <= high:
        return int(np.clip(nominal, low, high))
    tried = np.unique(np.concatenate([[nominal], least[least > nominal], most[most < nominal]]))
    tried = tried[np.abs(tried - nominal) <= nominal >> _NEAR]
    missed = ((tried[:, None] < least) | (tried[:, None] > most)) @ likely
    order = np.lexsort((np.abs(tried - nominal), missed))
    return int(tried[order[0]])


def _first(below: np.ndarray, multipliers: np.ndarray, shift: int) -> np.ndarray:
    """The first accumulator of each channel whose result is beyond each step, within what 31 bits hold."""
    scales = np.maximum(multipliers * 2.0**-shift, 1e-30)
    guess = np.clip(np.floor((below + 0.5) / scales), -(2.0**30), 2.0**30).astype(np.int64)
    first: np.ndarray = guess + 3
    for nearer in (2, 1, 0, -1, -2):
        first = np.where(nearest(guess + nearer, multipliers, shift) > below, guess + nearer, first)
    return first


def normalised(scale: float) -> tuple[int, int]:
    """Multiplier from 2**30 and shift of one scale; scales too small to show are 0.

    Raises:
        OverflowError: The scale is 2**30 or more.
    """
    fraction, exponent = np.frexp(scale)
    multiplier, shift = int(np.rint(float(fraction) * 2.0**_BITS)), _BITS - int(exponent)
    if multiplier == 1 << _BITS:
        multiplier, shift = multiplier >> 1, shift - 1
    if shift > 2 * _BITS or multiplier == 0:
        return 0, 1
    if shift < 1:
        raise OverflowError(f"a scale of {scale}")
    return multiplier, shift


def doubled(multiplier: int, shift: int) -> tuple[int, int]:
    """The same scale as CMSIS-NN and TensorFlow Lite write it: a multiplier in Q31 and a shift to the left."""
    again, right = normalised(multiplier / 2.0**shift)
    return again, _BITS - right


def requantised(
    total: np.ndarray,
    multipliers: np.ndarray | int,
    shifts: np.ndarray | int,
    zero: int,
    low: int = -128,
    high: int = 127,
) -> np.ndarray:
    """Accumulators as int8; multipliers and shifts broadcast against them."""
    product = total.astype(np.int64) * np.asarray(multipliers, np.int64)
    shift = np.asarray(shifts, np.int64)
    steps = (product + (np.int64(1) << (shift - 1))) >> shift
    held: np.ndarray = np.clip(steps + zero, low, high).astype(np.int8)
    return held


def in_steps(numbers: np.ndarray | float, scale: float, zero: int) -> np.ndarray:
    """Numbers as int8 as QuantizeLinear makes them: divided in float32, rounded half to even, moved, held in range."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.asarray(numbers, np.float32) / np.float32(scale))
    held: np.ndarray = np.clip(np.nan_to_num(steps, nan=0.0) + zero, -128, 127).astype(np.int8)
    return held


def averaged(total: np.ndarray, count: np.ndarray | int) -> np.ndarray:
    """Sums over so many numbers as steps of the same scale, in integers: a half to the even neighbour.

    Where operand and result share their scale, ties are frequent, and ONNX Runtime rounds them so.
    """
    twice = 2 * np.asarray(count, np.int64)
    moved = 2 * total.astype(np.int64) + count
    steps = moved // twice
    found: np.ndarray = steps - ((moved % twice == 0) & (steps % 2 != 0))
    return found
