"""Values share memory with what they are made from, and say what they are as ONNX Runtime's do."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from intarsia.errors import FeedError, UnsupportedError
from intarsia.interop.values import OrtDevice, OrtValue, element_dtype
from intarsia.runtime.executors.arrays import array_at


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "uint16", "bool"]
)
def test_a_value_tells_what_onnx_runtime_tells(dtype: str) -> None:
    array = np.ones((2, 3), dtype)
    mine, its = OrtValue.ortvalue_from_numpy(array), onnxruntime.OrtValue.ortvalue_from_numpy(array)
    for name in ("data_type", "element_type", "device_name", "tensor_size_in_bytes", "has_value", "is_tensor"):
        assert getattr(mine, name)() == getattr(its, name)(), name
    assert list(mine.shape()) == list(its.shape())
    assert (mine.is_sparse_tensor(), mine.is_tensor_sequence()) == (False, False)


def test_text_is_a_value_too() -> None:
    assert OrtValue.ortvalue_from_numpy(np.array(["a", "bc"])).data_type() == "tensor(string)"


def test_memory_is_shared() -> None:
    array = np.zeros((2, 2), element_dtype(np.float32))
    value = OrtValue.ortvalue_from_numpy(array)
    value.update_inplace(np.ones((2, 2), element_dtype(np.float32)))
    assert array.sum() == 4
    assert np.shares_memory(np.from_dlpack(value), array)
    assert np.shares_memory(OrtValue.from_dlpack(array).numpy(), array)
    assert np.shares_memory(array_at(value.data_ptr(), (2, 2), element_dtype(np.float32)), array)
    assert array_at(value.data_ptr(), (4,), element_dtype(TensorProto.FLOAT)).tolist() == [1, 1, 1, 1]


def test_a_value_of_a_type_that_numpy_lacks() -> None:
    value = OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(3, np.uint16), TensorProto.BFLOAT16)
    assert (value.data_type(), value.numpy().dtype) == ("tensor(bfloat16)", np.dtype(ml_dtypes.bfloat16))
    assert OrtValue.ortvalue_from_shape_and_type([2], TensorProto.INT64).numpy().dtype == np.int64


def test_what_does_not_fit_is_refused() -> None:
    value = OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
    with pytest.raises(FeedError, match=r"room for float32\[2, 2\], and the value is float64\[2, 2\]"):
        value.update_inplace(np.zeros((2, 2)))
    with pytest.raises(UnsupportedError, match=r"not on cuda:0; bind them on 'cpu'"):
        OrtValue.ortvalue_from_numpy(np.zeros(1), "cuda", 0)
    with pytest.raises(UnsupportedError, match="hand over a dense array"):
        value.as_sparse_tensor()
    with pytest.raises(UnsupportedError, match="state what runs on a device"):
        OrtDevice.make("cuda", 0)
    assert (OrtDevice.make("cpu", 0).device_type(), OrtDevice.make("cpu", 0).device_id()) == ("cpu", 0)
