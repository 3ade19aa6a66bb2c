"""Laws of numbers in 8 bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from intarsia.graph.quantise.rewrite import activation_scale, quantised_bias, quantised_weight

floats = st.floats(-1e6, 1e6, width=32)


@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=4, max_side=5), elements=floats), st.data())
def test_a_weight_is_off_by_half_a_step_at_most(weight: np.ndarray, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, weight.ndim - 1))
    steps, scales = quantised_weight(weight, axis)
    assert steps.dtype == np.int8
    assert scales.dtype == np.float32
    assert scales.shape == (weight.shape[axis],)
    along = scales.reshape([-1 if dim == axis else 1 for dim in range(weight.ndim)]).astype(np.float64)
    assert np.all(np.abs(steps * along - weight) <= along * 0.5001)
    assert np.abs(steps.astype(int)).max(initial=0) <= 127


def test_each_channel_has_its_own_scale() -> None:
    weight = np.array([[1.0, -2.0], [100.0, 50.0]], np.float32)
    assert quantised_weight(weight, 0)[1] == pytest.approx([2 / 127, 100 / 127])
    assert quantised_weight(weight, 1)[1] == pytest.approx([100 / 127, 50 / 127])


def test_zero_and_denormal_channels_stay_finite() -> None:
    weight = np.array([[0.0, 0.0], [1e-42, -1e-42]], np.float32)
    steps, scales = quantised_weight(weight, 0)
    assert not steps.any()
    assert np.all(scales >= np.finfo(np.float32).tiny)
    assert scales[0] == 1.0


@given(floats, floats)
def test_zero_stays_zero_and_the_ends_are_held(one: float, other: float) -> None:
    low, high = sorted((one, other))
    scale, zero = activation_scale(low, high)
    assert scale > 0.0
    step = float(scale)
    assert -int(zero) * step <= min(low, 0.0) + step
    assert (255 - int(zero)) * step >= max(high, 0.0) - step


def test_a_value_that_is_always_zero_has_a_scale() -> None:
    scale, zero = activation_scale(0.0, 0.0)
    assert (float(scale), int(zero)) == (1.0, 0)


def test_a_bias_beyond_32_bits_is_cut_off() -> None:
    scales = np.array([1e-9, 1.0], np.float32)
    assert quantised_bias(np.array([1e3, 2.4], np.float32), scales).tolist() == [2**31 - 1, 2]
