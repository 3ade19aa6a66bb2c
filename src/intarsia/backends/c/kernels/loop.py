"""Element-wise instructions, one or a chain of them, as one loop over the elements of the result.

A chain is an instruction ``loop`` (made by `intarsia.backends.lowering.passes.fuse`) whose attribute ``steps`` lists
instructions in order. Each step is ``[name, dtype, operands]``; an operand is ``["read", n]`` for the n-th operand of
the loop, ``["step", n]`` for the result of an earlier step, or ``["number", value, dtype]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from intarsia.backends.c.kernels.scalars import ELEMENTWISE, is_float, number, scalar
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import Function, Kernel, Operand, Result

Steps = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Statements that compute steps on single elements.

    Attributes:
        lines: Statements, each with a new variable.
        result: The variable of the last one.
        functions: What they call.
        headers: What they include.
    """

    lines: tuple[str, ...]
    result: str
    functions: tuple[Function, ...]
    headers: tuple[str, ...]


def chain_of(steps: Steps, given: Sequence[str], types: Sequence[str]) -> Chain:
    """The statements of steps.

    Args:
        steps: As the module's text says.
        given: An expression for the element of each operand.
        types: Element type of each operand.
    """
    lines: list[str] = []
    kinds: list[str] = []
    functions: dict[str, Function] = {}
    headers: dict[str, None] = {}
    for place, (name, dtype, operands) in enumerate(steps):
        texts, of = [], []
        for sort, what, *rest in operands:
            if sort == "number":
                literal = number(what, rest[0])
                headers.update(dict.fromkeys(literal.headers))
                of.append(rest[0])
                if is_float(rest[0]):
                    texts.append(literal.text)
                    continue
                # As a variable: a compiler warns of comparisons with a literal that nothing is less than.
                texts.append(f"n{len(lines)}")
                lines.append(f"const {TYPES[rest[0]]} n{len(lines)} = {literal.text};")
            else:
                texts.append(given[what] if sort == "read" else f"t{what}")
                of.append(types[what] if sort == "read" else kinds[what])
        made = scalar(name, dtype, of, texts)
        functions.update({each.name: each for each in made.needs})
        headers.update(dict.fromkeys((*made.headers, *(header for each in made.needs for header in each.headers))))
        kinds.append(dtype)
        lines.append(f"const {TYPES[dtype]} t{place} = {made.text};")
    return Chain(
        lines=tuple(lines),
        result=f"t{len(steps) - 1}",
        functions=tuple(functions.values()),
        headers=tuple(headers),
    )


def steps_of(site: Site) -> Steps:
    """The steps of a loop, or the one that any other element-wise instruction is."""
    if site.each.name == "loop":
        steps: Steps = site.attrs["steps"]
        return steps
    return [[site.each.name, site.each.dtype, [["read", place] for place in range(len(site.reads))]]]


def element_wise(site: Site) -> Sequence[Kernel]:
    """One loop over the result, in as few dimensions as the broadcasting of the operands leaves."""
    shape = site.each.shape
    aligned = [[1] * (len(shape) - len(read.shape)) + list(read.shape) for read in site.reads]
    rows = [_strides(each, shape) for each in aligned]
    sizes, steps = merged(shape, rows)
    names = [f"x{place}" for place in range(len(site.reads))]
    variables = [f"i{axis}" for axis in range(len(sizes))]
    ours = strides_of(sizes)
    loads = [
        f"const {site.type_of(place)} e{place} = {name}[{index(variables, steps[place])}];"
        for place, name in enumerate(names)
    ]
    chain = chain_of(steps_of(site), [f"e{place}" for place in range(len(names))], [r.dtype for r in site.reads])
    body = [*loads, *chain.lines, f"y[{index(variables, ours)}] = {chain.result};"]
    in_place = [place for place in range(len(names)) if steps[place] == ours and site.may_lie_over(place)]
    text = nested(variables, sizes, body)
    given = [f"const {site.type_of(place)} *x{place}" for place in range(len(names))]
    parameters = ", ".join([*given, f"{site.type} *y"])
    made = function("loop", parameters, indented(text), needs=(INDEPENDENT, *chain.functions), headers=chain.headers)
    return [
        Kernel(
            functions=(made, INDEPENDENT, *chain.functions),
            arguments=(*(Operand(place=place) for place in range(len(names))), Result()),
            in_place=dict.fromkeys(in_place, 0),
        )
    ]


def merged(shape: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Fewer dimensions with the same elements: neighbours through which every operand goes evenly become one.

    Args:
        shape: Of what is looped over.
        rows: For each operand its step in each dimension, in elements; 0 where it is repeated.
    """
    sizes: list[int] = []
    kept: list[list[int]] = [[] for _ in rows]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        steps = [row[axis] for row in rows]
        if sizes and all(old[-1] == step * size for old, step in zip(kept, steps, strict=True)):
            sizes[-1] *= size
            for old, step in zip(kept, steps, strict=True):
                old[-1] = step
        else:
            sizes.append(size)
            for old, step in zip(kept, steps, strict=True):
                old.append(step)
    return (sizes, kept) if sizes else ([1], [[0] for _ in rows])


def index(variables: Sequence[str], steps: Sequence[int]) -> str:
    """Where an element lies."""
    terms = [name if step == 1 else f"{name} * {step}" for name, step in zip(variables, steps, strict=True) if step]
    return " + ".join(terms) or "0"


INDEPENDENT = Function(
    name="INDEPENDENT",
    text="""#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif""",
)
"""Stands before a loop whose rounds do not wait for each other: a result lies over an operand in the same place, or
below it, or not at all, so that vectors are right where the loop is."""


def nested(
    variables: Sequence[str], sizes: Sequence[int], body: Sequence[str], *, independent: bool = True
) -> list[str]:
    """Statements inside loops, the first variable's outermost. Who uses it needs `INDEPENDENT`, unless attrs not."""
    if not variables:
        return list(body)
    inner = nested(variables[1:], sizes[1:], body, independent=independent)
    head = f"for (size_t {variables[0]} = 0; {variables[0]} < {sizes[0]}u; ++{variables[0]}) {{"
    before = ["INDEPENDENT"] if independent and len(variables) == 1 else []
    return [*before, head, *(f"    {line}" for line in inner), "}"]


def _strides(own: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Of an operand whose dimensions stand below those of the result."""
    steps = strides_of(own)
    return [0 if size == 1 and whole != 1 else step for size, whole, step in zip(own, shape, steps, strict=True)]


MAKERS: Mapping[str, Maker] = MappingProxyType(dict.fromkeys((*ELEMENTWISE, "loop"), element_wise))
