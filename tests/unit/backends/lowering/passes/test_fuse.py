"""What is put together, and what is not."""

from __future__ import annotations

import numpy as np

from intarsia.backends.c.kernels.scalars import ELEMENTWISE
from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.passes.fuse import fuse
from intarsia.backends.lowering.program import Instruction, Program


def fused(program: Program) -> list[Instruction]:
    found, _ = fuse(program, program.known, ELEMENTWISE)
    return [each for each in found.instructions if each.name not in ("input", "weight", "constant")]


def test_a_chain_is_one_loop_with_its_numbers_in_it() -> None:
    b = Builder()
    x = b.input("x", "float32", (2, 3))
    y = b.binary("mul", b.unary("tanh", b.binary("add", x, 2.0)), x)
    (loop,) = fused(b.program({"y": y}))
    assert loop.name == "loop"
    assert loop.reads == (0,)
    assert loop.attributes["steps"] == [
        ["add", "float32", [["read", 0], ["number", 2.0, "float32"]]],
        ["tanh", "float32", [["step", 0]]],
        ["mul", "float32", [["step", 1], ["read", 0]]],
    ]


def test_what_two_read_is_kept() -> None:
    b = Builder()
    shared = b.unary("tanh", b.input("x", "float32", (2, 3)))
    outputs = {"y": b.unary("neg", shared), "z": b.unary("exp", shared)}
    assert [each.name for each in fused(b.program(outputs))] == ["tanh", "neg", "exp"]


def test_what_leaves_is_kept() -> None:
    b = Builder()
    first = b.unary("tanh", b.input("x", "float32", (2, 3)))
    assert [each.name for each in fused(b.program({"y": first, "z": b.unary("neg", first)}))] == ["tanh", "neg"]


def test_what_is_repeated_is_computed_once() -> None:
    """A row that is added to a matrix is not computed anew for each of its rows."""
    b = Builder()
    row = b.unary("exp", b.input("r", "float32", (1, 3)))
    y = b.binary("add", b.input("x", "float32", (2, 3)), row)
    assert [each.name for each in fused(b.program({"y": y}))] == ["exp", "add"]


def test_steps_stand_behind_their_layer() -> None:
    b = Builder()
    x, w = b.input("x", "float32", (4, 8)), b.input("w", "float32", (8, 3))
    made = b.matmul(x, w)
    y = b.binary("mul", made, b.unary("sigmoid", b.binary("add", made, b.input("s", "float32", (3,)))))
    (layer,) = fused(b.program({"y": b.binary("sub", y, b.input("r", "float32", (4, 3)))}))
    assert layer.name == "matmul"
    assert len(layer.reads) == 4
    assert [step[0] for step in layer.attributes["behind"]] == ["add", "sigmoid", "mul", "sub"]


def test_a_layer_whose_result_is_read_elsewhere_stands_alone() -> None:
    b = Builder()
    made = b.matmul(b.input("x", "float32", (4, 8)), b.input("w", "float32", (8, 3)))
    outputs = {"y": b.unary("tanh", made), "z": b.reduce("sum", made, [0])}
    assert [each.name for each in fused(b.program(outputs))] == ["matmul", "tanh", "reduce_sum"]


def test_a_column_does_not_stand_behind_a_layer() -> None:
    b = Builder()
    made = b.matmul(b.input("x", "float32", (4, 8)), b.input("w", "float32", (8, 3)))
    y = b.binary("add", made, b.input("c", "float32", (4, 1)))
    assert [each.name for each in fused(b.program({"y": y}))] == ["matmul", "add"]


def test_a_long_chain_is_cut() -> None:
    b = Builder()
    y = b.input("x", "float32", (2, 3))
    for _ in range(100):
        y = b.unary("tanh", y)
    found = fused(b.program({"y": y}))
    assert 3 <= len(found) <= 5
    assert sum(len(each.attributes["steps"]) for each in found) == 100
    assert all(np.prod(each.shape) == 6 for each in found)
