from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.statuses import RequestError
from intarsia.serving.tensors.datatypes import BY_DATATYPE, BYTES
from intarsia.serving.tensors.json_data import from_json, to_json

NUMBERS = sorted(set(BY_DATATYPE) - {BYTES, "BF16"})
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@given(data=st.data())
@pytest.mark.parametrize("datatype", NUMBERS)
def test_numbers_come_back_flat_and_nested(datatype: str, data: Any) -> None:
    dtype = numpy_dtype(BY_DATATYPE[datatype])
    elements = arrays.from_dtype(dtype, allow_nan=False, allow_infinity=False)
    array = data.draw(arrays.arrays(dtype, SHAPES, elements=elements))
    flat = orjson.loads(orjson.dumps(to_json(array, datatype, "y"), option=orjson.OPT_SERIALIZE_NUMPY))
    for form in (flat, array.tolist() if array.ndim else flat):
        back = from_json(form, datatype, array.shape, "x")
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


def test_texts_come_back() -> None:
    array = np.array([["a", ""], ["ä", "\0"]], object)
    assert from_json(to_json(array, BYTES, "y"), BYTES, (2, 2), "x").tolist() == array.tolist()


@pytest.mark.parametrize(
    ("data", "datatype", "shape", "words"),
    [
        (1.0, "FP32", (1,), "the data is a list"),
        ([1.0], "BF16", (1,), "send it as binary data"),
        ([1, 2, 3], "FP32", (2,), r"3 elements, but the shape \[2\] takes 2"),
        ([], "FP32", (1,), "0 elements"),
        (["1"], "FP32", (1,), "FP32 takes numbers, and among the data is str"),
        ([True], "FP32", (1,), "among the data is bool"),
        ([None], "FP32", (1,), "among the data is null"),
        ([1.0], "INT32", (1,), "INT32 takes whole numbers, and among the data is float"),
        ([1], "BOOL", (1,), "BOOL takes true or false"),
        ([1], BYTES, (1,), "BYTES takes texts"),
        ([300], "UINT8", (1,), "outside of the range of UINT8"),
        ([-1], "UINT64", (1,), "outside of the range"),
        ([10**400], "FP64", (1,), "outside of the range"),
        ([[1, 2], [3]], "INT8", (2, 2), "has lists of 2 at one of its levels"),
        ([[1, 2], 3], "INT8", (2, 2), "has lists of 2 at one of its levels"),
        ([[1, 2]], "INT8", (2, 1), "begins with 2 lists, and not 1"),
        ([[[1]]], "INT8", (1, 1), "among the data is list"),
        (["\ud800"], BYTES, (1,), "half of a surrogate pair"),
    ],
)
def test_what_does_not_fit_is_refused(data: Any, datatype: str, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        from_json(data, datatype, shape, "x")


@pytest.mark.parametrize(
    ("array", "datatype", "words"),
    [
        (np.array([np.nan], np.float32), "FP32", "no finite number"),
        (np.array([np.inf], np.float16), "FP16", "no finite number"),
        (np.array([1], numpy_dtype("bfloat16")), "BF16", "no form in JSON"),
        (np.array([b"\xff"], object), BYTES, "not text in UTF-8"),
    ],
)
def test_what_json_cannot_hold_is_refused(array: np.ndarray, datatype: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        to_json(array, datatype, "y")
