"""Weights in 12, 8 or 4 bits with a scale for each block of 32, as ``DequantizeLinear`` restores them since opset 21.

The blocks lie along the first axis, which a product sums over. Engines keep such a weight packed, and restore it in the
product's own kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

BLOCK = 32
"""Elements that share a scale: what the kernels of all engines take, and what fits into their registers."""
ORIGIN = 128
"""Of codes in 8 bits, which are unsigned: ``session.x64quantprecision`` makes ONNX Runtime 1.31 rewrite signed ones,
which fails on blocks."""
_MIDDLE = 8
"""What stands for zero where codes of 4 bits are packed."""
_MOST = {12: 2047, 8: 127, 4: 7}
"""Largest code by bits: as many steps below zero as above it."""
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """A matrix in few bits.

    Attributes:
        codes: ``int16`` in 12 bits, ``uint8`` around 128, or ``int4``.
        scales: The step of each block, of each column.
    """

    codes: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, weight: np.ndarray, bits: int) -> Blocks:
        """A matrix in blocks along its first axis; the last block may be shorter.

        A block that is zero throughout gets the scale 1. The error of an element is at most half its block's step.
        """
        starts = np.arange(0, weight.shape[0], BLOCK)
        largest = np.maximum.reduceat(np.abs(weight), starts, axis=0)
        steps = np.maximum(largest.astype(np.float64) / _MOST[bits], _TINY).astype(np.float32)
        scales = np.ascontiguousarray(np.where(largest > 0.0, steps, np.float32(1.0)))
        codes = np.divide(weight, _along(scales, weight.shape[0]), order="C")
        np.rint(codes, out=codes)
        np.clip(codes, -_MOST[bits], _MOST[bits], out=codes)
        if bits == 8:
            return cls(codes=(codes + ORIGIN).astype(np.uint8), scales=scales)
        if bits == 12:
            return cls(codes=codes.astype(np.int16), scales=scales)
        return cls(codes=codes.astype(np.int8).astype(ml_dtypes.int4), scales=scales)

    def parts(self) -> tuple[tuple[str, np.ndarray], ...]:
        """What ``DequantizeLinear`` reads, in its order, each with a name."""
        parts = (("codes", self.codes), ("scales", self.scales))
        if self.codes.dtype != np.uint8:
            return parts
        return (*parts, ("origins", np.full(self.scales.shape, ORIGIN, np.uint8)))

    def restored(self) -> np.ndarray:
        """The fp32 numbers that they stand for."""
        counted = self.codes.astype(np.float32)
        if self.codes.dtype == np.uint8:
            counted -= np.float32(ORIGIN)
        counted *= _along(self.scales, self.codes.shape[0])
        return counted


def _along(scales: np.ndarray, length: int) -> np.ndarray:
    along: np.ndarray = np.repeat(scales, BLOCK, axis=0)[:length]
    return along


def packed(codes: np.ndarray) -> np.ndarray:
    """Codes as bytes: for each column its blocks, unsigned; two of 4 bits share a byte, the first low. In 12 bits there
    are the high 8 of each, signed, and behind these the low 4.
    """
    length, columns = codes.shape
    count = -(-length // BLOCK)
    is_byte, is_wide = codes.dtype == np.uint8, codes.dtype == np.int16
    dtype, middle = (np.int16, 0) if is_wide else (np.uint8, ORIGIN if is_byte else _MIDDLE)
    whole = np.full((columns, count * BLOCK), middle, dtype)
    whole[:, :length] = (codes if is_byte or is_wide else codes.astype(np.int8) + np.int8(_MIDDLE)).T
    if is_wide:
        high = (whole >> 4).astype(np.int8).view(np.uint8).reshape(columns, count, BLOCK)
        low = _halves((whole & 15).astype(np.uint8)).reshape(columns, count, -1)
        return np.concatenate([high, low], axis=2)
    return (whole if is_byte else _halves(whole)).reshape(columns, count, -1)


def _halves(numbers: np.ndarray) -> np.ndarray:
    """Numbers of 4 bits, two in a byte, the first low."""
    both: np.ndarray = numbers[..., ::2] | (numbers[..., 1::2] << 4)
    return both


def _apart(both: np.ndarray) -> np.ndarray:
    """What `_halves` put together, in fp32."""
    numbers = np.empty((*both.shape[:-1], 2 * both.shape[-1]), np.float32)
    numbers[..., ::2] = both & 15
    numbers[..., 1::2] = both >> 4
    return numbers


def unpacked(content: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The fp32 numbers that packed codes and their scales stand for: a row for each column, whole blocks."""
    columns, _, size = content.shape
    if size == BLOCK:
        codes = content.astype(np.float32) - np.float32(ORIGIN)
    elif size < BLOCK:
        codes = _apart(content) - np.float32(_MIDDLE)
    else:
        codes = content[..., :BLOCK].view(np.int8) * np.float32(16.0) + _apart(content[..., BLOCK:])
    codes *= scales[..., None]
    return codes.reshape(columns, -1)
