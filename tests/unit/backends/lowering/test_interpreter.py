from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.interpreter import Interpreter, Kernel
from intarsia.backends.lowering.program import Instruction, Program


def doubled() -> Program:
    """y = (x + c) + (c + c), z = y + x."""
    b = Builder()
    x, c = b.input("x", "float32", (2,)), b.constant(np.ones(2, np.float32))
    twice = b.binary("add", c, c)
    y = b.binary("add", b.binary("add", x, c), twice)
    return b.program({"y": y, "z": b.binary("add", y, x)})


class Array(np.ndarray):
    """One that can be watched."""


def test_what_depends_on_constants_alone_is_computed_once() -> None:
    calls: list[str] = []

    def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
        def add(a: Any, b: Any) -> Any:
            calls.append(each.name)
            return a + b

        return add

    program = doubled()
    run = Interpreter(program, kernel_of, [program.inputs["x"]], program.known)
    assert len(calls) == 1
    for start in (0.0, 5.0):
        x = np.full(2, start, np.float32)
        y, z = run(x)
        assert (y.tolist(), z.tolist()) == ([start + 3] * 2, [2 * start + 3] * 2)
    assert len(calls) == 1 + 2 * 3


def test_values_are_let_go_of_once_nothing_reads_them() -> None:
    alive: list[int] = []
    made: list[weakref.ref[Any]] = []

    def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
        def negated(x: Any) -> Any:
            alive.append(sum(ref() is not None for ref in made))
            found = (-x).view(Array)
            made.append(weakref.ref(found))
            return found

        return negated

    b = Builder()
    term = b.input("x", "float32", (2,))
    for _ in range(5):
        term = b.unary("neg", term)
    Interpreter(b.program({"y": term}), kernel_of, [0], {})(np.ones(2, np.float32))
    assert max(alive) == 1
