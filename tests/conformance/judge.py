"""Compares what an engine gave for a case with what the reference computes. Declining is fine; failing is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.conformance.cases import TOLERANCE


def faults(answer: Mapping[str, Any], expected: Sequence[Mapping[str, np.ndarray]], may_mutate: bool) -> list[str]:
    """All that is wrong with an answer; none if the engine refused the case beforehand."""
    if "refused" in answer:
        return [f"refused {node} without a reason" for node, reason in answer["refused"].items() if not reason]
    if "error" in answer:
        return [answer["error"]]
    found = [] if may_mutate else [f"overwrote its input {name}" for name in answer["mutated"]]
    for turn, outputs in enumerate(expected):
        for name, want in outputs.items():
            found += [
                f"turn {turn}, {name}: {fault}" for fault in differences(answer["results"][f"{turn}/{name}"], want)
            ]
    return found


def differences(got: np.ndarray, want: np.ndarray) -> list[str]:
    """What distinguishes two arrays by more than their type allows."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return [f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"]
    tolerance = TOLERANCE.get(want.dtype.name)
    if tolerance is None:
        return [] if np.array_equal(got, want) else [f"{_some(got)} instead of {_some(want)}"]
    exact, near = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(exact)
    if not np.array_equal(exact[~finite], near[~finite], equal_nan=True):
        return [f"not finite in other places: {_some(got)} instead of {_some(want)}"]
    error = np.max(np.abs(near[finite] - exact[finite]), initial=0.0)
    scale = np.max(np.abs(exact[finite]), initial=1e-3)
    return [] if error <= tolerance * scale else [f"error {error / scale:.2g}: {_some(got)} instead of {_some(want)}"]


def _some(array: np.ndarray) -> str:
    return np.array2string(array.reshape(-1)[:4], precision=6)
