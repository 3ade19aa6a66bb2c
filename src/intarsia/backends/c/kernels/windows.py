"""Products of matrices, convolutions and pools as plain loops over channels-first data: any type, any shape.

These are for what the fast kernels leave: integers, weights that are computed, odd shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from intarsia.backends.c.kernels.loop import index, nested
from intarsia.backends.c.kernels.reduction import start
from intarsia.backends.c.kernels.scalars import number, scalar
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import Kernel, Operand, Result


def plain_matmul(site: Site) -> Kernel:
    """Row by row: a row of the result grows by rows of the second matrix, which lie side by side."""
    (*_, m, depth), n = site.reads[0].shape, site.each.shape[-1]
    outer = site.each.shape[:-2]
    names = [f"o{axis}" for axis in range(len(outer))]
    starts = [index(names, batch_steps(read.shape, outer)) for read in site.reads]
    dtype, kind = site.each.dtype, site.type
    product = scalar("mul", dtype, (dtype, dtype), ("a", "e"))
    total = scalar("add", dtype, (dtype, dtype), ("s", "p"))
    inner = [
        f"const {kind} e = row[j], s = to[j];",
        f"const {kind} p = {product.text};",
        f"to[j] = {total.text};",
    ]
    body = [
        f"{kind} *to = y + ({index(names, strides_of([*outer, m * n])[:-1])}) + i * {n};",
        *nested(["j"], [n], [f"to[j] = {number(0, dtype).text};"], independent=False),
        f"for (size_t k = 0; k < {depth}u; ++k) {{",
        f"    const {kind} a = x0[{starts[0]} + i * {depth} + k];",
        f"    const {kind} *row = x1 + {starts[1]} + k * {n};",
        *(f"    {line}" for line in nested(["j"], [n], inner, independent=False)),
        "}",
    ]
    lines = nested([*names, "i"], [*outer, m], body, independent=False)
    parameters = f"const {kind} *x0, const {kind} *x1, {kind} *y"
    made = function("matmul", parameters, indented(lines))
    return Kernel(functions=(made,), arguments=(Operand(place=0), Operand(place=1), Result()))


def batch_steps(shape: Sequence[int], outer: Sequence[int]) -> list[int]:
    """For each dimension before the last two of the result the step in an operand, 0 where it is repeated."""
    own = [1] * (len(outer) + 2 - len(shape)) + list(shape)
    steps = strides_of(own)
    return [0 if own[axis] == 1 and size != 1 else steps[axis] for axis, size in enumerate(outer)]


def plain_conv(site: Site) -> Kernel:
    """Every element of the result by itself."""
    attrs, (_, channels, *sizes), (_, depth, *kernel) = site.attrs, site.reads[0].shape, site.reads[1].shape
    rank, kind = len(kernel), site.type
    per_group = site.each.shape[1] // attrs["groups"]
    walk = window(attrs, kernel, sizes, [f"p{axis}" for axis in range(rank)])
    area, taps = prod(sizes), prod(kernel)
    first = f"x0[(n * {channels} + (o / {per_group}) * {depth} + c) * {area} + {walk.source}]"
    second = f"x1[(o * {depth} + c) * {taps} + {walk.tap}]"
    lines = _summed(site, depth, walk, [], first, second)
    made = function("conv", f"const {kind} *x0, const {kind} *x1, {kind} *y", indented(lines))
    return Kernel(functions=(made,), arguments=(Operand(place=0), Operand(place=1), Result()))


def _summed(site: Site, depth: int, walk: Window, before: Sequence[str], first: str, second: str) -> list[str]:
    """Each element of the result as a sum over so many channels, and a window, of products of these two."""
    batch, out, *shape = site.each.shape
    rank, dtype, kind = len(shape), site.each.dtype, site.type
    product = scalar("mul", dtype, (dtype, dtype), ("a", "b"))
    total = scalar("add", dtype, (dtype, dtype), ("s", "p"))
    step = [
        *before,
        f"const {kind} a = {first};",
        f"const {kind} b = {second};",
        f"const {kind} p = {product.text}, s = sum;",
        f"sum = {total.text};",
    ]
    body = [
        f"{kind} sum = {number(0, dtype).text};",
        *nested(["c"], [depth], walk.around(step), independent=False),
        f"y[(n * {out} + o) * {prod(shape)} + {index([f'p{axis}' for axis in range(rank)], strides_of(shape))}] = sum;",
    ]
    names = ["n", "o", *(f"p{axis}" for axis in range(rank))]
    return nested(names, [batch, out, *shape], body, independent=False)


class Window:
    """A walk over the elements of a window that lie inside of the operand."""

    def __init__(self, heads: Sequence[Sequence[str]], source: str, tap: str) -> None:
        self.heads = heads
        self.source = source
        self.tap = tap

    def around(self, body: Sequence[str]) -> list[str]:
        """Statements for each element of the window."""
        lines = list(body)
        for head in reversed(self.heads):
            lines = [head[0], *(f"    {line}" for line in (*head[1:], *lines)), "}"]
        return lines


def window(
    attrs: Mapping[str, Sequence[int]], kernel: Sequence[int], sizes: Sequence[int], at: Sequence[str]
) -> Window:
    """The walk over the window of the result at these variables."""
    heads = []
    for axis, (taps, size) in enumerate(zip(kernel, sizes, strict=True)):
        stride, apart, before = (attrs[name][axis] for name in ("strides", "dilations", "before"))
        heads.append(
            [
                f"for (size_t k{axis} = 0; k{axis} < {taps}u; ++k{axis}) {{",
                f"const size_t q{axis} = {at[axis]} * {stride} + k{axis} * {apart} - {before};",
                f"if (q{axis} >= {size}u) {{",
                "    continue;",
                "}",
            ]
        )
    rank = len(kernel)
    return Window(
        heads,
        index([f"q{axis}" for axis in range(rank)], strides_of(sizes)),
        index([f"k{axis}" for axis in range(rank)], strides_of(kernel)),
    )


def plain_conv_transpose(site: Site) -> Kernel:
    """Every element of the result by itself: the inputs that a window there would come from."""
    attrs, (_, channels, *sizes), (_, per_group, *kernel) = site.attrs, site.reads[0].shape, site.reads[1].shape
    rank, kind = len(kernel), site.type
    depth = channels // attrs["groups"]
    heads = []
    for axis, (taps, size) in enumerate(zip(kernel, sizes, strict=True)):
        stride, apart, before = (attrs[name][axis] for name in ("strides", "dilations", "before"))
        heads.append(
            [
                f"for (int64_t k{axis} = 0; k{axis} < {taps}; ++k{axis}) {{",
                f"const int64_t f{axis} = (int64_t)p{axis} + {before} - k{axis} * {apart};",
                f"if (f{axis} < 0 || f{axis} % {stride} != 0 || f{axis} / {stride} >= {size}) {{",
                "    continue;",
                "}",
                f"const size_t q{axis} = (size_t)(f{axis} / {stride});",
            ]
        )
    source = index([f"q{axis}" for axis in range(rank)], strides_of(sizes))
    tap = index([f"(size_t)k{axis}" for axis in range(rank)], strides_of(kernel))
    own = [f"const size_t from = (o / {per_group}) * {depth} + c;"]
    first = f"x0[(n * {channels} + from) * {prod(sizes)} + {source}]"
    second = f"x1[(from * {per_group} + o % {per_group}) * {prod(kernel)} + {tap}]"
    lines = _summed(site, depth, Window(heads, source, tap), own, first, second)
    made = function(
        "conv_transpose", f"const {kind} *x0, const {kind} *x1, {kind} *y", indented(lines), headers=("<stdint.h>",)
    )
    return Kernel(functions=(made,), arguments=(Operand(place=0), Operand(place=1), Result()))


def plain_pool(site: Site) -> Kernel:
    """The greatest, or the sum, of what of a window lies inside."""
    (batch, channels, *sizes), shape = site.reads[0].shape, site.each.shape[2:]
    rank, dtype, kind = len(sizes), site.each.dtype, site.type
    at = [f"p{axis}" for axis in range(rank)]
    walk = window(site.attrs, site.attrs["kernel"], sizes, at)
    name = "max" if site.each.name == "pool_max" else "add"
    one = scalar(name, dtype, (dtype, dtype), ("s", "e"))
    first = start(name, dtype)
    step = [f"const {kind} e = x[c * {prod(sizes)} + {walk.source}], s = found;", f"found = {one.text};"]
    body = [
        f"{kind} found = {first.text};",
        *walk.around(step),
        f"y[c * {prod(shape)} + {index(at, strides_of(shape))}] = found;",
    ]
    lines = nested(["c", *at], [batch * channels, *shape], body, independent=False)
    made = function(
        site.each.name,
        f"const {kind} *x, {kind} *y",
        indented(lines),
        needs=one.needs,
        headers=(*first.headers, *one.headers),
    )
    return Kernel(functions=(made, *one.needs), arguments=(Operand(place=0), Result()))


def _one(make: object) -> Maker:
    assert callable(make)
    return lambda site: (make(site),)


MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "conv": _one(plain_conv),
        "conv_transpose": _one(plain_conv_transpose),
        "pool_max": _one(plain_pool),
        "pool_sum": _one(plain_pool),
    }
)
