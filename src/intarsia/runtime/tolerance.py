"""How far a value is from another, and how far two right computations of one model may be apart where it rounds inside.

The reference is computed a few times more, with its rounding falling the other way (`graph.reference.perturb`). How far
a value moves then, times a factor, is what it is allowed: no engine is wrong for what the model's own arithmetic leaves
open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

LARGEST, LENGTH = 3.0, 2.0
"""Factors on the movement, by its largest element and by its length. Engines differ by 0.0 to 1.4 times the movement
that three perturbed evaluations show (onnxruntime 1.31 with its optimisations on and off, OpenVINO 2026.4 in f32)."""
FEW = 1.5
"""On top of both where there was time for one perturbed evaluation only: one sees less than the largest of three."""
MOST = 0.5
"""However far a value moves, an answer that differs by more was not shown to be right."""
_STEPS = frozenset({"int8", "uint8", "int4", "uint4", "int2", "uint2"})
_LEAST = {"float16": 6.1e-5, "bfloat16": 1.5e-36, "float32": 9.9e-32, "float64": 1e-292}
"""Below this, what is largest in a value counts as this much: engines flush to zero what is this small. It is the
smallest normal number (of float16 the smallest number) over the distance from 1 to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """How far two arrays are from each other; infinite where shapes or non-finite places differ."""

    largest: float
    """max|a-b| / max|b|; of whole numbers of up to 8 bits max|a-b|, in steps."""
    length: float
    """‖a-b‖₂ / ‖b‖₂; of those whole numbers the root of the mean square, in steps."""
    crest: float = 1.0
    """max|b| over the root of its mean square; 1 for those whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """What a model's own rounding leaves open of one value, in the units of `Apart`."""

    largest: float
    length: float


def counts_steps(dtype: np.dtype) -> bool:
    """Whether values of this type are compared by steps."""
    return dtype.name in _STEPS


def apart(actual: np.ndarray, expected: np.ndarray) -> Apart:
    """How far one array is from another; what is all zero is compared absolutely."""
    if actual.shape != expected.shape:
        return Apart(largest=float("inf"), length=float("inf"))
    a, b = actual.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return Apart(largest=float("inf"), length=float("inf"))
    difference, size = a[finite] - b[finite], b[finite]
    if not difference.size:
        return Apart(largest=0.0, length=0.0)
    largest, root = float(np.abs(difference).max()), _root(difference)
    if counts_steps(expected.dtype):
        return Apart(largest=largest, length=root)
    peak, mean = float(np.abs(size).max()), _root(size)
    if peak == 0.0:
        return Apart(largest=largest, length=root)
    least = _LEAST.get(expected.dtype.name, 0.0)
    return Apart(largest=largest / max(peak, least), length=root / max(mean, least), crest=peak / mean if mean else 1.0)


def tolerances(movements: Iterable[Mapping[str, Apart]], *, steps: frozenset[str]) -> Mapping[str, Tolerance]:
    """What perturbed evaluations leave open of each value by how far each moved it; ``steps`` are compared by steps."""
    several = list(movements)
    more = FEW if len(several) == 1 else 1.0
    found = {}
    for name in several[0] if several else ():
        if not all(name in moved for moved in several):
            continue
        most = float("inf") if name in steps else MOST
        found[name] = Tolerance(
            largest=min(LARGEST * more * max(moved[name].largest for moved in several), most),
            length=min(LENGTH * more * max(moved[name].length for moved in several), most),
        )
    return found


def remark(name: str, expected: np.ndarray) -> str | None:
    """Why comparing an output with this answer shows little, if it does."""
    if expected.dtype.kind not in "fV" or expected.size < 2:
        return None
    wide = expected.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return f"output {name} is nowhere finite: comparing it shows little"
    peak = float(np.abs(finite).max())
    if peak == 0.0:
        return f"output {name} is all zero: comparing it shows little"
    if peak < _LEAST.get(expected.dtype.name, 0.0):
        return f"output {name} is vanishingly small ({peak:.0e}): comparing it shows little"
    if finite.size == wide.size and float(np.ptp(finite)) == 0.0:
        return f"output {name} is {finite[0]:.3g} everywhere: comparing it shows little"
    return None


def _root(numbers: np.ndarray) -> float:
    """Root of the mean square, safe for denormals."""
    peak = float(np.abs(numbers).max())
    return 0.0 if peak == 0.0 else peak * float(np.sqrt(np.mean(np.square(numbers / peak))))
