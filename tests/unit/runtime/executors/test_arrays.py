"""Arrays of other libraries: read where they lie, and given back in kind, by the protocol alone."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from intarsia.backends.contract import Signature
from intarsia.errors import FeedError
from intarsia.runtime.executors.arrays import NotAnArrayError, as_numpy, cure, handed_back, library_of, pointer_of
from intarsia.runtime.executors.feeds import check_feeds, named_feeds

FLOAT = np.dtype(np.float32)
LIBRARY = "a_tensor_library"


class Tensor:
    """A tensor of a library that has its own words for dtypes and devices."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self.array = array
        self.device = device

    @property
    def dtype(self) -> str:
        return f"{LIBRARY}.{self.array.dtype.name}"

    def view(self, dtype: np.dtype) -> Tensor:
        return Tensor(self.array.view(dtype))

    def to(self, dtype: Any) -> Tensor:
        return Tensor(self.array.astype(dtype))

    def __dlpack__(self, **resolved: Any) -> Any:
        return self.array.__dlpack__(**resolved)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Other(Tensor):
    """One of a library that follows the array-API standard."""

    def __array_namespace__(self) -> ModuleType:
        return sys.modules["another_library"]


@pytest.fixture(autouse=True)
def _libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in ((LIBRARY, Tensor), ("another_library", Other)):
        module = ModuleType(name)
        vars(module).update(
            from_dlpack=lambda array, kind=kind: kind(np.from_dlpack(array)),
            uint16=np.dtype(np.uint16),
            bfloat16=np.dtype(ml_dtypes.bfloat16),
        )
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(Tensor, "__module__", f"{LIBRARY}.tensors")


@pytest.mark.parametrize("kind", [Tensor, Other])
def test_a_tensor_is_read_where_it_lies_and_comes_back_in_kind(kind: type[Tensor]) -> None:
    given = kind(np.arange(6, dtype=np.float32).reshape(2, 3))
    taken = as_numpy(given, FLOAT)
    assert np.shares_memory(taken, given.array)
    make = library_of([given, np.zeros(1)])
    assert make is not None
    back = handed_back({"y": taken, "text": np.array(["a"], object)}, make)
    assert type(back["y"]) is kind
    assert np.shares_memory(back["y"].array, given.array)
    assert isinstance(back["text"], np.ndarray)


@pytest.mark.parametrize("kind", [Tensor, Other])
def test_an_element_type_that_dlpack_lacks_crosses_as_integers(kind: type[Tensor]) -> None:
    given = kind(np.ones(4, ml_dtypes.bfloat16))
    taken = as_numpy(given, np.dtype(ml_dtypes.bfloat16))
    assert (taken.dtype, taken.tolist()) == (ml_dtypes.bfloat16, [1, 1, 1, 1])
    make = library_of([given])
    assert make is not None
    back = handed_back({"y": taken}, make)["y"]
    assert back.array.dtype == ml_dtypes.bfloat16
    assert np.shares_memory(back.array, given.array)


def test_feeds_of_several_libraries_give_numpy_s() -> None:
    array = np.zeros(1, np.float32)
    assert library_of([array, [1.0], np.float32(2)]) is None
    assert library_of([Tensor(array), Other(array)]) is None


def test_what_is_on_a_device_is_refused() -> None:
    with pytest.raises(NotAnArrayError, match="copy it to the host first"):
        as_numpy(Tensor(np.zeros(1), device=2), FLOAT)


@pytest.mark.parametrize(
    ("given", "dtype", "expected"),
    [
        (1, "float32", 1.0),
        ([1, 2], "uint8", [1, 2]),
        ([[0.5]], "float32", [[0.5]]),
        ([], "int64", []),
        (True, "bool", True),
    ],
)
def test_numbers_take_the_type_that_is_wanted(given: Any, dtype: str, expected: Any) -> None:
    taken = as_numpy(given, np.dtype(dtype))
    assert (taken.dtype, taken.tolist()) == (np.dtype(dtype), expected)


@pytest.mark.parametrize(("given", "dtype"), [([1, 2], "uint8"), ([0.5], "float32")])
def test_arrays_keep_their_own_type(given: list[float], dtype: str) -> None:
    assert as_numpy(np.array(given), np.dtype(dtype)).dtype == np.array(given).dtype


def test_numbers_that_do_not_fit_are_refused() -> None:
    assert as_numpy([0.5], np.dtype(np.int64)).dtype == np.float64  # and the feed is refused for its dtype
    for given in ([300], [[1], [1, 2]]):
        with pytest.raises(NotAnArrayError, match="is no array of uint8"):
            as_numpy(given, np.dtype(np.uint8))


def test_the_cure_is_in_the_library_s_words() -> None:
    assert cure(np.zeros(1), FLOAT) == ".astype('float32')"
    assert cure(Tensor(np.zeros(1)), FLOAT) == f".to({LIBRARY}.float32)"


def test_a_bad_feed_is_named_with_its_input() -> None:
    data = Signature(name="data", dtype="float32", shape=(1,))
    with pytest.raises(FeedError, match=r"input data float32\[1\]: what was given is in a device's memory"):
        check_feeds([data], {"data": Tensor(np.zeros(1), device=2)})
    with pytest.raises(FeedError, match=rf"given as float64; convert it with \.to\({LIBRARY}\.float32\)"):
        check_feeds([data], {"data": Tensor(np.zeros(1))})


def test_feeds_by_place_and_by_name() -> None:
    inputs = [Signature(name=name, dtype="float32", shape=(1,)) for name in ("a", "b")]
    assert named_feeds(inputs, [1], {"b": 2}) == {"a": 1, "b": 2}
    assert named_feeds(inputs, [], {"b": 2, "a": 1}) == {"a": 1, "b": 2}
    with pytest.raises(FeedError, match="3 feeds are given by their place, and the inputs are a, b"):
        named_feeds(inputs, [1, 2, 3], {})
    with pytest.raises(FeedError, match="input a is given by its place and by its name"):
        named_feeds(inputs, [1], {"a": 2})


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_the_place_of_an_array_s_memory_is_told_and_stays_true(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.float32)
    pointer = pointer_of(array)
    assert pointer.value == array.ctypes.data
    array.resize((1 << 20,), refcheck=False)
    assert pointer.value == array.ctypes.data
    view = array[5:]
    assert pointer_of(view).value == array.ctypes.data + 20
