"""Values and devices as ONNX Runtime names them, over numpy arrays in the host's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from intarsia.errors import FeedError, UnsupportedError
from intarsia.graph.dtypes import dtype_name, elem_type_of, numpy_dtype
from intarsia.graph.reading.interface import tensor_type
from intarsia.interop.refusal import refuse_absent
from intarsia.runtime.executors.arrays import NotAnArrayError, as_numpy

ElementType = Any
"""A numpy type, or ONNX's number of one."""


class OrtDevice:
    """A device, of which there is one here: the processor with the host's memory."""

    def __init__(self, device_type: str, device_id: int) -> None:
        check_device(device_type, device_id)

    @classmethod
    def make(cls, device_type: str, device_id: int) -> OrtDevice:
        """The device of that name and number."""
        return cls(device_type, device_id)

    def device_type(self) -> str:
        """``cpu``."""
        return "cpu"

    def device_id(self) -> int:
        """0."""
        return 0


class OrtValue:
    """One array. It shares the memory of what it was made from."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Over an array, without a copy."""
        check_device(device_type, device_id)
        return cls(np.asarray(numpy_obj))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, onnx_element_type: int) -> OrtValue:
        """Over an array whose bytes are elements of an ONNX type that numpy lacks."""
        return cls(np.asarray(data).view(element_dtype(onnx_element_type)))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: ElementType, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Room for an array; what is in it is not defined."""
        check_device(device_type, device_id)
        return cls(np.empty(tuple(shape), element_dtype(element_type)))

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """Over an array of any library, without a copy; a `FeedError` if that cannot be, as in a device's memory."""
        try:
            return cls(as_numpy(data, np.dtype(np.float32)))
        except NotAnArrayError as error:
            raise FeedError(f"the array {error}") from error

    def numpy(self) -> np.ndarray:
        """The array itself."""
        return self._array

    def shape(self) -> list[int]:
        """Its dimensions."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """In the notation of ONNX: ``tensor(float)``."""
        return tensor_type(self.element_type())

    def element_type(self) -> int:
        """ONNX's number of the element type."""
        dtype = self._array.dtype
        return elem_type_of("string" if dtype.kind in "OUS" else dtype.name)

    def device_name(self) -> str:
        """``cpu``."""
        return "cpu"

    def data_ptr(self) -> int:
        """Address of the first element."""
        return int(self._array.ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        """Bytes of the elements."""
        return self._array.nbytes

    def has_value(self) -> bool:
        """Always: there are no optional values."""
        return True

    def is_tensor(self) -> bool:
        """Always."""
        return True

    def is_sparse_tensor(self) -> bool:
        """Never."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Never."""
        return False

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Copy an array of the same shape and type into this one."""
        fill(self._array, data.numpy() if isinstance(data, OrtValue) else data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **resolved: Any) -> Any:
        return self._array.__dlpack__(**resolved)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __getattr__(self, name: str) -> Any:
        raise refuse_absent("OrtValue", name, dir(type(self)))


def check_device(device_type: str, device_id: int) -> None:
    """Raise an `UnsupportedError` for memory that is not the host's."""
    if device_type.lower() not in ("cpu", "default") or device_id:
        raise UnsupportedError(
            f"inputs and outputs are in the host's memory, not on {device_type}:{device_id}; bind them on 'cpu', and "
            "state what runs on a device by target="
        )


def element_dtype(element_type: ElementType) -> np.dtype:
    """The dtype of a numpy type or of ONNX's number of one."""
    if isinstance(element_type, int):
        name = dtype_name(element_type)
        if name is None:
            raise FeedError(f"ONNX has no element type {element_type}")
        return numpy_dtype(name)
    return np.dtype(element_type)


def fill(place: np.ndarray, result: np.ndarray) -> None:
    """Copy a result to where a caller wants it; a place of another shape or type is a `FeedError`."""
    if place.shape != result.shape or place.dtype != result.dtype:
        raise FeedError(
            f"there is room for {place.dtype}{list(place.shape)}, and the value is {result.dtype}{list(result.shape)}"
        )
    np.copyto(place, result)
