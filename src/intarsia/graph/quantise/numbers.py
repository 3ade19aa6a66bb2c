"""Numbers in 8 bits: scales, zero points and rounding, as ONNX defines ``QuantizeLinear``."""

from __future__ import annotations

import numpy as np

LEVELS = 255
"""Steps of ``uint8``."""
WEIGHT_MAX = 127
"""Weights keep to ±127, so that what is negative has an equal that is positive."""
_BIAS_MAX = 2**31 - 1
_TINY = float(np.finfo(np.float32).tiny)
"""The least scale: kernels flush what is smaller to zero, and divide by it."""


def quantised_weight(weight: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """A weight as ``int8``, and the scale of each channel along ``axis``.

    A channel that is zero throughout gets the scale 1. The error of an element is at most half its channel's scale.
    """
    others = tuple(dim for dim in range(weight.ndim) if dim != axis)
    largest = np.abs(weight).max(axis=others, keepdims=True, initial=0.0).astype(np.float64)
    scales = np.where(largest > 0.0, np.maximum(largest / WEIGHT_MAX, _TINY), 1.0).astype(np.float32)
    steps = np.clip(np.rint(weight / scales), -WEIGHT_MAX, WEIGHT_MAX).astype(np.int8)
    return steps, scales.reshape(-1)


def weight_terms(weight: np.ndarray, axis: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """A weight as a sum of so many in 8 bits, each with its scales: each rounds what those before it leave."""
    terms = []
    rest = weight
    for _ in range(count):
        steps, scales = quantised_weight(rest, axis)
        along = scales.reshape([-1 if dim == axis else 1 for dim in range(weight.ndim)])
        rest = (rest - steps * along.astype(np.float64)).astype(np.float32)
        terms.append((steps, scales))
    return terms


def activation_scale(low: float, high: float) -> tuple[np.float32, np.uint8]:
    """Scale and zero point of a ``uint8`` value of this range, which is widened to hold zero."""
    low, high = min(low, 0.0), max(high, 0.0)
    if not high > low:
        return np.float32(1.0), np.uint8(0)
    scale = np.float32(max((high - low) / LEVELS, _TINY))
    return scale, np.uint8(np.clip(np.rint(-low / float(scale)), 0, LEVELS))


def quantised_bias(bias: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """A bias as ``int32`` in steps of the product's scales."""
    steps: np.ndarray = np.clip(np.rint(bias.astype(np.float64) / scales), -_BIAS_MAX, _BIAS_MAX)
    return steps.astype(np.int32)
