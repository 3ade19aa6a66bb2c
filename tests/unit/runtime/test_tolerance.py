"""How far apart, in units that small and vanishing numbers do not break, and what that leaves open."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.runtime.tolerance import FEW, LARGEST, LENGTH, MOST, Apart, apart, remark, tolerances
from intarsia.runtime.verify import deviation

BASE = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)


def test_largest_and_length() -> None:
    found = apart(np.array([3.0, 4.5]), np.array([3.0, 4.0]))
    assert found.largest == pytest.approx(0.125)
    assert found.length == pytest.approx(0.1)
    assert found.crest == pytest.approx(4.0 / np.sqrt(12.5))
    steps = apart(np.array([3, 6], np.uint8), np.array([3, 4], np.uint8))
    assert steps.largest == 2.0
    assert steps.length == pytest.approx(np.sqrt(2.0))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_vanishes_is_not_compared_with_itself(dtype: str) -> None:
    tiny = np.array([1e-41, -2e-41] if dtype == "float32" else [6e-8, -1.2e-7]).astype(dtype)
    assert tiny.any()
    assert deviation("y", np.zeros_like(tiny), tiny).is_acceptable
    assert not deviation("y", np.ones_like(tiny), tiny).is_acceptable


def test_what_is_left_open_is_a_multiple_of_the_movement() -> None:
    moved = [{"y": Apart(largest=0.01, length=0.004)}, {"y": Apart(largest=0.008, length=0.005)}]
    (found,) = tolerances(moved, steps=frozenset()).values()
    assert found.largest == pytest.approx(LARGEST * 0.01)
    assert found.length == pytest.approx(LENGTH * 0.005)
    (alone,) = tolerances(moved[:1], steps=frozenset()).values()
    assert alone.largest == pytest.approx(FEW * LARGEST * 0.01)
    (wild,) = tolerances([{"y": Apart(largest=9.0, length=float("inf"))}], steps=frozenset()).values()
    assert (wild.largest, wild.length) == (MOST, MOST)
    (steps,) = tolerances([{"y": Apart(largest=2.0, length=0.5)}] * 2, steps=frozenset({"y"})).values()
    assert (steps.largest, steps.length) == (6.0, 1.0)
    assert tolerances([], steps=frozenset()) == {}


def test_both_the_largest_and_the_length_must_hold() -> None:
    (tolerance,) = tolerances([{"y": Apart(largest=0.01, length=0.001)}] * 2, steps=frozenset()).values()
    one_off = BASE.copy()
    one_off[0, 0] += 0.02 * np.abs(BASE).max()
    found = deviation("y", one_off, BASE, tolerance)
    assert (found.is_acceptable, found.rounds) == (True, True)
    assert not deviation("y", one_off, BASE).is_acceptable
    everywhere = deviation("y", BASE + 0.02 * np.abs(BASE).max(), BASE, tolerance)
    assert not everywhere.is_acceptable
    assert str(everywhere).startswith("y: error 0.0")
    assert str(everywhere).endswith("(what this model's own rounding leaves open)")
    assert "of its length" in str(everywhere)


def test_steps_may_be_as_many_as_rounding_makes_them() -> None:
    (tolerance,) = tolerances([{"q": Apart(largest=1.0, length=0.2)}] * 2, steps=frozenset({"q"})).values()
    right = np.full(1000, 100, np.uint8)
    some, all_ = right.copy(), right + np.uint8(1)
    some[:100] += np.uint8(2)
    assert deviation("q", some, right, tolerance).is_acceptable is False  # 0.63 in the mean square, 0.4 are open
    some[:] = right
    some[:30] += np.uint8(2)
    assert deviation("q", some, right, tolerance).is_acceptable
    assert not deviation("q", all_, right, tolerance).is_acceptable


def test_fp32_stays_as_strict_as_it_was() -> None:
    (tolerance,) = tolerances([{"y": Apart(largest=1e-7, length=1e-7)}], steps=frozenset()).values()
    assert deviation("y", BASE * (1 + 5e-4), BASE, tolerance).is_acceptable
    off = deviation("y", BASE * (1 + 2e-3), BASE, tolerance)
    assert (off.is_acceptable, off.allowed, off.rounds) == (False, 1e-3, False)


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros(3, np.float32), "output y is all zero: comparing it shows little"),
        (np.full(3, 2.5, np.float32), "output y is 2.5 everywhere: comparing it shows little"),
        (np.array([1e-41, 0.0], np.float32), "output y is vanishingly small (1e-41): comparing it shows little"),
        (np.full(2, np.nan, np.float32), "output y is nowhere finite: comparing it shows little"),
        (BASE, None),
        (np.ones(1, np.float32), None),
        (np.zeros(4, np.int64), None),
    ],
)
def test_remarks(array: np.ndarray, told: str | None) -> None:
    assert remark("y", array) == told
