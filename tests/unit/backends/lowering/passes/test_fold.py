"""What is computed beforehand, and what is dropped."""

from __future__ import annotations

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.passes.evaluate import evaluate
from intarsia.backends.lowering.passes.fold import fold
from intarsia.backends.lowering.program import Instruction


def test_what_depends_on_constants_alone_is_a_constant() -> None:
    b = Builder()
    w = b.weight("w", "float32", (2, 3))
    y = b.binary("mul", b.input("x", "float32", (3, 2)), b.transpose(b.unary("exp", w), (1, 0)))
    program = b.program({"y": y})
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    folded, known = fold(program, {program.weights["w"]: array})
    assert [each.name for each in folded.instructions] == ["input", "constant", "mul"]
    (constant,) = known.values()
    np.testing.assert_array_equal(constant, np.exp(array).T)


def test_what_nothing_reads_is_dropped_and_inputs_stay() -> None:
    b = Builder()
    b.input("unread", "float32", (2,))
    x = b.input("x", "float32", (2,))
    b.unary("exp", x)
    folded, _ = fold(b.program({"y": b.unary("neg", x)}), {})
    assert [each.name for each in folded.instructions] == ["input", "input", "neg"]


def test_a_number_is_not_repeated_into_a_large_array() -> None:
    b = Builder()
    y = b.expand(b.constant(np.zeros((1,), np.float32)), (1 << 20,))
    program = b.program({"y": y})
    folded, _ = fold(program, program.known)
    assert [each.name for each in folded.instructions] == ["constant", "expand"]


def test_division_of_integers_is_left_to_the_engine() -> None:
    each = Instruction("div", (0, 1), {}, "int32", (2,))
    assert evaluate(each, [np.array([1, 2], np.int32), np.array([0, 1], np.int32)]) is None
    assert evaluate(Instruction("argsort", (0,), {}, "int64", (2,)), [np.zeros(2)]) is None
