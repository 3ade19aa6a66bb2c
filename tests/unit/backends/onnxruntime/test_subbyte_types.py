from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends.contract import Port
from intarsia.backends.onnxruntime.subbyte_types import Packed
from intarsia.graph.dtypes import numpy_dtype

CONTENTS = [
    ("int4", [-8, -1, 0, 7, 3], [0xF8, 0x70, 0x03]),
    ("uint4", [15, 0, 1], [0x0F, 0x01]),
    ("int2", [-2, -1, 0, 1, 1], [0b01001110, 0b01]),
    ("uint2", [3, 2, 1, 0], [0b00011011]),
]


@pytest.mark.parametrize(("dtype", "values", "memory"), CONTENTS, ids=[dtype for dtype, _, _ in CONTENTS])
def test_elements_go_to_memory_and_back(dtype: str, values: list[int], memory: list[int]) -> None:
    array = np.array(values).astype(numpy_dtype(dtype))
    packed = Packed(array, dtype)
    packed.pack()
    assert packed.memory.tolist() == memory
    array[...] = np.zeros_like(array)
    packed.unpack()
    assert array.astype(int).tolist() == values


def test_a_port_is_looked_up_at_each_call() -> None:
    first, second = (np.array(values).astype(numpy_dtype("int4")) for values in ([1, 2], [3, 4]))
    port = Port(first)
    packed = Packed(port, "int4")
    port.array = second
    packed.pack()
    assert packed.memory.tolist() == [0x43]
    port.array = first
    packed.unpack()
    assert first.astype(int).tolist() == [3, 4]


def test_dimensions_do_not_matter() -> None:
    array = np.arange(6).reshape(2, 3).astype(numpy_dtype("uint4"))
    packed = Packed(array, "uint4")
    packed.pack()
    assert packed.memory.tolist() == [0x10, 0x32, 0x54]
