from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.statuses import RequestError
from intarsia.serving.tensors.binary_data import from_binary, to_binary
from intarsia.serving.tensors.datatypes import BY_DATATYPE, BYTES

NUMBERS = sorted(set(BY_DATATYPE) - {BYTES, "BF16"})
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@given(data=st.data())
@pytest.mark.parametrize("datatype", NUMBERS)
def test_numbers_come_back(datatype: str, data: Any) -> None:
    array = data.draw(arrays.arrays(numpy_dtype(BY_DATATYPE[datatype]), SHAPES))
    back = from_binary(to_binary(array), datatype, array.shape, "x")
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@given(elements=st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_come_back(elements: list[str]) -> None:
    array = np.array([*elements, None], object)[:-1]
    back = from_binary(to_binary(array), BYTES, array.shape, "x")
    assert list(back) == elements


def test_bfloat16_comes_back() -> None:
    array = np.array([[1.0, -2.5]], numpy_dtype("bfloat16"))
    back = from_binary(to_binary(array), "BF16", array.shape, "x")
    assert back.dtype == array.dtype
    assert (back == array).all()


def test_bytes_are_little_endian_and_row_major() -> None:
    array = np.array([[1, 2], [3, 4]], ">i2").T
    assert to_binary(array) == bytes([1, 0, 3, 0, 2, 0, 4, 0])
    assert from_binary(bytes([1, 0, 0, 1]), "INT16", (2,), "x").tolist() == [1, 256]


def test_a_tensor_at_an_odd_place_is_aligned() -> None:
    content = memoryview(b"\0" + np.array([1.5], np.float64).tobytes())[1:]
    array = from_binary(content, "FP64", (1,), "x")
    assert array.flags.aligned
    assert array.tolist() == [1.5]


@pytest.mark.parametrize(
    ("content", "datatype", "shape", "words"),
    [
        (b"\0" * 7, "FP32", (2,), r"x: 7 bytes, but FP32 of the shape \[2\] takes 8"),
        (b"\0" * 4, "INT64", (0,), "takes 0"),
        (b"\1\2", "BOOL", (2,), "a byte of a BOOL is 0 or 1, and one is 2"),
        (b"\1\0\0\0", BYTES, (1,), "an element has 1 bytes, and 0 are left"),
        (b"\1\0\0", BYTES, (1,), "3 bytes are left over behind 0 elements"),
        (b"\1\0\0\0a", BYTES, (2,), r"1 elements, but the shape \[2\] takes 2"),
        (b"\1\0\0\0a\0\0\0\0", BYTES, (1,), "4 bytes are left over behind 1 elements"),
        (b"\1\0\0\0\xff", BYTES, (1,), "not text in UTF-8"),
    ],
)
def test_what_does_not_fit_is_refused(content: bytes, datatype: str, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        from_binary(content, datatype, shape, "x")


@given(content=st.binary(max_size=40), count=st.integers(0, 4))
def test_any_bytes_are_texts_or_refused(content: bytes, count: int) -> None:
    try:
        found = from_binary(content, BYTES, (count,), "x")
    except RequestError:
        return
    assert to_binary(found) == content
