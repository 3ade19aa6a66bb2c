"""Where a kernel is needed: an instruction with what is known around it; and how the text of a function is named.

A family of kernels (a file in `kernels/`) is a table of makers by the name of an instruction. A maker returns every
way that it knows to compute an instruction, best guess first, so that placement can measure them; it raises
`NoKernelError` where it knows none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from intarsia.backends.c.processor import Processor
from intarsia.backends.lowering.program import Instruction
from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import Function, Kernel


class NoKernelError(Exception):
    """There is no C for an instruction; the message says of what, as ``conv of uint16``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An instruction for which a kernel is wanted.

    Attributes:
        each: The instruction.
        reads: What its operands are, in order.
        known: Arrays of the operands that are constants, by position among ``reads``.
        processor: What the text is written for.
    """

    each: Instruction
    reads: tuple[Instruction, ...]
    known: Mapping[int, np.ndarray] = field(default_factory=dict)
    processor: Processor = field(default_factory=Processor)

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The instruction's attributes."""
        return self.each.attributes

    @property
    def size(self) -> int:
        """Elements of the result."""
        return prod(self.each.shape)

    @property
    def type(self) -> str:
        """The result's element type in C."""
        return TYPES[self.each.dtype]

    def type_of(self, place: int) -> str:
        """The element type of an operand in C."""
        return TYPES[self.reads[place].dtype]

    def may_lie_over(self, place: int) -> bool:
        """Whether an operand has as many elements as the result, of the same type of C.

        Of another type it must not: a compiler takes for granted that two types lie apart.
        """
        return prod(self.reads[place].shape) == self.size and self.type_of(place) == self.type


Maker = Callable[[Site], Sequence[Kernel]]
"""All ways that a family knows to compute an instruction, best guess first."""


def function(
    stem: str, parameters: str, body: str, *, needs: Sequence[Function] = (), headers: Sequence[str] = ()
) -> Function:
    """A static function without a result, called after what it does and a digest of its text.

    So two kernels of one text are one function, and a network with ten layers of one shape holds their code once.

    Args:
        stem: What it does, in words of C.
        parameters: As in C.
        body: Statements, as lines.
        needs: Functions that it calls.
        headers: What it includes.
    """
    text = f"({parameters})\n{{\n{body.rstrip()}\n}}"
    name = f"{stem}_{digest(text)}"
    return Function(
        name=name,
        text=f"static void {name}{text}",
        needs=tuple(each.name for each in needs),
        headers=tuple(headers),
    )


def digest(text: str) -> str:
    """Eight signs that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def indented(lines: Sequence[str], depth: int = 1) -> str:
    """Lines, each with so many steps before it."""
    return "\n".join(f"{'    ' * depth}{line}" if line else "" for line in lines)


def strides_of(shape: Sequence[int]) -> list[int]:
    """Elements from one index to the next, for each dimension of an array that lies row by row."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= size
    return found[::-1]
