"""What stands behind a layer: the steps of `intarsia.backends.lowering.passes.fuse`, on rows of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from intarsia.backends.c.kernels.loop import INDEPENDENT, chain_of, nested
from intarsia.backends.c.site import Site, function, indented
from intarsia.codegen.module import Function, Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """The steps as a function that is called for some rows.

    Attributes:
        bias: What is added to each column first, where that is known: kernels start their sums with it.
        function: Does the rest to rows of the result; ``None`` if there is none.
        functions: What that calls.
        operands: What the layer's function is given for it.
        parameters: The same, as parameters of C.
    """

    bias: np.ndarray | None
    function: Function | None
    functions: tuple[Function, ...]
    operands: tuple[Operand, ...]
    parameters: tuple[str, ...]

    def call(self, y: str, rows: str, first: str) -> list[str]:
        """The statement that does it.

        Args:
            y: The address of the first of these rows.
            rows: How many.
            first: The number of the first one in the whole result.
        """
        if self.function is None:
            return []
        given = "".join(f", {name.split()[-1].lstrip('*')}" for name in self.parameters)
        return [f"{self.function.name}({y}, {rows}, {first}{given});"]

    @property
    def needs(self) -> tuple[Function, ...]:
        """All functions."""
        return () if self.function is None else (self.function, INDEPENDENT, *self.functions)


def behind_of(site: Site, *, takes_bias: bool = True) -> Behind:
    """What stands behind a layer; without its bias where the kernel starts its sums with that."""
    steps: list[Any] = [list(step) for step in site.attrs.get("behind", ())]
    columns = site.each.shape[-1]
    bias, steps = _without_bias(site, steps, columns) if takes_bias else (None, steps)
    if not steps:
        return Behind(bias=bias, function=None, functions=(), operands=(), parameters=())
    used = sorted({operand[1] for _, _, operands in steps for operand in operands if operand[0] == "read"})
    types = [site.reads[place].dtype for place in used]
    index = {place: number for number, place in enumerate(used)}
    renamed = [
        [name, dtype, [["read", index[o[1]]] if o[0] == "read" else ["read", len(used)] if o[0] == "result" else o
                       for o in operands]]
        for name, dtype, operands in steps
    ]  # fmt: skip
    given = [f"e{place}" for place in used] + ["r"]
    chain = chain_of(renamed, given, [*types, site.each.dtype])
    loads = [
        f"const {site.type_of(place)} e{place} = x{place}[{_place(site.reads[place].shape, site.each.shape, columns)}];"
        for place in used
    ]
    here = f"y[i * {columns} + j]"
    body = [*loads, f"const {site.type} r = {here};", *chain.lines, f"{here} = {chain.result};"]
    parameters = tuple(f"const {site.type_of(place)} *x{place}" for place in used)
    made = function(
        "behind",
        ", ".join([f"{site.type} *y", "size_t rows", "size_t first", *parameters]),
        indented(_rows(site, used, columns, body)),
        needs=(INDEPENDENT, *chain.functions),
        headers=("<stddef.h>", *chain.headers),
    )
    return Behind(
        bias=bias,
        function=made,
        functions=chain.functions,
        operands=tuple(Operand(place=place) for place in used),
        parameters=parameters,
    )


def _rows(site: Site, used: list[int], columns: int, body: list[str]) -> list[str]:
    """One loop over all elements where no operand is a row of its own, else one for each row."""
    is_flat = all(site.reads[place].shape == site.each.shape for place in used)
    if is_flat:
        flat = [line.replace(f"(first + i) * {columns} + j", f"first * {columns} + i") for line in body]
        flat = [line.replace(f"i * {columns} + j", "i") for line in flat]
        return ["INDEPENDENT", f"for (size_t i = 0; i < rows * {columns}; ++i) {{", *(f"    {x}" for x in flat), "}",
                *(["(void)first;"] if not used else [])]  # fmt: skip
    inner = nested(["j"], [columns], body)
    lines = ["for (size_t i = 0; i < rows; ++i) {", *(f"    {line}" for line in inner), "}"]
    return lines if any("first" in line for line in body) else [*lines, "(void)first;"]


def _place(shape: tuple[int, ...], whole: tuple[int, ...], columns: int) -> str:
    if shape == whole:
        return f"(first + i) * {columns} + j"
    return "j" if shape and shape[-1] == columns and columns > 1 else "0"


def _without_bias(site: Site, steps: list[Any], columns: int) -> tuple[np.ndarray | None, list[Any]]:
    """The known row that the first step adds to the result, and the steps without that one."""
    if not steps or steps[0][0] != "add":
        return None, steps
    operands = steps[0][2]
    rest = [other for _, _, others in steps[1:] for other in others]
    if ["result"] not in operands or ["result"] in rest:
        return None, steps
    other = operands[1 - operands.index(["result"])]
    if other[0] != "read" or other[1] not in site.known:
        return None, steps
    row = site.known[other[1]]
    if row.size not in (1, columns):
        return None, steps

    def renumbered(operand: list[Any]) -> list[Any]:
        if operand[0] != "step":
            return operand
        return ["result"] if operand[1] == 0 else ["step", operand[1] - 1]

    left = [[name, dtype, [renumbered(operand) for operand in others]] for name, dtype, others in steps[1:]]
    return np.broadcast_to(row.reshape(-1), (columns,)), left
