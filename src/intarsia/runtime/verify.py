"""Right or wrong: results against the reference, by dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from intarsia.errors import MismatchError
from intarsia.runtime.executor import Executor

TOLERANCE: Mapping[str, float] = {
    "float64": 1e-6,
    "float32": 1e-3,
    "float16": 2e-2,
    "bfloat16": 5e-2,
}
"""Largest max|a-b| / max|b| that counts as equal. fp32 leaves room for Winograd and other orders of summation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How far one value is from the reference.

    Attributes:
        name: The value.
        error: max|a-b| / max|b|, or a `distance`; infinite where shapes or non-finite places differ.
        allowed: What its dtype allows.
    """

    name: str
    error: float
    allowed: float

    @property
    def is_acceptable(self) -> bool:
        """Whether the error is within what the dtype allows."""
        return self.error <= self.allowed


def distance(actual: np.ndarray, expected: np.ndarray) -> float:
    """‖actual-expected‖₂ / ‖expected‖₂; infinite where shapes or non-finite places differ."""
    if actual.shape != expected.shape:
        return float("inf")
    a, b = actual.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    apart, size = float(np.linalg.norm(a[finite] - b[finite])), float(np.linalg.norm(b[finite]))
    if size == 0.0:
        return 0.0 if apart == 0.0 else float("inf")
    return apart / size


def deviation(name: str, actual: np.ndarray, expected: np.ndarray) -> Deviation:
    """Compare one value with the reference."""
    allowed = TOLERANCE.get(expected.dtype.name, 0.0)
    if actual.shape != expected.shape:
        return Deviation(name=name, error=float("inf"), allowed=allowed)
    if expected.dtype.name in TOLERANCE:
        return Deviation(name=name, error=_relative_error(actual, expected), allowed=allowed)
    if expected.dtype.name in {"int8", "uint8"}:  # quantised values: a tie may round either way
        apart = np.abs(actual.astype(np.int32) - expected.astype(np.int32)).max(initial=0)
        return Deviation(name=name, error=float(apart), allowed=1.0)
    return Deviation(name=name, error=0.0 if np.array_equal(actual, expected) else float("inf"), allowed=allowed)


def deviations(actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> tuple[Deviation, ...]:
    """Compare every value that both name."""
    return tuple(deviation(name, actual[name], expected[name]) for name in expected if name in actual)


def distances(
    actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], allowed: float
) -> tuple[Deviation, ...]:
    """Compare every value that both name by its `distance`, as outputs in less than fp32 are."""
    return tuple(
        Deviation(name=name, error=distance(actual[name], expected[name]), allowed=allowed)
        for name in expected
        if name in actual
    )


def verify_plan(executor: Executor, feeds: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> float:
    """Largest error of the outputs; ``reference`` may hold border values as well.

    A plan with partitions in less than fp32 is held to its stated error: at its outputs, since what is lost inside may
    be found again.

    Raises:
        MismatchError: Naming the first partition whose output is wrong.
    """
    executor.feed(feeds)
    worst, is_rough = 0.0, False
    outputs = {value.name for value in executor.plan.outputs}
    ends = {name: reference[name] for name in outputs & reference.keys()}
    allowed = executor.plan.settings.max_error
    for number, (step, values) in enumerate(executor.trace()):
        is_rough = is_rough or (allowed is not None and step.is_rough)
        several = distances(values, ends, allowed or 0.0) if is_rough else deviations(values, reference)
        for found in several:
            if not found.is_acceptable:
                of = "length" if is_rough else "largest value"
                raise MismatchError(
                    f"partition {number} on {step.target} is wrong: {found.name} is off by {found.error:.2g} of its "
                    f"{of}, {found.allowed:.0e} is allowed (nodes {step.nodes[0]} … {step.nodes[-1]})"
                )
            if found.name in outputs:
                worst = max(worst, found.error)
    return worst


def _relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(b[finite]).max())
    return float(np.abs(a[finite] - b[finite]).max()) / (scale or 1.0)
