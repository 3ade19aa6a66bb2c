"""Runs a program by calling an engine's kernels one after the other, in Python or while the engine traces the calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from intarsia.backends.lowering.program import LEAVES, Attributes, Instruction, Program

Tensor = Any
Kernel = Callable[..., Tensor]
"""Takes the operands, gives the result."""
KernelOf = Callable[[Instruction, Sequence[Instruction]], Kernel]
"""What computes an instruction on what these instructions compute."""


def indices_of(sliced: Attributes) -> tuple[slice, ...]:
    """What a ``slice`` takes, as Python's indices. There a stop of -1 means the last element."""
    rows = zip(sliced["starts"], sliced["stops"], sliced["steps"], strict=True)
    return tuple(slice(start, None if stop < 0 else stop, step) for start, stop, step in rows)


def padding_of(window: Attributes) -> list[tuple[int, int]]:
    """Elements before and after each dimension."""
    return list(zip(window["before"], window["after"], strict=True))


def corner(x: Tensor, shape: Sequence[int], axis: int) -> Tensor:
    """The first elements of all dimensions but one, as many as ``shape`` has."""
    return x[tuple(slice(None if place == axis else size) for place, size in enumerate(shape))]


class Interpreter:
    """The steps that are left once all is computed that depends on known tensors alone."""

    def __init__(
        self, program: Program, kernel_of: KernelOf, given: Sequence[int], known: Mapping[int, Tensor]
    ) -> None:
        """Prepare. Each call hands over the leaves at the places ``given``; ``known`` has the tensors of the others."""
        self._given = given
        self._outputs = list(program.outputs.values())
        self._values: list[Tensor] = [known.get(place) for place in range(len(program.instructions))]
        self._steps: list[tuple[Kernel, tuple[int, ...], int]] = []
        for place, each in enumerate(program.instructions):
            if each.name in LEAVES:
                continue
            kernel = kernel_of(each, [program.instructions[number] for number in each.reads])
            reads = [self._values[number] for number in each.reads]
            if all(value is not None for value in reads):
                self._values[place] = kernel(*reads)
            else:
                self._steps.append((kernel, each.reads, place))
        computed = (place for place, value in enumerate(self._values) if value is not None)
        self._done = _last_uses(self._steps, {*self._outputs, *computed})

    def __call__(self, *given: Tensor) -> list[Tensor]:
        """The outputs for these leaves. Memory is let go of as soon as nothing reads it any more."""
        values = list(self._values)
        for place, tensor in zip(self._given, given, strict=True):
            values[place] = tensor
        for (kernel, reads, place), done in zip(self._steps, self._done, strict=True):
            values[place] = kernel(*[values[number] for number in reads])
            for number in done:
                values[number] = None
        return [values[number] for number in self._outputs]


def _last_uses(steps: Sequence[tuple[Kernel, tuple[int, ...], int]], kept: set[int]) -> list[tuple[int, ...]]:
    """For each step the values that no later one reads."""
    seen = set(kept)
    found = []
    for _, reads, _ in reversed(steps):
        found.append(tuple(set(reads) - seen))
        seen.update(reads)
    return found[::-1]
