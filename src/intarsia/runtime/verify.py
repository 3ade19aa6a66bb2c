"""Right or wrong: results against the reference, by dtype, and by what the model's own rounding leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

import numpy as np

from intarsia.errors import MismatchError
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.tolerance import Tolerance, apart, counts_steps

TOLERANCE: Mapping[str, float] = {
    "float64": 1e-6,
    "float32": 1e-3,
    "float16": 2e-2,
    "bfloat16": 5e-2,
}
"""Largest max|a-b| / max|b| that counts as equal. fp32 leaves room for Winograd and other orders of summation."""

_NO_TOLERANCE: Mapping[str, Tolerance] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How far one value is from the reference."""

    name: str
    error: float
    """max|a-b| / max|b|, or a `distance`; infinite where shapes or non-finite places differ."""
    allowed: float
    """What its dtype allows, or what rounding inside the model leaves open where that is more."""
    of: str = "of its largest value"
    """What the error is a share of, in words."""
    rounds: bool = False
    """Whether it is allowed more than its dtype does, since the model rounds inside."""

    @property
    def is_acceptable(self) -> bool:
        """Whether the error is within what is allowed."""
        return self.error <= self.allowed

    def __str__(self) -> str:
        error = f"{self.error:.2g} {self.of}" if isfinite(self.error) else "beyond any number"
        why = " (what this model's own rounding leaves open)" if self.rounds else ""
        return f"{self.name}: error {error}, allowed {self.allowed:.2g}{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The largest error of an output, and what that output was allowed."""

    error: float
    allowed: float


def distance(actual: np.ndarray, expected: np.ndarray) -> float:
    """‖actual-expected‖₂ / ‖expected‖₂, absolute where all is zero; infinite for other shapes or non-finite places."""
    if counts_steps(expected.dtype):
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    return apart(actual, expected).length


def deviation(name: str, actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance | None = None) -> Deviation:
    """Compare one value with the reference."""
    kind = expected.dtype.name
    allowed = 1.0 if counts_steps(expected.dtype) else TOLERANCE.get(kind, 0.0)
    rounds = tolerance is not None and tolerance.largest > allowed
    if actual.shape == expected.shape and not rounds and not counts_steps(expected.dtype) and kind not in TOLERANCE:
        error = 0.0 if np.array_equal(actual, expected) else float("inf")
        return Deviation(name=name, error=error, allowed=allowed)
    found = apart(actual, expected)
    of = "steps" if counts_steps(expected.dtype) else "of its largest value"
    if tolerance is None or not rounds:
        return Deviation(name=name, error=found.largest, allowed=allowed, of=of)
    deviation = Deviation(name=name, error=found.largest, allowed=tolerance.largest, of=of, rounds=True)
    length = max(tolerance.length, 0.0 if counts_steps(expected.dtype) else allowed * found.crest)
    if deviation.is_acceptable and found.length > length:
        of = "steps in the mean square" if counts_steps(expected.dtype) else "of its length"
        return Deviation(name=name, error=found.length, allowed=length, of=of, rounds=True)
    return deviation


def deviations(
    actual: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    tolerances: Mapping[str, Tolerance] = _NO_TOLERANCE,
) -> tuple[Deviation, ...]:
    """Compare every value that both name."""
    return tuple(
        deviation(name, actual[name], expected[name], tolerances.get(name)) for name in expected if name in actual
    )


def distances(
    actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], allowed: float
) -> tuple[Deviation, ...]:
    """Compare every value that both name by its `distance`, as outputs in less than fp32 are."""
    return tuple(
        Deviation(name=name, error=distance(actual[name], expected[name]), allowed=allowed, of="of its length")
        for name in expected
        if name in actual
    )


def verify_plan(
    executor: Executor,
    feeds: Mapping[str, np.ndarray],
    reference: Mapping[str, np.ndarray],
    tolerances: Mapping[str, Tolerance] = _NO_TOLERANCE,
) -> Judgement:
    """Compare what a plan answers; ``reference`` may hold border values as well.

    A plan that is allowed an error is held to that at its outputs, since what is lost inside may be found again. One
    that ships although it could not be shown to be right (`RunSettings.verified`) is compared and never refused.

    Raises:
        MismatchError: Naming the first partition whose output is wrong.
    """
    executor.feed(feeds)
    settings, steps = executor.plan.settings, executor.plan.steps
    outputs = {value.name for value in executor.plan.outputs}
    ends = {name: reference[name] for name in outputs & reference.keys()}
    by_length = settings.max_error is not None and not any(step.is_reduced for step in steps)
    worst: Judgement | None = None
    for number, (step, values) in enumerate(executor.trace()):
        by_length = by_length or (settings.max_error is not None and step.is_reduced)
        several = (
            distances(values, ends, settings.max_error or 0.0)
            if by_length
            else deviations(values, reference, tolerances)
        )
        for found in several:
            if settings.verified and not found.is_acceptable:
                raise MismatchError(
                    f"partition {number} on {step.target} is wrong: {found} (nodes {step.nodes[0]} … {step.nodes[-1]})"
                )
            if found.name in outputs and (worst is None or found.error > worst.error):
                worst = Judgement(error=found.error, allowed=found.allowed)
    return worst or Judgement(error=0.0, allowed=0.0)
