"""A result's memory is written again once nobody holds the result, and never before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intarsia.backends.contract.buffers import Need
from intarsia.runtime.executors.output_buffer import OutputBuffer

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
    output_buffer = OutputBuffer(NEED)
    place = output_buffer.array
    held = view(output_buffer.hand_out())
    output_buffer.renew()
    assert not np.shares_memory(output_buffer.array, place)
    other = output_buffer.array
    del held
    output_buffer.hand_out()
    output_buffer.renew()
    assert output_buffer.array is other


def test_a_result_that_was_dropped_leaves_its_memory_to_the_next() -> None:
    output_buffer = OutputBuffer(NEED)
    place = output_buffer.array
    for _ in range(3):
        output_buffer.renew()
        output_buffer.hand_out()
    assert output_buffer.array is place


def test_a_result_shows_what_was_written() -> None:
    output_buffer = OutputBuffer(NEED)
    output_buffer.array[...] = 7
    found = output_buffer.hand_out()
    assert found.shape == (2, 3)
    assert found.flags.writeable
    np.testing.assert_array_equal(found, 7)


def test_who_holds_only_the_last_result_gets_two_arrays_by_turns() -> None:
    output_buffer = OutputBuffer(NEED)
    held, places = None, []
    for _ in range(6):
        output_buffer.renew()
        places.append(output_buffer.array.ctypes.data)
        held = output_buffer.hand_out()
    assert held is not None
    assert len(set(places)) == 2


def test_nothing_is_written_again_while_all_is_held() -> None:
    output_buffer = OutputBuffer(NEED)
    held = []
    for value in range(5):
        output_buffer.renew()
        output_buffer.array[...] = value
        held.append(output_buffer.hand_out())
    assert [array[0, 0] for array in held] == [0, 1, 2, 3, 4]
