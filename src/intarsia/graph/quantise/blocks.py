"""Weights in 12, 10, 8, 6 or 4 bits with a scale for each block of 32, as ``DequantizeLinear`` restores them.

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
_MOST = {12: 2047, 10: 511, 8: 127, 6: 31, 4: 7}
"""Largest code by bits: as many steps below zero as above it."""
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """A matrix in few bits.

    Attributes:
        codes: ``int16`` in 12, 10 and 6 bits, ``uint8`` around 128, or ``int4``.
        scales: The step of each block, of each column.
    """

    codes: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, weight: np.ndarray, bits: int) -> Blocks:
        """A matrix in blocks along its first axis; the last block may be shorter.

        A block that is zero throughout gets the scale 1. The error of an element is at most half its block's step.
        In 8 bits and less scales are in ``bfloat16``, so that kernels may read less.
        """
        starts = np.arange(0, weight.shape[0], BLOCK)
        largest = np.maximum.reduceat(np.abs(weight), starts, axis=0)
        steps = np.maximum(largest.astype(np.float64) / _MOST[bits], _TINY).astype(np.float32)
        if bits <= 8:  # of the largest element the code stays the same, and so what is restored is a fixed point
            steps = steps.astype(ml_dtypes.bfloat16).astype(np.float32)
        scales = np.ascontiguousarray(np.where(largest > 0.0, steps, np.float32(1.0)))
        codes = np.divide(weight, _along(scales, weight.shape[0]), order="C")
        np.rint(codes, out=codes)
        np.clip(codes, -_MOST[bits], _MOST[bits], out=codes)
        if bits == 8:
            return cls(codes=(codes + ORIGIN).astype(np.uint8), scales=scales)
        if bits == 4:
            return cls(codes=codes.astype(np.int8).astype(ml_dtypes.int4), scales=scales)
        return cls(codes=codes.astype(np.int16), scales=scales)

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


def bits_of(codes: np.ndarray) -> int:
    """Bits of the codes of `Blocks`: of those in 16 as many as the largest needs."""
    if codes.dtype == np.int16:
        largest = int(np.abs(codes.astype(np.int32)).max(initial=0))
        return next((bits for bits in (6, 10) if largest <= _MOST[bits]), 12)
    return 8 if codes.dtype == np.uint8 else 4


def packed(codes: np.ndarray) -> np.ndarray:
    """Codes as bytes: for each column its blocks, unsigned, and several that are less than a byte in each, the first
    lowest. Of more than 8 bits there are the high 8, signed, and behind these the others; of 6 bits the high 4 first.
    """
    length, columns = codes.shape
    count, bits = -(-length // BLOCK), bits_of(codes)
    dtype, middle = {4: (np.int8, 0), 8: (np.uint8, ORIGIN)}.get(bits, (np.int16, 0))
    whole = np.full((columns, count * BLOCK), middle, dtype)
    whole[:, :length] = codes.T
    if bits == 8:
        parts = [whole]
    elif bits == 4:
        parts = [_joined((whole + np.int8(_MIDDLE)).view(np.uint8), 4)]
    elif bits == 6:
        high = (whole >> 2).astype(np.int8) + np.int8(_MIDDLE)
        parts = [_joined(high.view(np.uint8), 4), _joined((whole & 3).astype(np.uint8), 2)]
    else:
        low = bits - 8
        parts = [(whole >> low).astype(np.int8).view(np.uint8), _joined((whole & (2**low - 1)).astype(np.uint8), low)]
    return np.concatenate([each.reshape(columns, count, -1) for each in parts], axis=2)


def _joined(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of 4 or 2 bits, several in a byte."""
    each = 8 // bits
    joined = numbers[..., ::each].copy()
    for place in range(1, each):
        joined |= numbers[..., place::each] << np.uint8(bits * place)
    return joined


def _apart(joined: np.ndarray, bits: int) -> np.ndarray:
    """What `_joined` put together, in fp32."""
    each = 8 // bits
    numbers = np.empty((*joined.shape[:-1], each * joined.shape[-1]), np.float32)
    for place in range(each):
        numbers[..., place::each] = (joined >> np.uint8(bits * place)) & np.uint8(2**bits - 1)
    return numbers


def unpacked(content: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The fp32 numbers that packed codes and their scales stand for: a row for each column, whole blocks."""
    columns, _, size = content.shape
    if size == BLOCK:
        codes = content.astype(np.float32) - np.float32(ORIGIN)
    elif size < BLOCK:
        half = BLOCK // 2
        codes = _apart(content[..., :half], 4) - np.float32(_MIDDLE)
        if size > half:
            codes = codes * np.float32(4) + _apart(content[..., half:], 2)
    else:
        low = 8 * size // BLOCK - 8
        codes = content[..., :BLOCK].view(np.int8) * np.float32(2**low) + _apart(content[..., BLOCK:], low)
    codes *= scales[..., None]
    return codes.reshape(columns, -1)
