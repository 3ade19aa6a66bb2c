"""Puts the instructions that one engine computes as a whole into a single instruction, `REGION`.

An accelerator with a compiler of its own takes a part of a network, not an instruction. What it takes is cut so that no
value leaves a region and comes back into it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from intarsia.backends.lowering.passes.rewriter import Known, Rewriter
from intarsia.backends.lowering.program import CONSTANT, INPUT, LEAVES, Instruction, Program
from intarsia.topological_order import runnable_order

REGION = "region"
"""Instruction that stands for a region; ``number`` says which. Several results lie one behind the other."""


VIEWS = frozenset({"reshape"})
"""Instructions for which alone there is no region."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A part of a program.

    Attributes:
        program: Its instructions; inputs and outputs are called ``x0``, ``x1``, and ``y0``, ``y1``.
        known: Arrays of its constants, by place.
        nodes: Ids of the nodes that it computes.
    """

    program: Program
    known: Mapping[int, np.ndarray]
    nodes: tuple[str, ...]


def join(program: Program, known: Known, taken: Collection[int]) -> tuple[Program, dict[int, np.ndarray], list[Region]]:
    """The program with regions in place of the instructions that were taken.

    Args:
        program: Prepared for C.
        known: Arrays of its leaves that are constants, by place.
        taken: Places of instructions that compute int8 of int8 and constants.
    """
    made = program.instructions
    taken = _computing(program, frozenset(taken))
    levels = _levels(program, taken)
    units: dict[tuple[str, int], list[int]] = {}
    unit_of: dict[int, tuple[str, int]] = {}
    for place in range(len(made)):
        unit_of[place] = (REGION, levels[place]) if place in taken else ("", place)
        units.setdefault(unit_of[place], []).append(place)
    out, places, regions = Rewriter(), dict[int, int](), list[Region]()
    for unit in _ordered(program, unit_of):
        members = units[unit]
        if unit[0] != REGION:
            (place,) = members
            each = made[place]
            if each.name in LEAVES:
                places[place] = out.leaf(each, known.get(place))
            else:
                places[place] = out.add(replace(each, reads=tuple(places[read] for read in each.reads)))
            continue
        region, reads, writes = _cut(program, known, members)
        where = [places[read] for read in reads]
        _put(out, len(regions), region, where, [(place, made[place]) for place in writes], places)
        regions.append(region)
    outputs = {name: places[place] for name, place in program.outputs.items()}
    rewritten, arrays = out.finished(outputs)
    return rewritten, arrays, regions


def _computing(program: Program, taken: frozenset[int]) -> frozenset[int]:
    """Those that something reads, and that are in a region with more than views."""
    needed = set(program.outputs.values())
    for place in range(len(program.instructions) - 1, -1, -1):
        if place in needed:
            needed.update(program.instructions[place].reads)
    taken &= needed
    while True:
        levels = _levels(program, taken)
        busy = {levels[place] for place in taken if program.instructions[place].name not in VIEWS}
        kept = frozenset(place for place in taken if levels[place] in busy)
        if kept == taken:
            return taken
        taken = kept


def _levels(program: Program, taken: frozenset[int]) -> list[int]:
    """How often the longest way to each instruction leaves what is taken: equal ones have nothing else between them."""
    found: list[int] = []
    for place, each in enumerate(program.instructions):
        ours = place in taken
        found.append(max((found[read] + (read in taken and not ours) for read in each.reads), default=0))
    return found


def _ordered(program: Program, unit_of: Mapping[int, tuple[str, int]]) -> list[tuple[str, int]]:
    """Units in an order in which each has what it reads, as near to the program's as can be."""
    units = list(dict.fromkeys(unit_of[place] for place in range(len(program.instructions))))
    number = {unit: place for place, unit in enumerate(units)}
    readers: list[set[int]] = [set() for _ in units]
    for place, each in enumerate(program.instructions):
        for read in each.reads:
            if unit_of[read] != unit_of[place]:
                readers[number[unit_of[read]]].add(number[unit_of[place]])
    order = runnable_order(readers)
    assert len(order) == len(units), "regions form no cycle"
    return [units[each] for each in order]


def _cut(program: Program, known: Known, members: Sequence[int]) -> tuple[Region, list[int], list[int]]:
    """The region, and the places that it reads and that others read of it."""
    made, inside = program.instructions, set(members)
    reads = dict.fromkeys(read for place in members for read in made[place].reads if read not in inside | known.keys())
    read_outside = {read for place, each in enumerate(made) if place not in inside for read in each.reads}
    read_outside.update(program.outputs.values())
    writes = [place for place in members if place in read_outside]
    out, places = Rewriter(), dict[int, int]()
    for number, read in enumerate(reads):
        source = made[read]
        places[read] = out.add(Instruction(INPUT, (), {"name": f"x{number}"}, source.dtype, source.shape))
    for place in members:
        for read in made[place].reads:
            if read not in places:
                leaf = Instruction(CONSTANT, (), {"name": f"k{read}"}, made[read].dtype, made[read].shape)
                places[read] = out.leaf(leaf, known[read])
        each = made[place]
        places[place] = out.add(replace(each, reads=tuple(places[read] for read in each.reads)))
    part, arrays = out.finished({f"y{number}": places[place] for number, place in enumerate(writes)})
    nodes = tuple(dict.fromkeys(node for place in members for node in made[place].origin))
    return Region(program=part, known=arrays, nodes=nodes), list(reads), writes


def _put(
    out: Rewriter,
    number: int,
    region: Region,
    reads: Sequence[int],
    writes: Sequence[tuple[int, Instruction]],
    places: dict[int, int],
) -> None:
    attrs = {"number": number}
    if len(writes) == 1:
        place, each = writes[0]
        whole = Instruction(REGION, tuple(reads), attrs, each.dtype, each.shape, region.nodes)
        places[place] = out.add(whole)
        return
    sizes = [prod(each.shape) for _, each in writes]
    flat = out.add(Instruction(REGION, tuple(reads), attrs, "int8", (sum(sizes),), region.nodes))
    start = 0
    for (place, each), size in zip(writes, sizes, strict=True):
        cut = {"starts": [start], "stops": [start + size], "steps": [1]}
        part = out.add(Instruction("slice", (flat,), cut, "int8", (size,), region.nodes))
        places[place] = out.add(Instruction("reshape", (part,), {}, "int8", each.shape, region.nodes))
        start += size
