"""Rounds weights so that the errors of a sum cancel on average.

A product sums weights times values. Rounded to the nearest, weights have independent errors, but values do not vary
freely: behind a ``Relu`` none is negative. So each sum is off by about the same on every input: by its weights' errors
times the means of the values. Here some weights that lie near the middle between two numbers are rounded the other way,
until these products cancel. It costs nothing when the model runs.

Source of taking off what is wrong on average: Nagel et al., "Data-Free Quantization Through Weight Equalization and
Bias Correction" (2019); of choosing the direction: Nagel et al., "Up or Down? Adaptive Rounding for Post-Training
Quantization" (2020).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Protocol

import ml_dtypes
import numpy as np

from intarsia.config.precision import Means

if TYPE_CHECKING:
    from intarsia.graph.quantise.layers import Layer

_TYPES: Mapping[str, np.dtype] = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}
_MOST = {name: float(np.nextafter(type_.type(np.inf), type_.type(0))) for name, type_ in _TYPES.items()}
"""The largest number of each."""
_STORED = np.dtype("<f2")
"""A mean to three digits does as well as an exact one."""
_LARGEST = float(np.finfo(_STORED).max)
_ELEMENTS = 1 << 18
"""Of a weight that are looked at in one go, so that what is computed of them stays in a cache."""
_CANDIDATES = 512
"""Of an output's elements those that may be turned, spread evenly over all."""


def means_text(means: np.ndarray) -> Means:
    """The mean of each channel as text."""
    return base64.b64encode(np.clip(means, -_LARGEST, _LARGEST).astype(_STORED).tobytes()).decode("ascii")


def means_of(text: Means) -> np.ndarray:
    """What `means_text` wrote; a `ValueError` if it is none."""
    try:
        found = np.frombuffer(base64.b64decode(text, validate=True), _STORED).astype(np.float32)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if not np.isfinite(found).all():
        raise ValueError("a mean is no number")
    return found


def channel_axis(layer: Layer, rank: int) -> int:
    """The axis of what a layer reads that it sums over."""
    return 1 if layer.node.op_type == "Conv" else rank - 1


def along_weight(layer: Layer, weight: np.ndarray, means: np.ndarray) -> np.ndarray:
    """For each element of a layer's weight the mean of what it is multiplied with, in a shape that broadcasts to it.

    Raises:
        ValueError: The layer reads another number of channels.
    """
    node = layer.node
    if node.op_type == "Conv":
        groups = node.attributes.get("group", 1)
        if means.size != groups * weight.shape[1]:
            raise ValueError(f"{means.size} means, and it reads {groups * weight.shape[1]} channels")
        own = np.repeat(means.reshape(groups, -1), weight.shape[0] // groups, axis=0)
        return own.reshape(*own.shape, *(1,) * (weight.ndim - 2))
    axis = 1 if node.attributes.get("transB", 0) else 0
    if means.size != weight.shape[axis]:
        raise ValueError(f"{means.size} means, and it reads {weight.shape[axis]} channels")
    return means.reshape(1, -1) if axis else means.reshape(-1, 1)


def rounded(weight: np.ndarray, means: np.ndarray, axis: int, type_: str) -> np.ndarray:
    """A weight in ``float32`` that holds numbers of a smaller type alone; as it is where that cannot hold them.

    Args:
        means: As `along_weight` gives them.
        axis: That of the outputs.
        type_: ``bf16`` or ``f16``.
    """
    if float(np.abs(weight).max(initial=0.0)) > _MOST[type_]:
        return weight
    return balanced(weight, means, axis, _Floats(_TYPES[type_]))


class Numbers(Protocol):
    """The numbers to which something is rounded."""

    def nearest(self, exact: np.ndarray) -> np.ndarray:
        """Each element as the number next to it."""

    def beyond(self, exact: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        """The number on the other side of each element; the nearest again if there is none."""


@dataclass(frozen=True, slots=True)
class _Floats:
    """Those of a smaller float type."""

    type: np.dtype

    def nearest(self, exact: np.ndarray) -> np.ndarray:
        return exact.astype(self.type).astype(np.float32)

    def beyond(self, exact: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        # Numbers follow each other as the integers that stand for them do.
        step = np.sign(np.abs(exact) - np.abs(nearest)).astype(np.int16)
        other: np.ndarray = (nearest.astype(self.type).view(np.int16) + step).view(self.type).astype(np.float32)
        return other


def balanced(exact: np.ndarray, means: np.ndarray, axis: int, numbers: Numbers) -> np.ndarray:
    """Rounds each element to the nearest number, or to the other next to it where that makes a sum's error cancel.

    Of an output's elements those are turned whose square error grows least for what they take off.

    Args:
        exact: In ``float32``.
        means: Of what is multiplied with each element, in a shape that broadcasts to it.
        axis: That of the outputs.
    """
    shape = np.moveaxis(exact, axis, 0).shape
    rows, along = (
        np.moveaxis(each, axis, 0).reshape(shape[0], -1) for each in (exact, np.broadcast_to(means, exact.shape))
    )
    result = np.empty(rows.shape, np.float32)
    count = max(1, _ELEMENTS // max(rows.shape[1], 1))
    for start in range(0, shape[0], count):
        part = slice(start, start + count)
        result[part] = _balanced(rows[part], along[part], numbers)
    return np.ascontiguousarray(np.moveaxis(result.reshape(shape), 0, axis))


def _balanced(exact: np.ndarray, means: np.ndarray, numbers: Numbers) -> np.ndarray:
    """A row for each output."""
    rounded_ = numbers.nearest(exact)
    off = ((rounded_ - exact) * means).sum(axis=1, dtype=np.float64)[:, None]
    # A sum of so many errors differs by about the root of their number: as many elements take that off.
    columns = slice(None, None, -(-exact.shape[1] // _CANDIDATES))
    exact, means, nearest = exact[:, columns], means[:, columns], rounded_[:, columns]
    other = numbers.beyond(exact, nearest)
    step, error = other - nearest, nearest - exact
    gains = step * means
    gains *= -np.sign(off)
    # The square of the error grows by step * (step + 2 * error), and what it is divided by has the factor `step` too.
    price = step + 2.0 * error
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        price /= means
    np.abs(price, out=price)
    price[~(gains > 0.0)] = np.inf
    most = min(price.shape[1], 4 * isqrt(rounded_.shape[1]) + 16)
    places = np.argpartition(price, most - 1, axis=1)[:, :most]
    places = np.take_along_axis(places, np.argsort(np.take_along_axis(price, places, 1), axis=1), 1)
    taken = np.maximum(np.take_along_axis(gains, places, 1), 0.0)
    done = np.cumsum(taken, axis=1, dtype=np.float64)
    turned, ranks = np.nonzero((taken > 0.0) & (done - taken / 2 < np.abs(off)))
    chosen = places[turned, ranks]
    nearest[turned, chosen] = other[turned, chosen]  # a view of the whole rows
    return rounded_
