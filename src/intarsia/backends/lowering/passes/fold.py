"""Computes what depends on constants alone, once and for all, and drops what no output needs."""

from __future__ import annotations

from math import prod

from intarsia.backends.lowering.passes.evaluate import evaluate
from intarsia.backends.lowering.passes.rewriter import Known, Rewriter, copied
from intarsia.backends.lowering.program import LEAVES, Instruction, Program

_GROWTH = 4
_SMALL = 1 << 14
"""Elements. A constant that is repeated into something larger than that costs more memory than it spares time."""


def fold(program: Program, known: Known) -> tuple[Program, Known]:
    """The program with constants in place of what can be computed before it runs.

    Args:
        program: Any.
        known: Arrays of its leaves that are weights or constants, by place.
    """
    rewriter = Rewriter()
    places: list[int] = []
    for place, each in enumerate(program.instructions):
        operands = [rewriter.known.get(places[read]) for read in each.reads]
        array = None
        if each.name not in LEAVES and operands and all(each is not None for each in operands):
            arrays = [array for array in operands if array is not None]
            if _is_worth_it(each, sum(array.size for array in arrays)):
                array = evaluate(each, arrays)
        places.append(copied(rewriter, each, places, known, place) if array is None else
                      rewriter.constant(array, each.origin))  # fmt: skip
    return rewriter.finished({name: places[place] for name, place in program.outputs.items()})


def _is_worth_it(each: Instruction, elements: int) -> bool:
    return prod(each.shape) <= max(_SMALL, _GROWTH * elements)
