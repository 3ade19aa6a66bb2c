"""Arrays of every element type cross as they are."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from intarsia.remote.arrays import packed, unpacked

DTYPES = [np.dtype(each) for each in ("?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8")]
ARRAYS = hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


@given(st.dictionaries(st.text(max_size=5), ARRAYS, max_size=3))
def test_what_is_packed_comes_back(arrays: dict[str, np.ndarray]) -> None:
    found = unpacked(packed(arrays, {"a": [1]}))
    assert found.facts == {"a": [1]}
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()


@given(st.lists(st.text(max_size=5), max_size=4))
def test_texts_come_back(texts: list[str]) -> None:
    array = np.array(texts, object)
    assert unpacked(packed({"x": array})).arrays["x"].tolist() == texts


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_element_types_that_numpy_lacks_come_back(name: str) -> None:
    array = np.array([[1, 2, 3]], getattr(ml_dtypes, name))
    found = unpacked(packed({"x": array})).arrays["x"]
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()


def test_an_array_that_is_no_block_of_memory_comes_back() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    assert np.array_equal(unpacked(packed({"x": array})).arrays["x"], array)
    big = np.arange(4, dtype=">i4")
    assert unpacked(packed({"x": big})).arrays["x"].tolist() == [0, 1, 2, 3]


def test_the_array_is_the_callers_own() -> None:
    found = unpacked(packed({"x": np.zeros(3)})).arrays["x"]
    found += 1
    assert found.flags.writeable


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        unpacked(content)


@given(st.integers(0, 200))
def test_what_is_cut_short_is_refused(end: int) -> None:
    whole = packed({"x": np.arange(20, dtype=np.int32), "y": np.array(["a", "bc"], object)})
    if end < len(whole):
        with pytest.raises(ValueError, match=r"\w"):
            unpacked(whole[:end])


@pytest.mark.parametrize("row", [{"dtype": "object"}, {"dtype": "unheard"}, {"shape": [3]}, {"dtype": "string"}])
def test_a_head_that_says_something_else_is_refused(row: dict[str, object]) -> None:
    head = {"name": "x", "dtype": "float32", "shape": [2], "nbytes": 8} | row
    text = json.dumps({"arrays": [head]}).encode()
    with pytest.raises(ValueError, match="x: "):
        unpacked(len(text).to_bytes(4, "little") + text + b"\x01\x02\x03\x04\x05\x06\x07\x08")
