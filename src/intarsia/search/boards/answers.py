"""What candidates must compute: the reference's answers, as far as it has any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from intarsia.runtime.tolerance import LARGEST, Tolerance, counts_steps
from intarsia.runtime.verify import deviations

MOST_STEPS = 3
"""How far an integer may be from what other kernels compute: roundings differ by a step, and add up over layers."""
MOST_ERROR = 0.05
"""The same for what is larger, as a part of the range of the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The reference's answers to the inputs on which candidates are counted.

    Attributes:
        values: By output. An output that the reference cannot compute is not there.
        tolerances: What rounding inside the model leaves open of them.
    """

    values: Mapping[str, np.ndarray]
    tolerances: Mapping[str, Tolerance] = field(default_factory=lambda: MappingProxyType({}))

    def distance(self, results: Mapping[str, np.ndarray]) -> float:
        """How far results are from the reference's, as a share of what is allowed; above 1 they are wrong."""
        found = deviations(results, self.values, self.tolerances)
        return max((each.error / each.allowed if each.allowed else each.error for each in found), default=0.0)

    def fault(self, results: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray] | None = None) -> str:
        """How results are wrong; empty if they are right.

        Args:
            results: By output.
            others: What kernels that answer rightly compute, by output. A model that rounds inside leaves open much
                that kernels of one network do not differ in.
        """
        for found in deviations(results, self.values, self.tolerances):
            if not found.is_acceptable:
                return f"{found}, against the reference"
        for name in results if others else ():
            error, most = _difference(results[name], (others or {})[name], self.tolerances.get(name))
            if not error <= most:  # nor is it if it is no number
                return f"{name} differs by {error:.3g} from what the other kernels compute"
        return ""


def _difference(found: np.ndarray, right: np.ndarray, tolerance: Tolerance | None = None) -> tuple[float, float]:
    """The largest difference, and how large it may be: as large as roundings that fall the other way make it."""
    if not right.size:
        return 0.0, 0.0
    wide, other = right.astype(np.float64), found.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    span, peak = (float(np.ptp(finite)), float(np.abs(finite).max())) if finite.size else (0.0, 0.0)
    if counts_steps(right.dtype):
        peak = 1.0
    moved = 0.0 if tolerance is None else tolerance.largest / LARGEST * peak
    least = MOST_STEPS if right.dtype.kind in "iub" else 1e-5
    same = (wide == other) | (np.isnan(wide) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        return float(np.where(same, 0.0, np.abs(wide - other)).max()), max(least, MOST_ERROR * span, moved)
