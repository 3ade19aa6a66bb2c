"""Products of matrices by tiles: weights are packed when the network is compiled, other matrices on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels.behind import behind_of
from intarsia.backends.c.kernels.loop import index
from intarsia.backends.c.kernels.scalars import is_float
from intarsia.backends.c.kernels.tiles import Tile, chunk_rows
from intarsia.backends.c.kernels.windows import batch_steps, plain_matmul
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import BYTES, Kernel, Operand, Result, Scratch, Table


def _matmul(site: Site) -> Sequence[Kernel]:
    if not is_float(site.each.dtype):
        return (plain_matmul(site),)
    b = site.known.get(1)
    if b is not None and prod(b.shape[:-2]) == 1:
        return (_by_weights(site, b.reshape(b.shape[-2:])),)
    return (_by_values(site),)


def _by_weights(site: Site, weights: np.ndarray) -> Kernel:
    """All rows of the first operand, whatever its outer dimensions, times one packed matrix."""
    depth, n = weights.shape
    rows = prod(site.each.shape[:-1])
    behind = behind_of(site)
    tile = Tile.of(site.each.dtype, rows, n, site.processor)
    packed = tile.packed(weights[None], None if behind.bias is None else behind.bias[None])
    size = BYTES[site.each.dtype]
    chunk = chunk_rows(tile, rows, (depth * size, n * size), site.processor)
    kind = site.type
    body = [
        f"for (size_t first = 0; first < {rows}u; first += {chunk}) {{",
        f"    const size_t count = first + {chunk} < {rows}u ? {chunk} : {rows} - first;",
        f"    for (size_t j = 0; j < {n}u; j += {tile.columns}) {{",
        f"        const size_t columns = j + {tile.columns} < {n}u ? {tile.columns} : {n} - j;",
        *_tiles(tile, kind, depth, n, f"w + (j / {tile.columns}) * {(1 + depth) * tile.columns}", depth=2),
        "    }",
        *(f"    {line}" for line in behind.call(f"y + first * {n}", "count", "first")),
        "}",
    ]
    parameters = ", ".join([f"const {kind} *x", f"const {kind} *w", *behind.parameters, f"{kind} *y"])
    functions = (*tile.function(), *behind.needs)
    made = function("product", parameters, indented(body), needs=functions)
    return Kernel(
        functions=(made, *functions),
        arguments=(Operand(place=0), Table(array=packed), *behind.operands, Result()),
    )


def _tiles(tile: Tile, kind: str, k: int, n: int, panel: str, *, depth: int) -> list[str]:
    """Rows ``first`` to ``first + count`` of one panel of columns, tile by tile."""
    lines = [
        f"for (size_t i = 0; i < count; i += {tile.rows}) {{",
        f"    const {kind} *from[{tile.rows}];",
        f"    for (size_t r = 0; r < {tile.rows}u; ++r) {{",
        f"        from[r] = x + (first + (i + r < count ? i + r : count - 1)) * {k};",
        "    }",
        f"    {tile.function()[0].name}(1, {k}, 0, from, {panel}, y + (first + i) * {n} + j, {n},",
        f"        count - i < {tile.rows}u ? count - i : {tile.rows}, columns);",
        "}",
    ]
    return [f"{'    ' * depth}{line}" for line in lines]


def _by_values(site: Site) -> Kernel:
    """For each pair of matrices: a panel of the second is packed, then all tiles that read it."""
    (*_, m, depth), n = site.reads[0].shape, site.each.shape[-1]
    outer = site.each.shape[:-2]
    behind = behind_of(site, takes_bias=False)
    tile = Tile.of(site.each.dtype, m, n, site.processor)
    kind = site.type
    names = [f"o{axis}" for axis in range(len(outer))]
    offsets = [index(names, batch_steps(read.shape, outer)) for read in site.reads[:2]]
    at = index(names, strides_of(outer)) if outer else "0"
    body = [
        f"const {kind} *const x = x0 + {offsets[0]};",
        f"const {kind} *const other = x1 + {offsets[1]};",
        f"{kind} *const y = whole + ({at}) * {m * n};",
        f"const size_t first = 0, count = {m};",
        f"for (size_t j = 0; j < {n}u; j += {tile.columns}) {{",
        f"    const size_t columns = j + {tile.columns} < {n}u ? {tile.columns} : {n} - j;",
        f"    for (size_t c = 0; c < {tile.columns}u; ++c) {{",
        "        packed[c] = 0;",
        "    }",
        f"    for (size_t k = 0; k < {depth}u; ++k) {{",
        f"        {kind} *const to = packed + (k + 1) * {tile.columns};",
        "        for (size_t c = 0; c < columns; ++c) {",
        f"            to[c] = other[k * {n} + j + c];",
        "        }",
        f"        for (size_t c = columns; c < {tile.columns}u; ++c) {{",
        "            to[c] = 0;",
        "        }",
        "    }",
        *_tiles(tile, kind, depth, n, "packed", depth=1),
        "}",
        *behind.call("y", str(m), f"({at}) * {m}"),
    ]
    lines = [f"{kind} *const packed = scratch;"]
    for name, size in reversed(list(zip(names, outer, strict=True))):
        body = [f"for (size_t {name} = 0; {name} < {size}u; ++{name}) {{", *(f"    {line}" for line in body), "}"]
    parameters = ", ".join(
        [f"const {kind} *x0", f"const {kind} *x1", *behind.parameters, f"{kind} *whole", "void *scratch"]
    )
    functions = (*tile.function(), *behind.needs)
    made = function("product", parameters, indented([*lines, *body]), needs=functions)
    scratch = Scratch((1 + depth) * tile.columns * BYTES[site.each.dtype])
    return Kernel(
        functions=(made, *functions),
        arguments=(Operand(place=0), Operand(place=1), *behind.operands, Result(), scratch),
    )


MAKERS: Mapping[str, Maker] = MappingProxyType({"matmul": _matmul})
