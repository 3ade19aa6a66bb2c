from __future__ import annotations

from importlib import util

import numpy as np
import pytest

from intarsia.backends.openvino import OpenVinoBackend, writable
from intarsia.target import Target


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


def test_there_is_one_variant() -> None:
    target = Target("openvino")
    assert OpenVinoBackend().variants(target) == (target,)


def test_an_absent_engine_says_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    found = OpenVinoBackend().probe()
    assert not found.usable
    assert found.mend == "pip install 'intarsia[openvino]'"
