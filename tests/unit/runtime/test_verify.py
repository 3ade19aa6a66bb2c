"""Right and wrong, by dtype."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.runtime.verify import deviation, distance

RNG = np.random.default_rng(0)
BASE = RNG.standard_normal((4, 5)).astype(np.float32)


def test_rounding_is_accepted_and_a_mistake_is_not() -> None:
    assert deviation("x", BASE * (1 + 1e-5), BASE).is_acceptable
    assert not deviation("x", BASE[::-1], BASE).is_acceptable
    assert not deviation("x", BASE + 0.01, BASE).is_acceptable


def test_shapes_and_non_finite_places_must_agree() -> None:
    assert not deviation("x", BASE[:2], BASE).is_acceptable
    holed = BASE.copy()
    holed[0, 0] = np.nan
    assert not deviation("x", BASE, holed).is_acceptable
    assert not deviation("x", holed, BASE).is_acceptable
    assert deviation("x", holed, holed).is_acceptable
    high, low = np.array([np.inf, 1.0]), np.array([-np.inf, 1.0])
    assert not deviation("x", high, low).is_acceptable


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_whole_numbers_must_be_equal(dtype: str) -> None:
    a = np.array([0, 1, 1]).astype(dtype)
    assert deviation("x", a, a).is_acceptable
    assert not deviation("x", a[::-1], a).is_acceptable


def test_quantised_values_may_round_either_way() -> None:
    a = np.array([1, 200], np.uint8)
    assert deviation("x", a + np.uint8(1), a).is_acceptable
    assert not deviation("x", a + np.uint8(2), a).is_acceptable


def test_a_zero_reference_is_compared_absolutely() -> None:
    zero = np.zeros(3, np.float32)
    assert deviation("x", zero, zero).error == 0
    assert not deviation("x", zero + 0.5, zero).is_acceptable


def test_the_distance_is_a_share_of_the_length() -> None:
    expected = np.array([3.0, 4.0], np.float32)
    assert distance(expected, expected) == 0.0
    assert distance(np.array([3.0, 4.5], np.float32), expected) == pytest.approx(0.1)
    assert distance(expected[:1], expected) == np.inf
    assert distance(np.array([np.nan, 4.0]), expected) == np.inf
    assert distance(np.array([np.inf, 3.0]), np.array([np.inf, 3.0])) == 0.0
    assert distance(expected * 0, expected * 0) == 0.0
    assert distance(expected, expected * 0) == pytest.approx(np.sqrt(12.5))  # absolute: there is no length to share
