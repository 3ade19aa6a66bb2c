from __future__ import annotations

import numpy as np
import pytest

from intarsia.runtime.tolerance import Tolerance
from intarsia.search.boards.answers import MOST_STEPS, Answers, _difference

RIGHT = {"y": np.array([1.0, 2.0], np.float32)}


def test_results_are_held_to_the_reference() -> None:
    answers = Answers(values=RIGHT)
    assert answers.fault({"y": np.array([1.0, 2.0001], np.float32)}) == ""
    assert "y: error" in answers.fault({"y": np.array([1.0, 2.1], np.float32)})
    assert "y: error" in answers.fault({"y": np.array([1.0, np.nan], np.float32)})


def test_what_the_models_own_rounding_leaves_open_is_right() -> None:
    answers = Answers(values=RIGHT, tolerances={"y": Tolerance(largest=0.1, length=0.1)})
    assert answers.distance(RIGHT) == 0
    assert 0.4 < answers.distance({"y": np.array([1.0, 2.1], np.float32)}) < 0.6
    assert answers.fault({"y": np.array([1.0, 2.1], np.float32)}) == ""
    assert "own rounding" in answers.fault({"y": np.array([1.0, 2.5], np.float32)})


def test_what_is_left_open_is_no_excuse_for_one_kernel_beside_others() -> None:
    answers = Answers(values=RIGHT, tolerances={"y": Tolerance(largest=0.3, length=0.3)})
    assert answers.fault({"y": np.array([1.0, 2.15], np.float32)}, RIGHT) == ""
    far = {"y": np.array([1.0, 2.5], np.float32)}
    assert answers.fault(far) == ""
    assert "from what the other kernels compute" in answers.fault(far, RIGHT)


def test_what_the_reference_cannot_compute_is_held_to_other_kernels() -> None:
    answers = Answers(values=RIGHT)
    results = {**RIGHT, "z": np.array([3.0, 0.0])}
    assert answers.fault(results) == ""
    assert answers.fault(results, {**RIGHT, "z": np.array([3.0, 0.01])}) == ""
    assert "z differs" in answers.fault(results, {**RIGHT, "z": np.array([4.0, 0.0])})


@pytest.mark.parametrize(
    ("found", "right", "fits"),
    [
        (np.array([1, 2, 3], np.int8), np.array([1, 2, 3], np.int8), True),
        (np.array([1 + MOST_STEPS, 2], np.int8), np.array([1, 2], np.int8), True),
        (np.array([2 + MOST_STEPS, 2], np.int8), np.array([1, 2], np.int8), False),
        (np.array([104, 0], np.int16), np.array([100, 0], np.int16), True),
        (np.array([120, 0], np.int16), np.array([100, 0], np.int16), False),
        (np.array([1.04, 0.0]), np.array([1.0, 0.0]), True),
        (np.array([1.2, 0.0]), np.array([1.0, 0.0]), False),
        (np.array([np.nan, 0.0]), np.array([1.0, 0.0]), False),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), True),
        (np.array([np.inf, 0.0]), np.array([1.0, 0.0]), False),
        (np.zeros(0), np.zeros(0), True),
        (np.full(3, 0.5), np.full(3, 0.6), False),
    ],
)
def test_how_much_results_may_differ(found: np.ndarray, right: np.ndarray, *, fits: bool) -> None:
    error, most = _difference(found, right)
    assert (error <= most) is fits
