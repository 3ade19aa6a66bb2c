"""What rewritten programs hold beside the primitives, in numpy: layers with channels last, loops, steps behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from intarsia.backends.lowering.interpreter import Interpreter, Kernel
from intarsia.backends.lowering.program import Instruction, Program
from tests.unit.backends.lowering import numpy_kernels


def run(program: Program, known: dict[int, np.ndarray], feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a program, rewritten or not."""
    places = list(program.inputs.values())
    interpreter = Interpreter(program, kernel_of, places, known)
    found = interpreter(*(feeds[name] for name in program.inputs))
    return dict(zip(program.outputs, found, strict=True))


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs = dict(each.attributes)
    behind = attrs.pop("behind", None)
    if behind is not None:
        own = len(reads) - _further(behind)
        inner = kernel_of(replace(each, attributes=attrs), reads[:own])
        return lambda *given: _stepped(behind, given, inner(*given[:own])).reshape(each.shape)
    if each.name == "loop":
        return lambda *given: np.broadcast_to(_stepped(attrs["steps"], given, None), each.shape)
    if each.name.endswith("_last"):
        return _last(replace(each, name=each.name.removesuffix("_last")), reads)
    if each.name == "sigmoid":
        return lambda x: (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)
    if each.name == "relu":
        return lambda x: np.maximum(x, x.dtype.type(0))
    if each.name == "softmax":
        return lambda x: _softmax(x, attrs["axis"])
    return numpy_kernels.kernel_of(each, reads)


def _further(behind: Sequence[Any]) -> int:
    return len({operand[1] for _, _, operands in behind for operand in operands if operand[0] == "read"})


def _stepped(steps: Sequence[Any], given: Sequence[np.ndarray], result: np.ndarray | None) -> np.ndarray:
    made: list[np.ndarray] = []
    for name, dtype, operands in steps:
        values = []
        for sort, *what in operands:
            if sort == "number":
                values.append(np.array(what[0], what[1]))
            elif sort == "result":
                assert result is not None
                values.append(result)
            else:
                values.append(given[what[0]] if sort == "read" else made[what[0]])
        shape = np.broadcast_shapes(*(value.shape for value in values))
        each = Instruction(name, (), {}, dtype, shape)
        reads = [Instruction("input", (), {}, value.dtype.name, value.shape) for value in values]
        made.append(kernel_of(each, reads)(*values))
    return made[-1]


def _last(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    rank = len(each.shape)
    first, back = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    plain = replace(each, shape=tuple(each.shape[axis] for axis in first))
    turned = [replace(read, shape=tuple(read.shape[axis] for axis in first)) for read in reads]
    kernel = numpy_kernels.kernel_of(plain, turned)
    return lambda *given: kernel(*(array.transpose(first) for array in given)).transpose(back)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    found: np.ndarray = (e / e.sum(axis, keepdims=True)).astype(x.dtype)
    return found
