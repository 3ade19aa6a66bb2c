"""Transposes at the borders of what is quantised, done on the way between floating point and int8."""

from __future__ import annotations

from dataclasses import replace

from intarsia.backends.lowering.passes.rewriter import Known, Rewriter, copied, uses_of
from intarsia.backends.lowering.program import Program


def merge_borders(program: Program, known: Known) -> tuple[Program, Known]:
    """The program in which a value is turned while it is quantised: ``quantize`` with an ``order``.

    Dimension ``order[i]`` of the operand is the i-th of the result. A turned value takes no memory of its own then.

    Args:
        program: Behind `channels_last`.
        known: Arrays of its leaves that are weights or constants, by place.
    """
    uses = uses_of(program)
    rewriter = Rewriter()
    places: list[int] = []
    for place, each in enumerate(program.instructions):
        read = each.reads[0] if each.reads else -1
        inner = program.instructions[read] if each.name == "transpose" else None
        if inner is not None and inner.name == "quantize" and uses[read] == 1 and "order" not in inner.attributes:
            attrs = {**inner.attributes, "order": list(each.attributes["order"])}
            merged = replace(inner, attributes=attrs, shape=each.shape, reads=(places[inner.reads[0]],))
            places.append(rewriter.add(merged))
        else:
            places.append(copied(rewriter, each, places, known, place))
    return rewriter.finished({name: places[place] for name, place in program.outputs.items()})
