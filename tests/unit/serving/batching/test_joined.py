from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.serving.batching.joined import UnevenError, divided, form_of, joined


def array(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_requests_of_one_form_differ_in_their_first_dimension_alone() -> None:
    form, rows = form_of({"x": array(3, 4), "t": array(3)})
    assert rows == 3
    assert form_of({"t": array(1), "x": array(1, 4)}) == (form, 1)
    assert form_of({"x": array(3, 5), "t": array(3)})[0] != form
    assert form_of({"x": array(3, 4), "u": array(3)})[0] != form


@pytest.mark.parametrize(
    "feeds",
    [{"x": array(3, 4), "t": array(2)}, {"x": array(3, 4), "s": array()}, {"s": array()}, {"x": array(0, 4)}, {}],
)
def test_inputs_without_rows_in_common_have_no_form(feeds: dict[str, np.ndarray]) -> None:
    assert form_of(feeds) == (None, 1)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.lists(st.integers(0, 3), max_size=2))
def test_what_was_joined_is_divided_into_what_it_was(rows: list[int], behind: list[int]) -> None:
    feeds = [{"x": np.full((each, *behind), place), "t": np.full(each, -place)} for place, each in enumerate(rows)]
    parts = divided(joined(feeds), rows)
    assert len(parts) == len(feeds)
    for part, feed in zip(parts, feeds, strict=True):
        assert set(part) == {"x", "t"}
        for name in part:
            np.testing.assert_array_equal(part[name], feed[name])
            assert part[name].flags.c_contiguous


def test_texts_are_joined_too() -> None:
    texts = [np.array([["a", "bc"]], object), np.array([["", "d"]], object)]
    assert joined([{"t": each} for each in texts])["t"].tolist() == [["a", "bc"], ["", "d"]]


@pytest.mark.parametrize("result", [array(2, 2), array(4, 2), array()])
def test_outputs_that_do_not_divide_are_an_error_unless_they_are_those_of_one(result: np.ndarray) -> None:
    with pytest.raises(UnevenError, match="does not divide into 3 rows"):
        divided({"y": result}, [1, 2])
    assert divided({"y": result}, [3]) == [{"y": result}]
