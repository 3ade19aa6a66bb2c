"""A program that is written anew, instruction by instruction, by the passes in `fold`, `channels_last` and `fuse`.

Passes work on a program together with the arrays of its leaves, *known* by place. They keep inputs and outputs, their
names and their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from intarsia.backends.lowering.program import CONSTANT, INPUT, LEAVES, Instruction, Program

Known = Mapping[int, np.ndarray]
"""Arrays of the leaves that are weights or constants, by place."""


class Rewriter:
    """A program that grows, and the arrays of its constants.

    Attributes:
        instructions: What was added.
        known: Arrays of leaves, by place.
    """

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.known: dict[int, np.ndarray] = {}
        self._made: dict[tuple[object, ...], int] = {}

    def add(self, each: Instruction) -> int:
        """Append an instruction whose reads are places here; its place."""
        self.instructions.append(each)
        return len(self.instructions) - 1

    def leaf(self, each: Instruction, array: np.ndarray | None) -> int:
        """Append a leaf, with its array where it has one; its place."""
        place = self.add(each)
        if array is not None:
            self.known[place] = array
        return place

    def constant(self, array: np.ndarray, origin: tuple[str, ...] = ()) -> int:
        """Append a constant; its place. One of the same contents is used again."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        key = (array.dtype.name, array.shape, array.tobytes()) if array.nbytes <= _SHARED else (len(self.instructions),)
        if key not in self._made:
            name = f"made{len(self.instructions)}"
            leaf = Instruction(CONSTANT, (), {"name": name}, array.dtype.name, array.shape, origin)
            self._made[key] = self.leaf(leaf, array)
        return self._made[key]

    def finished(self, outputs: Mapping[str, int]) -> tuple[Program, dict[int, np.ndarray]]:
        """The program without what no output needs, and its known arrays. Inputs stay, whether read or not."""
        needed = {place for place, each in enumerate(self.instructions) if each.name == INPUT}
        needed.update(outputs.values())
        for place in range(len(self.instructions) - 1, -1, -1):
            if place in needed:
                needed.update(self.instructions[place].reads)
        places = {place: number for number, place in enumerate(sorted(needed))}
        kept = [
            replace(self.instructions[place], reads=tuple(places[read] for read in self.instructions[place].reads))
            for place in sorted(needed)
        ]
        known = {places[place]: array for place, array in self.known.items() if place in needed}
        constants = {
            kept[place].attributes["name"]: array for place, array in known.items() if kept[place].name == CONSTANT
        }
        program = Program(
            instructions=tuple(kept),
            outputs={name: places[place] for name, place in outputs.items()},
            constants=constants,
        )
        return program, known


_SHARED = 4096
"""Bytes: larger constants are not compared."""


def uses_of(program: Program) -> list[int]:
    """How often each result is read, an output counting as once more."""
    counts = [0] * len(program.instructions)
    for each in program.instructions:
        for read in each.reads:
            counts[read] += 1
    for place in program.outputs.values():
        counts[place] += 1
    return counts


def copied(rewriter: Rewriter, each: Instruction, places: Sequence[int], known: Known, place: int) -> int:
    """An instruction as it is, on what its operands have become."""
    if each.name in LEAVES:
        return rewriter.leaf(each, known.get(place))
    return rewriter.add(replace(each, reads=tuple(places[read] for read in each.reads)))
