"""A program as a module of C: rewritten for C, each instruction with its kernel, all put together.

The engine itself, the executor `aot` and the other engines of C share these two functions:

- `prepared(program, known)` rewrites a program for C: what depends on constants alone is computed, and what nothing
  reads is dropped. What comes out has the same inputs and outputs.
- `network(program, known, processor)` makes the module of a prepared program.

A whole graph whose nodes belong to several engines is one program: `kernel_for` says which engine computes an
instruction (by `Instruction.origin`, the ids of its nodes) and how; what it leaves to ``None`` is computed by `c`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from intarsia.backends.c import NATIVES
from intarsia.backends.c.assemble import assemble
from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.kernels.scalars import ELEMENTWISE
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.lowering.integer.borders import merge_borders
from intarsia.backends.lowering.integer.lower import lower_integers
from intarsia.backends.lowering.passes.channels_last import channels_last
from intarsia.backends.lowering.passes.fold import fold
from intarsia.backends.lowering.passes.fuse import fuse
from intarsia.backends.lowering.program import Instruction, Program

if TYPE_CHECKING:
    import numpy as np

    from intarsia.codegen.module import Kernel, SourceModule
    from intarsia.graph import SubModel
    from intarsia.target import Target

ENGINE = "c"

OtherKernel = Callable[[Site], "tuple[str, Kernel] | None"]
"""The engine and its kernel for an instruction, or ``None`` where it is to be `c`'s."""


def prepared(program: Program, known: Mapping[int, np.ndarray]) -> tuple[Program, dict[int, np.ndarray]]:
    """A program rewritten for C, and the arrays of its leaves that are constants, by place.

    Args:
        program: As it was lowered.
        known: Arrays of its weights and constants, by place.
    """
    for rewrite in (fold, channels_last, merge_borders, fold, partial(fuse, elementwise=ELEMENTWISE)):
        program, known = rewrite(program, known)
    return program, dict(known)


def network(
    program: Program,
    known: Mapping[int, np.ndarray],
    processor: Processor,
    kernel_for: OtherKernel | None = None,
) -> SourceModule:
    """The module of a prepared program.

    Args:
        program: As `prepared` left it.
        known: Arrays of its leaves that are constants, by place.
        processor: What it is written for.
        kernel_for: Kernels of other engines; all are `c`'s if left out.

    Raises:
        NoKernelError: There is no C for an instruction.
    """

    def chosen(place: int, each: Instruction, reads: Sequence[Instruction]) -> tuple[str, Kernel]:
        operands = {slot: known[number] for slot, number in enumerate(each.reads) if number in known}
        site = Site(each=each, reads=tuple(reads), known=operands, processor=processor)
        found = kernel_for(site) if kernel_for is not None else None
        return found or (ENGINE, kernels_for(site)[0])

    return assemble(program, known, chosen)


def prepared_of(model: SubModel) -> tuple[Program, dict[int, np.ndarray]]:
    """The prepared program of a sub-graph, in integers where it is quantised, and the arrays of its constants.

    Raises:
        ModelError: A node cannot be lowered.
    """
    program = lower_integers(model, NATIVES)
    return prepared(program, known_of(program, {name: model.weights[name].array() for name in program.weights}))


def part_module(model: SubModel, host: Target) -> SourceModule:
    """The module of a sub-graph for a processor.

    Raises:
        ModelError: A node cannot be lowered.
        NoKernelError: There is no C for an instruction.
    """
    return network(*prepared_of(model), Processor.of(host))


def known_of(program: Program, weights: Mapping[str, np.ndarray]) -> dict[int, np.ndarray]:
    """Arrays of the leaves of a program that are constants or weights, by place."""
    return program.known | {place: weights[name] for name, place in program.weights.items()}
