"""Sums of two values in 8 bits: each code times a multiplier, the upper halves of the products added and shifted.

One rounding, to the nearest step. The numbers are moved by so little that all 65,536 pairs of codes give what ONNX
Runtime computes in float32, where some numbers do so. Where scales make many ties, as powers of two do, a half goes to
the even neighbour as there; else it goes upwards, and is seldom met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from intarsia.backends.lowering.integer.fixed_point import HIGH_HALF
from intarsia.backends.lowering.program import Attributes

LIFT = 23
"""Bits that a code is moved up before it is multiplied, so that the upper half of the product keeps its digits."""
_BITS = 31
_CLOSE = 1e-4
"""Steps: sums nearer than this to the middle between two steps may fall on either side."""
_MANY = 512
"""Pairs of codes that are so close: more are ties, which no moved numbers send each to its even code."""
_SLOPES = np.array(sorted(range(-128, 129, 8), key=abs))
_OFFSETS = np.array(sorted(range(-40, 41), key=abs))
"""How far the numbers are moved: each is less than float32 tells apart near the ends of the range."""

End = tuple[float, int]
"""Scale and zero point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """``a * x + b * y`` in steps of a result, within 32 bits, as `summed` computes it.

    Attributes:
        first: Multiplier of the one operand's codes.
        second: Of the other's.
        offset: Zero points, and a half for the rounding: to the nearest step, a half upwards.
        shift: Bits to the right.
        even: The last bit of the codes to which ties go; ``None`` where they go upwards.
    """

    first: int
    second: int
    offset: int
    shift: int
    even: int | None = None


@lru_cache(maxsize=1024)
def weighted_sum(a: End, b: End, y: End, *, minus: bool = False, behind: int = 0) -> Sum | None:
    """The sum or difference of two values; ``None`` where 32 bits do not hold it.

    Args:
        a: The one operand.
        b: The other.
        y: The result.
        minus: For the difference.
        behind: How far codes lie behind those of the model: 128 where that says uint8.
    """
    first, second = a[0] / y[0], b[0] / y[0]
    room = 2.0**_BITS / (512.0 * max(first, second) + 130.0)
    if room < 2.0:
        return None
    shift = min(int(np.floor(np.log2(room))), _BITS - 1)
    sign = -1 if minus else 1
    by = [int(np.rint(ratio * 2.0 ** (shift + HIGH_HALF - LIFT))) for ratio in (first, second)]
    # What the two upper halves lose is half a unit each, on average.
    moved = y[1] - a[1] * first - sign * b[1] * second
    offset = int(np.rint(moved * 2.0**shift)) + (1 << (shift - 1)) + 1
    plain = Sum(first=by[0], second=sign * by[1], offset=offset, shift=shift)
    return _moved(plain, a, b, y, minus=minus, behind=behind)


def sum_of(attrs: Attributes, *, minus: bool) -> Sum | None:
    """That of ``q_add`` or ``q_sub``."""
    a, b, y = ((attrs[f"{name}_scale"], attrs[f"{name}_zero"]) for name in ("a", "b", "y"))
    return weighted_sum(a, b, y, minus=minus, behind=attrs["behind"])


def summed(a: np.ndarray, b: np.ndarray, by: Sum) -> np.ndarray:
    """Steps, before they are held: each code moved up by `LIFT` bits, the upper halves of the products added."""
    first, second = ((each.astype(np.int64) << LIFT) * m >> HIGH_HALF for each, m in ((a, by.first), (b, by.second)))
    total = first + second + by.offset
    if by.even is not None:
        total = total - ((total >> by.shift) + by.even & 1)
    steps: np.ndarray = total >> by.shift
    return steps


def as_float32(p: np.ndarray, q: np.ndarray, a: End, b: End, y: End, *, minus: bool = False) -> np.ndarray:
    """What ONNX Runtime computes, before it is held: `MlasQLinearAdd`, with fused products; floats for a difference.

    Codes and zero points are the model's.
    """
    p, q = p.astype(np.float64), q.astype(np.float64)
    if minus:
        floats = ((each - end[1]).astype(np.float32) * np.float32(end[0]) for each, end in ((p, a), (q, b)))
        steps: np.ndarray = np.rint(np.subtract(*floats) / np.float32(y[0])) + y[1]
        return steps
    first, second = (np.float32(end[0]) / np.float32(y[0]) for end in (a, b))
    zeros = np.float32(np.float64(first) * a[1] + np.float64(second * np.float32(b[1])))
    fixed = np.float32(y[1]) - zeros
    inner = (q * np.float64(second) + np.float64(fixed)).astype(np.float32)
    total: np.ndarray = np.rint((p * np.float64(first) + inner.astype(np.float64)).astype(np.float32))
    return total


def _moved(plain: Sum, a: End, b: End, y: End, *, minus: bool, behind: int) -> Sum:
    """The sum whose numbers are moved as little as makes the fewest pairs of codes differ from `as_float32`."""
    sign = -1 if minus else 1
    p, q = (each.reshape(-1) for each in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    exact = ((p - a[1]) * a[0] + sign * (q - b[1]) * b[0]) / y[0] + y[1]
    is_close = (np.abs(exact - np.floor(exact) - 0.5) < _CLOSE) & (np.abs(exact) < 129)
    p, q = p[is_close], q[is_close]
    ends = [(scale, zero + behind) for scale, zero in (a, b, y)]
    wanted = np.clip(as_float32(p + behind, q + behind, *ends, minus=minus) - behind, -128, 127)

    if p.size > _MANY:
        exact_parts = plain.first % (1 << HIGH_HALF - LIFT) == 0 == plain.second % (1 << HIGH_HALF - LIFT)
        # A sum is rounded with its zero point, a difference without.
        return replace(plain, offset=plain.offset - 1, even=y[1] % 2 if minus else 0) if exact_parts else plain
    if (np.clip(summed(p, q, plain), -128, 127) == wanted).all():
        return plain
    parts = [
        (codes.astype(np.int64) << LIFT) * (by + _SLOPES[:, None]) >> HIGH_HALF
        for codes, by in ((p, plain.first), (q, plain.second))
    ]
    least, best = p.size, plain
    for slope, first in zip(_SLOPES, parts[0], strict=True):
        totals = first + parts[1][:, None, :] + plain.offset + _OFFSETS[:, None]
        missed = (np.clip(totals >> plain.shift, -128, 127) != wanted).sum(2)
        if missed.min() < least:
            least = int(missed.min())
            other, offset = np.unravel_index(int(missed.argmin()), missed.shape)
            best = replace(
                plain,
                first=plain.first + int(slope),
                second=plain.second + int(_SLOPES[other]),
                offset=plain.offset + int(_OFFSETS[offset]),
            )
    return best
