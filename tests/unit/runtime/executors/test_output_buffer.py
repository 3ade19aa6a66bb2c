"""A result's memory is written again once nobody holds the result, and never before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intarsia.backends.contract.buffers import Need
from intarsia.runtime.executors.output_buffer import Outlet

NEED = Need(name="y", dtype=np.dtype(np.float32), shape=(2, 3), first=0, last=0)
VIEWS: dict[str, Callable[[np.ndarray], object]] = {
    "itself": lambda array: array,
    "row": lambda array: array[0],
    "row of a row": lambda array: array[0][1:],
    "reshaped": lambda array: array.reshape(3, 2).T,
    "bytes": lambda array: array.data,
    "as numbers": lambda array: array.view(np.int32),
    "dlpack": lambda array: array.__dlpack__(),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_memory_is_left_to_whoever_holds_a_result(view: Callable[[np.ndarray], object]) -> None:
    outlet = Outlet(NEED)
    place = outlet.array
    held = view(outlet.hand_out())
    outlet.renew()
    assert not np.shares_memory(outlet.array, place)
    other = outlet.array
    del held
    outlet.hand_out()
    outlet.renew()
    assert outlet.array is other


def test_a_result_that_was_dropped_leaves_its_memory_to_the_next() -> None:
    outlet = Outlet(NEED)
    place = outlet.array
    for _ in range(3):
        outlet.renew()
        outlet.hand_out()
    assert outlet.array is place


def test_a_result_shows_what_was_written() -> None:
    outlet = Outlet(NEED)
    outlet.array[...] = 7
    found = outlet.hand_out()
    assert found.shape == (2, 3)
    assert found.flags.writeable
    np.testing.assert_array_equal(found, 7)


def test_who_holds_only_the_last_result_gets_two_arrays_by_turns() -> None:
    outlet = Outlet(NEED)
    held, places = None, []
    for _ in range(6):
        outlet.renew()
        places.append(outlet.array.ctypes.data)
        held = outlet.hand_out()
    assert held is not None
    assert len(set(places)) == 2


def test_nothing_is_written_again_while_all_is_held() -> None:
    outlet = Outlet(NEED)
    held = []
    for value in range(5):
        outlet.renew()
        outlet.array[...] = value
        held.append(outlet.hand_out())
    assert [array[0, 0] for array in held] == [0, 1, 2, 3, 4]
