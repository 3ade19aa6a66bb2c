from __future__ import annotations

import ml_dtypes
import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Program


def test_a_program_comes_back_from_its_files() -> None:
    b = Builder()
    x = b.input("x", "bfloat16", (3,))
    shifted = b.binary("add", x, 0.5)
    kept = b.take(shifted, b.constant(np.array([2, 0], np.int64)), 0)
    nothing = b.constant(np.zeros((0, 2), np.float32))
    program = b.program({"y": kept, "n": nothing})
    again = Program.of_files(program.files())
    assert str(again) == str(program)
    assert (again.inputs, again.weights, again.outputs) == ({"x": 0}, {}, program.outputs)
    assert [array.dtype for array in again.constants.values()] == [ml_dtypes.bfloat16, np.int64, np.float32]
    for name, array in program.constants.items():
        assert again.constants[name].tolist() == array.tolist()
        assert again.constants[name].shape == array.shape


def test_leaves_are_there_once() -> None:
    b = Builder()
    assert b.weight("w", "float32", (2,)) == b.weight("w", "float32", (2,))
    assert b.input("w", "float32", (2,)) != b.weight("w", "float32", (2,))
