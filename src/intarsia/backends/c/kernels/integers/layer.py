"""What all kernels of a layer share: weights in rows, and the zero point of its operand moved into the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intarsia.backends.c.site import NoKernelError, Site


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """Constants of a convolution or a product.

    Attributes:
        rows: int8, (output channels, elements), as a window gathers them.
        bias: int64, less what the zero point of the operand adds: the sum of products starts with it.
        multipliers: int64, one for each output channel: of kernels that round as float32 does.
        fitted: Of kernels that round once.
        shift: Of all of them.
        x_zero: Zero point of the operand.
        y_zero: Of the result.
        low: Least result.
        high: Greatest result.
    """

    rows: np.ndarray
    bias: np.ndarray
    multipliers: np.ndarray
    fitted: np.ndarray
    shift: int
    x_zero: int
    y_zero: int
    low: int
    high: int

    @classmethod
    def of(cls, site: Site) -> Layer:
        """Of an instruction whose weights are known.

        Raises:
            NoKernelError: They are not.
        """
        if 1 not in site.known or 2 not in site.known:
            raise NoKernelError(f"{site.each.name} with weights that are computed")
        attrs = site.attrs
        rows = site.known[1].reshape(site.known[1].shape[0], -1)
        shifts = set(attrs["shifts"])
        if len(shifts) != 1:
            raise NoKernelError(f"{site.each.name} with shifts that differ")
        return cls(
            rows=rows,
            bias=site.known[2].astype(np.int64) - attrs["x_zero"] * rows.astype(np.int64).sum(1),
            multipliers=np.asarray(attrs["multipliers"], np.int64),
            fitted=np.asarray(attrs["fitted"], np.int64),
            shift=shifts.pop(),
            x_zero=attrs["x_zero"],
            y_zero=attrs["y_zero"],
            low=attrs["low"],
            high=attrs["high"],
        )

    def scaling(self, multipliers: np.ndarray) -> np.ndarray:
        """Bias and multiplier of each output channel, as int32."""
        return np.stack([self.bias, multipliers], 1).astype(np.int32)

    @property
    def reach(self) -> np.ndarray:
        """The greatest magnitude that the sum of products of each channel can have, bias and all."""
        reach: np.ndarray = 128 * np.abs(self.rows.astype(np.int64)).sum(1) + np.abs(self.bias)
        return reach
