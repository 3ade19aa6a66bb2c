"""Small inputs come to a model in the same arrays, and with it what the requests say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from intarsia.serving.steady import Steady


class Noting:
    """A model that notes the arrays that it is called with."""

    def __init__(self) -> None:
        self.seen: list[dict[str, np.ndarray]] = []

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        self.seen.append(dict(feeds))
        return {name: feed.copy() for name, feed in feeds.items()}


def test_small_inputs_stay_where_they_are() -> None:
    model = Noting()
    steady = Steady(model)
    for number in range(3):
        feeds = {"a": np.full(3, number, np.float32), "b": np.array(number)}
        results = steady(feeds)
        assert results["a"].tolist() == [number] * 3
        assert results["b"] == number
    assert all(each["a"] is model.seen[0]["a"] and each["b"] is model.seen[0]["b"] for each in model.seen)


def test_a_request_never_changes_the_callers_arrays() -> None:
    steady, first = Steady(Noting()), {"a": np.zeros(2, np.float32)}
    steady(first)
    steady({"a": np.ones(2, np.float32)})
    assert first["a"].tolist() == [0.0, 0.0]


def test_another_shape_or_type_comes_as_it_is_sent() -> None:
    steady = Steady(Noting())
    for array in (np.zeros(2, np.float32), np.ones((2, 2), np.float32), np.ones(2, np.int64), np.ones(2, np.float32)):
        results = steady({"a": array})
        assert results["a"].dtype == array.dtype
        np.testing.assert_array_equal(results["a"], array)


def test_large_inputs_and_strings_are_not_copied() -> None:
    model = Noting()
    steady = Steady(model)
    for array in (np.zeros(2**17, np.uint8), np.array(["text"], object)):
        steady({"small": np.zeros(1), "other": array})
        assert model.seen[-1]["other"] is array
