"""Weights are rounded to one of their two neighbours, and the errors of a sum cancel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from intarsia.graph.quantise.rounding import along_weight, balanced, means_of, means_text, rounded

TYPES: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
floats = st.floats(-1e4, 1e4, width=32)
matrices = hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=floats)


def layer(op_type: str, **attributes: int) -> Any:
    return SimpleNamespace(node=SimpleNamespace(op_type=op_type, attributes=attributes))


@given(matrices, st.sampled_from(["bf16", "f16"]), st.sampled_from([0, 1]), st.data())
def test_each_element_becomes_one_of_its_neighbours(
    weight: np.ndarray, type_: str, axis: int, data: st.DataObject
) -> None:
    means = data.draw(hnp.arrays(np.float32, weight.shape, elements=floats))
    found = rounded(weight, means, axis, type_)
    own = TYPES[type_]
    assert np.array_equal(found, found.astype(own).astype(np.float32))
    nearest = weight.astype(own)
    below, above = np.nextafter(nearest, own(-np.inf)), np.nextafter(nearest, own(np.inf))
    allowed = [each.astype(np.float32) for each in (nearest, below, above)]
    assert np.all([np.any([value == each[at] for each in allowed]) for at, value in np.ndenumerate(found)])
    # What a type holds stays.
    assert np.array_equal(rounded(found, means, axis, type_), found)


@given(matrices, st.sampled_from([0, 1]), st.data())
def test_no_sum_is_further_off_than_by_rounding_to_the_nearest(
    weight: np.ndarray, axis: int, data: st.DataObject
) -> None:
    means = data.draw(hnp.arrays(np.float32, weight.shape, elements=st.floats(-8.0, 8.0, width=32)))
    others = 1 - axis

    def off(found: np.ndarray) -> np.ndarray:
        sums: np.ndarray = np.abs(((found.astype(np.float64) - weight) * means).sum(axis=others))
        return sums

    nearest = weight.astype(ml_dtypes.bfloat16).astype(np.float32)
    found = rounded(weight, means, axis, "bf16")
    scale = (np.abs(nearest.astype(np.float64) - weight) * np.abs(means)).sum(axis=others)
    assert np.all(off(found) <= off(nearest) + 1e-5 * scale)


def test_errors_of_many_elements_cancel() -> None:
    weight = np.random.default_rng(0).standard_normal((64, 500)).astype(np.float32)
    means = np.abs(np.random.default_rng(1).standard_normal((1, 500))).astype(np.float32)
    found = rounded(weight, means, 0, "bf16")
    nearest = weight.astype(ml_dtypes.bfloat16).astype(np.float32)
    off = [float(np.abs(((each - weight) * means).sum(axis=1)).max()) for each in (nearest, found)]
    assert off[1] < 0.25 * off[0]
    # Few are turned, so the weights are about as far from what they were.
    assert np.linalg.norm(found - weight) < 1.05 * np.linalg.norm(nearest - weight)


def test_weights_that_a_type_cannot_hold_stay() -> None:
    weight = np.array([[1e6, 1.0]], np.float32)
    assert np.array_equal(rounded(weight, np.ones((1, 2), np.float32), 0, "f16"), weight)


def test_nothing_is_turned_where_values_are_zero_on_average() -> None:
    exact = np.array([[0.4, 1.4, -0.4]], np.float32)
    whole: Any = SimpleNamespace(nearest=np.rint, beyond=lambda each, nearest: nearest + np.sign(each - nearest))
    found = balanced(exact, np.zeros((1, 3), np.float32), 0, whole)
    assert np.array_equal(found, np.rint(exact))


@given(hnp.arrays(np.float32, st.integers(1, 20), elements=st.floats(-100.0, 100.0, width=16)))
def test_means_are_text_that_reads_back(means: np.ndarray) -> None:
    assert np.array_equal(means_of(means_text(means)), means)


def test_a_mean_that_is_too_large_for_the_text_is_cut_off() -> None:
    assert means_of(means_text(np.array([1e9]))) == [65504.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [("%", "base64"), ("AA", "padding"), ("AA==", "multiple of element size"), ("AHw=", "a mean is no number")],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        means_of(text)


def test_each_weight_has_the_mean_of_what_it_is_multiplied_with() -> None:
    means = np.arange(4, dtype=np.float32)
    in_groups = along_weight(layer("Conv", group=2), np.zeros((6, 2, 3, 3), np.float32), means)
    assert in_groups.shape == (6, 2, 1, 1)
    assert in_groups[:, :, 0, 0].tolist() == [[0, 1]] * 3 + [[2, 3]] * 3
    assert along_weight(layer("MatMul"), np.zeros((4, 7), np.float32), means)[:, 0].tolist() == [0, 1, 2, 3]
    assert along_weight(layer("Gemm", transB=1), np.zeros((7, 4), np.float32), means)[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("op_type", "shape"), [("Conv", (6, 3, 1)), ("MatMul", (3, 7)), ("Gemm", (5, 4))])
def test_means_of_other_channels_are_refused(op_type: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="4 means, and it reads"):
        along_weight(layer(op_type), np.zeros(shape, np.float32), np.zeros(4, np.float32))
