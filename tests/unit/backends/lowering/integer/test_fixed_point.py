from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.lowering.integer.fixed_point import (
    averaged,
    doubled,
    fitted,
    in_steps,
    nearest,
    normalised,
    requantised,
    scaling,
)

SCALES = st.floats(2.0**-20, 4.0)
TOTALS = st.integers(-(2**24), 2**24)


@given(SCALES)
def test_a_multiplier_and_a_shift_say_the_scale(scale: float) -> None:
    multiplier, shift = normalised(scale)
    assert 2**30 <= multiplier < 2**31
    assert abs(multiplier / 2.0**shift / scale - 1) <= 2.0**-31


@given(SCALES)
def test_cmsis_nn_is_told_the_same_scale(scale: float) -> None:
    multiplier, left = doubled(*normalised(scale))
    assert multiplier / 2.0**31 * 2.0**left == pytest.approx(scale, rel=2.0**-29)


def test_a_scale_beyond_all_reason_is_an_error() -> None:
    with pytest.raises(OverflowError, match="a scale of"):
        normalised(2.0**31)


@given(TOTALS, st.integers(0, 2**31 - 1), st.integers(1, 60), st.integers(-128, 127))
def test_it_is_rounded_once_and_a_half_upwards(total: int, multiplier: int, shift: int, zero: int) -> None:
    exact = floor(Fraction(total * multiplier, 2**shift) + Fraction(1, 2)) + zero
    found = requantised(np.array([total]), multiplier, shift, zero)
    assert found.tolist() == [min(max(exact, -128), 127)]


def as_onnxruntime(totals: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """A product in float32, rounded half to even: `MlasRequantizeOutput` before the zero point."""
    products = totals.astype(np.float32) * scales.astype(np.float32)
    steps: np.ndarray = np.rint(products).astype(np.int64)
    return steps


def next_to_borders(rng: np.random.Generator, scales: np.ndarray, zero: int) -> np.ndarray:
    """Accumulators beside the borders between two steps, (channels, 5000)."""
    steps = rng.integers(-140 - zero, 140 - zero, (len(scales), 5000)) + 0.5
    totals: np.ndarray = np.rint(steps / scales.astype(np.float64)).astype(np.int64) + rng.integers(-1, 2, steps.shape)
    return totals


@pytest.mark.parametrize("zero", [-128, -3, 127])
@pytest.mark.parametrize("base", [2e-4, 2e-3, 3e-2, 0.4, 1.0])
def test_integers_round_as_float32_does(zero: int, base: float) -> None:
    rng = np.random.default_rng(zero + 128)
    scales = (base * rng.uniform(1 / 100, 1, (200, 1))).astype(np.float32)
    scales[:5] = base  # powers of two among them, whose ties are frequent
    made = scaling(scales)
    totals = next_to_borders(rng, scales, zero)
    found = nearest(totals, np.array(made.multipliers)[:, None], np.array(made.shifts)[:, None])
    exact = np.abs(totals) < 2**24  # of greater ones, float32 does not hold all digits
    np.testing.assert_array_equal(found[exact], as_onnxruntime(totals, scales)[exact])


@given(st.floats(2.0**-16, 4.0), st.lists(TOTALS, min_size=1))
def test_any_accumulator_is_rounded_as_float32_does(scale: float, totals: list[int]) -> None:
    single = np.array([scale], np.float32)
    made = scaling(single)
    found = nearest(np.array(totals), made.multipliers[0], made.shifts[0])
    expected = as_onnxruntime(np.array(totals), single)
    near = np.abs(expected) < 2**20  # beyond, the nearest float32 is no longer the nearest step
    np.testing.assert_array_equal(found[near], expected[near])


@pytest.mark.parametrize("zero", [-128, -3, 127])
@pytest.mark.parametrize("base", [2e-3, 3e-2, 0.4])
def test_fitted_multipliers_round_alike_with_one_rounding(zero: int, base: float) -> None:
    rng = np.random.default_rng(zero + 128)
    scales = (base * rng.uniform(0.2, 1, (40, 1))).astype(np.float32)
    plain = scaling(scales)
    shift = plain.shifts[0]
    totals = next_to_borders(rng, scales, zero)
    expected = np.clip(as_onnxruntime(totals, scales) + zero, -128, 127)
    found = requantised(totals, np.array(fitted(plain, zero, -128, 127))[:, None], shift, zero)
    before = requantised(totals, np.array(plain.multipliers)[:, None], shift, zero)
    # All of these accumulators lie next to a border between two steps; a network's seldom do.
    assert (found != expected).mean() < 0.002
    assert (found != expected).sum() <= (before != expected).sum()


@given(SCALES, st.lists(TOTALS, min_size=1))
def test_fitted_multipliers_are_one_step_off_at_most(scale: float, totals: list[int]) -> None:
    plain = scaling(np.array([scale], np.float32))
    (by,) = fitted(plain, 0, -128, 127)
    expected = np.clip(as_onnxruntime(np.array(totals), np.array(np.float32(scale))), -128, 127)
    found = requantised(np.array(totals), by, plain.shifts[0], 0)
    assert np.abs(found.astype(int) - expected).max() <= 1


def test_ties_of_a_power_of_two_go_to_even_by_two_roundings_alone() -> None:
    plain = scaling([0.25])
    totals = np.array([2, 6, -2, -6, 10, 14])
    assert as_onnxruntime(totals, np.array(0.25)).tolist() == [0, 2, 0, -2, 2, 4]
    assert nearest(totals, plain.multipliers[0], plain.shifts[0]).tolist() == [0, 2, 0, -2, 2, 4]
    assert requantised(totals, plain.multipliers[0], plain.shifts[0], 0).tolist() == [1, 2, 0, -1, 3, 4]


def test_channels_share_a_shift() -> None:
    made = scaling([0.3, 0.001, 0.02])
    assert len(set(made.shifts)) == 1
    np.testing.assert_allclose([m / 2.0 ** made.shifts[0] for m in made.multipliers], [0.3, 0.001, 0.02], rtol=1e-6)


def test_floats_are_quantised_half_to_even_and_held() -> None:
    numbers = np.array([0.5, 1.5, -0.5, 1e30, -np.inf, 3.2], np.float32)
    assert in_steps(numbers, 1.0, 3).tolist() == [3, 5, 3, 127, -128, 6]


@given(st.integers(-(2**20), 2**20), st.integers(1, 5000))
def test_averages_are_rounded_half_to_even(total: int, count: int) -> None:
    assert averaged(np.array([total]), count).tolist() == [round(Fraction(total, count))]
