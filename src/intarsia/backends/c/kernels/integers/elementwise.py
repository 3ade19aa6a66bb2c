"""Sums, products and tables of int8, and the borders to floating point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels.integers import mve_elementwise
from intarsia.backends.c.kernels.integers.rounding import EVEN, HELD, NEAREST
from intarsia.backends.c.kernels.loop import index, merged, nested
from intarsia.backends.c.site import Maker, NoKernelError, Site, function, indented, strides_of
from intarsia.backends.lowering.integer.reference import product_scaling
from intarsia.backends.lowering.integer.sums import LIFT, sum_of
from intarsia.codegen.module import Function, Kernel, Operand, Result, Table


def _loop(
    site: Site, stem: str, expression: str, *, needs: Sequence[Function] = (), headers: Sequence[str] = (),
    tables: Sequence[tuple[str, np.ndarray]] = (), before: Sequence[str] = (),
) -> Kernel:  # fmt: skip
    """One pass over the result, where ``x0`` and ``x1`` of an expression stand for elements of the operands."""
    shape = site.each.shape
    operands = [place for place in range(len(site.reads)) if not tables or place == 0]
    rows = []
    for place in operands:
        read = site.reads[place].shape
        aligned = [1] * (len(shape) - len(read)) + list(read)
        steps = strides_of(aligned)
        rows.append(
            [0 if own == 1 and whole != 1 else step for own, whole, step in zip(aligned, shape, steps, strict=True)]
        )
    sizes, steps_of = merged(shape, rows)
    names = [f"i{axis}" for axis in range(len(sizes))]
    ours = strides_of(sizes)
    loads = [
        f"const {site.type_of(place)} x{place} = p{place}[{index(names, steps)}];"
        for place, steps in zip(operands, steps_of, strict=True)
    ]
    text = [*before, *nested(names, sizes, [*loads, f"y[{index(names, ours)}] = {expression};"], independent=False)]
    parameters = ", ".join([
        *(f"const {site.type_of(place)} *p{place}" for place in operands),
        *(f"const {kind} *t{number}" for number, (kind, _) in enumerate(tables)),
        f"{site.type} *y",
    ])  # fmt: skip
    made = function(stem, parameters, indented(text), needs=needs, headers=headers)
    in_place = {
        place: 0
        for place, steps in zip(operands, steps_of, strict=True)
        if steps == ours and site.reads[place].dtype == site.each.dtype
    }
    return Kernel(
        functions=(made, *needs),
        arguments=(
            *(Operand(place=place) for place in operands),
            *(Table(array=array) for _, array in tables),
            Result(),
        ),
        in_place=in_place,
    )


def _sum(minus: bool, site: Site) -> Sequence[Kernel]:
    found = sum_of(site.attrs, minus=minus)
    if found is None:
        raise NoKernelError(f"{site.each.name} of such scales")
    same = all(read.shape == site.each.shape for read in site.reads)
    parts = f"q_upper(x0, {found.first}) + q_upper(x1, {found.second})"
    total = f"({parts} + ({found.offset})) >> {found.shift}"
    needs: tuple[Function, ...] = (HELD, UPPER)
    if found.even is not None:
        total, needs = f"q_tied({parts} + ({found.offset}), {found.shift}, {found.even})", (HELD, UPPER, TIED)
    plain = _loop(site, site.each.name, f"q_held({total}, {site.attrs['low']}, {site.attrs['high']})", needs=needs)
    return (
        [mve_elementwise.sum_of(site, found), plain]
        if same and site.processor.has_mve and found.even is None
        else [plain]
    )


def _product(site: Site) -> Sequence[Kernel]:
    multiplier, shift = product_scaling(site.attrs)
    attrs = site.attrs
    pair = f"(x0 - ({attrs['a_zero']})) * (x1 - ({attrs['b_zero']}))"
    ends = f"{multiplier}, {shift}, {attrs['y_zero']}, {attrs['low']}, {attrs['high']}"
    return [_loop(site, "q_mul", f"q_nearest({pair}, {ends})", needs=(EVEN, NEAREST))]


def _lookup(site: Site) -> Sequence[Kernel]:
    table = np.asarray(site.attrs["table"], np.int8)
    return [_loop(site, "q_lookup", "t0[x0 + 128]", tables=(("int8_t", table),))]


def _flip(site: Site) -> Sequence[Kernel]:
    if site.each.dtype == "uint8":
        return [_loop(site, "q_flip", "(uint8_t)(x0 + 128)")]
    return [_loop(site, "q_flip", "(int8_t)(x0 - 128)")]


def float_literal(number: float) -> str:
    """A float32 as C writes it, exactly."""
    return f"{float(np.float32(number)).hex()}f"


def _dequantize(site: Site) -> Sequence[Kernel]:
    expression = f"(float)(x0 - ({site.attrs['zero']})) * {float_literal(site.attrs['scale'])}"
    return [_loop(site, "q_dequantize", expression)]


UPPER = Function(
    name="q_upper",
    text=f"""/* The upper half of a code, moved up, times a multiplier. */
static inline int32_t q_upper(int32_t code, int32_t multiplier)
{{
    return (int32_t)(((int64_t)(code * {1 << LIFT}) * multiplier) >> 32);
}}""",
)

TIED = Function(
    name="q_tied",
    text="""/* A total that holds half a step: shifted, and of a tie to the step whose last bit is `even`. */
static inline int32_t q_tied(int32_t total, int32_t shift, int32_t even)
{
    return (total - (((total >> shift) + even) & 1)) >> shift;
}""",
)

MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "dequantize": _dequantize,
        "q_add": partial(_sum, False),
        "q_flip": _flip,
        "q_lookup": _lookup,
        "q_mul": _product,
        "q_sub": partial(_sum, True),
    }
)
