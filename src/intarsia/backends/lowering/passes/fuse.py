"""Puts element-wise instructions together: into one loop, or behind the layer whose result they work on.

A chain becomes an instruction ``loop``, a layer gets an attribute ``behind`` and further operands. Both hold *steps*,
each ``[name, dtype, operands]``; an operand is ``["read", n]`` for the n-th operand of the instruction, ``["step", n]``
for the result of an earlier step, ``["number", value, dtype]`` for a constant of one element, or ``["result"]`` for
what the layer itself computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from intarsia.backends.lowering.passes.rewriter import Known, Rewriter, copied, uses_of
from intarsia.backends.lowering.program import Instruction, Program

LAYERS = frozenset({"conv_last", "conv_transpose_last", "matmul"})
"""Layers whose kernels take steps behind them."""
_LONGEST = 32
"""Steps of one loop: longer ones need more registers than processors have."""

Operand = list[Any]


def fuse(program: Program, known: Known, elementwise: frozenset[str]) -> tuple[Program, Known]:
    """The program with fewer walks over memory.

    Args:
        program: Folded, and in the order of dimensions in which it runs.
        known: Arrays of its leaves that are weights or constants, by place.
        elementwise: Instructions that compute each element by itself.
    """
    return _Pass(program, known, elementwise).finished()


class _Pass:
    def __init__(self, program: Program, known: Known, elementwise: frozenset[str]) -> None:
        self.program = program
        self.known = known
        self.elementwise = elementwise
        self.uses = uses_of(program)
        self.out = Rewriter()
        self.places: list[int] = []
        self.absorbed = self._absorbed()

    def _absorbed(self) -> set[int]:
        """Element-wise instructions that become a part of the one instruction that reads them."""
        readers: dict[int, int] = {}
        for place, each in enumerate(self.program.instructions):
            for read in each.reads:
                readers[read] = place
        found = set()
        sizes = [1] * len(self.program.instructions)
        for place, each in enumerate(self.program.instructions):
            if each.name not in self.elementwise:
                continue
            sizes[place] += sum(sizes[read] for read in set(each.reads) if read in found)
            reader = readers.get(place)
            if reader is None or self.uses[place] != 1 or sizes[place] >= _LONGEST:
                continue
            other = self.program.instructions[reader]
            if other.name in self.elementwise and other.shape == each.shape and 0 not in each.shape:
                found.add(place)
        return found

    def finished(self) -> tuple[Program, Known]:
        for place, each in enumerate(self.program.instructions):
            if place in self.absorbed:
                self.places.append(-1)
            elif each.name in self.elementwise and each.reads and 0 not in each.shape:
                self.places.append(self._loop(place))
            else:
                self.places.append(copied(self.out, each, self.places, self.known, place))
        # A layer stays where it was until the loop behind it is known; what nothing reads any more is dropped here.
        return self.out.finished({name: self.places[place] for name, place in self.program.outputs.items()})

    def _loop(self, place: int) -> int:
        """The instruction at a place with all that it absorbed, behind its layer where it has one."""
        steps: list[list[Any]] = []
        reads: list[int] = []
        origin: dict[str, None] = {}
        self._collect(place, steps, reads, origin)
        each = self.program.instructions[place]
        layer = self._layer_behind(each, steps, reads)
        if layer is not None:
            return self._behind(layer, each, steps, reads, origin)
        numbers = [self.places[read] for read in reads]
        if len(steps) == 1 and all(operand[0] == "read" for operand in steps[0][2]) and len(reads) == len(each.reads):
            return self.out.add(replace(each, reads=tuple(numbers)))
        return self.out.add(
            Instruction("loop", tuple(numbers), {"steps": steps}, each.dtype, each.shape, tuple(origin))
        )

    def _collect(self, place: int, steps: list[list[Any]], reads: list[int], origin: dict[str, None]) -> Operand:
        """Append the steps of an instruction, those of what it absorbed first."""
        each = self.program.instructions[place]
        operands: list[Operand] = []
        for read in each.reads:
            if read in self.absorbed:
                operands.append(self._collect(read, steps, reads, origin))
                continue
            leaf = self.program.instructions[read]
            array = self.known.get(read)
            if array is not None and array.size == 1:
                operands.append(["number", array.reshape(()).item(), leaf.dtype])
                continue
            if read not in reads:
                reads.append(read)
            operands.append(["read", reads.index(read)])
        origin.update(dict.fromkeys(each.origin))
        steps.append([each.name, each.dtype, operands])
        return ["step", len(steps) - 1]

    def _layer_behind(self, each: Instruction, steps: Sequence[Sequence[Any]], reads: Sequence[int]) -> int | None:
        """The layer that a chain works on and that nothing else reads, if the chain can stand behind it."""
        for read in reads:
            layer = self.program.instructions[read]
            if layer.name not in LAYERS or layer.shape != each.shape or layer.dtype != each.dtype:
                continue
            here = sum(operand == ["read", reads.index(read)] for step in steps for operand in step[2])
            if self.uses[read] != here or "float" not in layer.dtype:
                continue
            others = [self.program.instructions[other] for other in reads if other != read]
            if all(_fits(other.shape, each.shape) for other in others):
                return read
        return None

    def _behind(
        self, layer: int, each: Instruction, steps: list[list[Any]], reads: Sequence[int], origin: dict[str, None]
    ) -> int:
        inner = self.program.instructions[layer]
        others = [read for read in reads if read != layer]
        first = len(inner.reads)

        def renamed(operand: Operand) -> Operand:
            if operand[0] != "read":
                return operand
            read = reads[operand[1]]
            return ["result"] if read == layer else ["read", first + others.index(read)]

        behind = [[name, dtype, [renamed(operand) for operand in operands]] for name, dtype, operands in steps]
        return self.out.add(
            Instruction(
                inner.name,
                (*(self.places[read] for read in inner.reads), *(self.places[read] for read in others)),
                {**inner.attributes, "behind": behind},
                each.dtype,
                each.shape,
                tuple(dict.fromkeys((*inner.origin, *origin))),
            )
        )


def _fits(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether an operand of a chain is as large as the result, or one row of it that is repeated."""
    if tuple(shape) == tuple(whole):
        return True
    return prod(shape) == (shape[-1] if shape else 1) and (not shape or shape[-1] in (1, whole[-1]))
