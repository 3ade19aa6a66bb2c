from __future__ import annotations

import numpy as np

from intarsia.backends.contract.shared_memory import writable


def test_a_read_only_array_is_shared_all_the_same() -> None:
    array = np.arange(12, dtype=np.int16).reshape(3, 4)
    array.flags.writeable = False
    shared = writable(array)
    assert shared.flags.writeable
    assert shared.ctypes.data == array.ctypes.data
    assert np.array_equal(shared, array)


def test_a_writable_array_stays_itself() -> None:
    array = np.zeros(3)
    assert writable(array) is array


def test_an_array_without_elements_has_no_memory_to_share() -> None:
    array = np.zeros((0, 3))
    array.flags.writeable = False
    assert writable(array) is array
