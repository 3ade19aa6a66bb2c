"""Convolutions of channels-last floats with known weights: by tiles, and channel by channel where each stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels.behind import behind_of
from intarsia.backends.c.kernels.loop import INDEPENDENT
from intarsia.backends.c.kernels.tiles import Tile, chunk_rows, rounded_up
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import BYTES, Given, Kernel, Operand, Result, Scratch, Table

_UNROLLED = 32
"""Elements of a window that are one expression where all of them lie inside."""


def _conv(site: Site) -> Sequence[Kernel]:
    groups = site.attrs["groups"]
    weights = site.known[1]
    out, *_, depth = weights.shape
    if groups > 1 and depth == 1 and out == groups:
        return (_depthwise(site, weights), _by_tiles(site, _as_panels(weights, groups), depth))
    return (_by_tiles(site, _as_panels(weights, groups), depth),)


def _as_panels(weights: np.ndarray, groups: int) -> np.ndarray:
    """(groups, taps and channels, columns) of (out, *kernel, in / groups)."""
    out, *_, depth = weights.shape
    return weights.reshape(groups, out // groups, -1, depth).transpose(0, 2, 3, 1).reshape(groups, -1, out // groups)


def _conv_transpose(site: Site) -> Sequence[Kernel]:
    """As a convolution whose windows have holes: where a stride is passed over, a row of zeros is read."""
    groups, weights = site.attrs["groups"], site.known[1]
    inputs, *_, per_group = weights.shape
    depth = inputs // groups
    parted = weights.reshape(groups, depth, -1, per_group).transpose(0, 2, 1, 3).reshape(groups, -1, per_group)
    return (_by_tiles(site, parted, depth, is_transposed=True),)


def _by_tiles(site: Site, weights: np.ndarray, depth: int, *, is_transposed: bool = False) -> Kernel:
    """Chunks of places of the result: pointers to what each reads, then panel by panel, tile by tile.

    Args:
        site: Of the convolution.
        weights: (groups, taps and channels, columns).
        depth: Channels that one group reads.
        is_transposed: Whether it is the transpose of a convolution.
    """
    (batch, *sizes, channels), (_, *shape, out) = site.reads[0].shape, site.each.shape
    groups, whole_depth, columns = weights.shape
    taps, places = whole_depth // depth, prod(shape)
    behind = behind_of(site)
    tile = Tile.of(site.each.dtype, places, columns, site.processor)
    bias = None if behind.bias is None else behind.bias.reshape(groups, columns)
    packed = tile.packed(weights, bias)
    size, kind = BYTES[site.each.dtype], site.type
    chunk = chunk_rows(tile, places, (out * size, taps * site.processor.pointer_bytes), site.processor)
    panel = (1 + whole_depth) * tile.columns
    panels = packed.shape[1]
    body = [
        f"const {kind} **const table = scratch;",
        f"{kind} *const zeros = ({kind} *)(void *)((char *)scratch + {_table_bytes(site, chunk * taps)});",
        f"for (size_t c = 0; c < {channels}u; ++c) {{",
        "    zeros[c] = 0;",
        "}",
        f"for (size_t n = 0; n < {batch}u; ++n) {{",
        f"    const {kind} *const image = x + n * {prod(sizes) * channels};",
        f"    for (size_t first = 0; first < {places}u; first += {chunk}) {{",
        f"        const size_t count = first + {chunk} < {places}u ? {chunk} : {places} - first;",
        f"        {kind} *const rows = y + (n * {places} + first) * {out};",
        *(f"        {line}" for line in _pointers(site, tile, sizes, shape, channels, is_transposed=is_transposed)),
        f"        for (size_t g = 0; g < {groups}u; ++g) {{",
        f"            for (size_t j = 0; j < {columns}u; j += {tile.columns}) {{",
        f"                const size_t columns = j + {tile.columns} < {columns}u ? {tile.columns} : {columns} - j;",
        f"                const {kind} *const panel = w + (g * {panels} + j / {tile.columns}) * {panel};",
        f"                for (size_t i = 0; i < count; i += {tile.rows}) {{",
        f"                    {tile.function()[0].name}({taps}, {depth}, g * {depth}, table + i * {taps}, panel,",
        f"                        rows + i * {out} + g * {columns} + j, {out},",
        f"                        count - i < {tile.rows}u ? count - i : {tile.rows}, columns);",
        "                }",
        "            }",
        "        }",
        *(f"        {line}" for line in behind.call("rows", "count", f"n * {places} + first")),
        "    }",
        "}",
    ]
    parameters = [f"const {kind} *x", f"const {kind} *w", *behind.parameters, f"{kind} *y", "void *scratch"]
    functions = (*tile.function(), *behind.needs)
    made = function("convolution", ", ".join(parameters), indented(body), needs=functions)
    scratch = Scratch(_table_bytes(site, chunk * taps) + channels * size)
    arguments: tuple[Given, ...] = (Operand(place=0), Table(array=packed), *behind.operands, Result(), scratch)
    return Kernel(functions=(made, *functions), arguments=arguments)


def _table_bytes(site: Site, pointers: int) -> int:
    return rounded_up(pointers * site.processor.pointer_bytes, 64 if site.processor.vector_bytes > 4 else 8)


def _pointers(
    site: Site, tile: Tile, sizes: Sequence[int], shape: Sequence[int], channels: int, *, is_transposed: bool
) -> list[str]:
    """Fills the table: for each tile, for each element of the window, an address for each row of the tile."""
    kernel = site.known[1].shape[1:-1]
    taps, rank = prod(kernel), len(kernel)
    steps, tap_steps = strides_of(sizes), strides_of(kernel)
    lines = [
        f"for (size_t p = 0; p < (count + {tile.rows - 1}) / {tile.rows} * {tile.rows}; ++p) {{",
        "    const size_t place = first + (p < count ? p : count - 1);",
        *(f"    const size_t p{axis} = place / {step} % {size};"
          for axis, (step, size) in enumerate(zip(strides_of(shape), shape, strict=True))),
        f"    const {site.type} **const to = table + p / {tile.rows} * {taps * tile.rows} + p % {tile.rows};",
    ]  # fmt: skip
    met, inner = [], []
    for axis in range(rank):
        stride, apart, before = (site.attrs[name][axis] for name in ("strides", "dilations", "before"))
        head = "    " * (axis + 1)
        lines.append(f"{head}for (size_t k{axis} = 0; k{axis} < {kernel[axis]}u; ++k{axis}) {{")
        if is_transposed:
            # What would be negative wraps to something far too large, and is not inside.
            moved = f"+ {before}" if before >= 0 else f"- {-before}"
            spread = f"p{axis} {moved} - k{axis} * {apart}"
            lines.append(f"{head}    const size_t f{axis} = {spread}, q{axis} = f{axis} / {stride};")
            if stride > 1:
                met.append(f"f{axis} % {stride} == 0")
            met.append(f"f{axis} < {stride * sizes[axis]}u")
        else:
            lines.append(f"{head}    const size_t q{axis} = p{axis} * {stride} + k{axis} * {apart} - {before};")
            if before or _reaches_over(site, axis, sizes, shape, kernel):
                met.append(f"q{axis} < {sizes[axis]}u")
        inner.append(f"q{axis} * {steps[axis]}")
    head = "    " * (rank + 1)
    tap = " + ".join(f"k{axis} * {step}" for axis, step in enumerate(tap_steps))
    where = f"image + ({' + '.join(inner)}) * {channels}"
    chosen = f"({' && '.join(met)}) ? {where} : zeros" if met else where
    lines.append(f"{head}to[({tap}) * {tile.rows}] = {chosen};")
    lines += [f"{'    ' * (axis + 1)}}}" for axis in reversed(range(rank))]
    return [*lines, "}"]


def _reaches_over(site: Site, axis: int, sizes: Sequence[int], shape: Sequence[int], kernel: Sequence[int]) -> bool:
    stride, apart, before = (site.attrs[name][axis] for name in ("strides", "dilations", "before"))
    return bool((shape[axis] - 1) * stride + (kernel[axis] - 1) * apart - before >= sizes[axis])


def _depthwise(site: Site, weights: np.ndarray) -> Kernel:
    """Each channel by itself: where the whole window lies inside, one loop over the channels does all of it."""
    (batch, *sizes, channels), (_, *shape, _) = site.reads[0].shape, site.each.shape
    kernel = list(weights.shape[1:-1])
    taps, rank, kind = prod(kernel), len(kernel), site.type
    behind = behind_of(site)
    bias = np.zeros(channels, weights.dtype) if behind.bias is None else behind.bias
    packed = np.concatenate([bias.reshape(1, channels).astype(weights.dtype), weights.reshape(channels, taps).T])
    row, rows = shape[-1], prod(shape[:-1])
    last = rank - 1
    inside = _inside(site, sizes, kernel)
    body = [
        f"for (size_t n = 0; n < {batch}u; ++n) {{",
        f"    const {kind} *const image = x + n * {prod(sizes) * channels};",
        f"    for (size_t line = 0; line < {rows}u; ++line) {{",
        f"        {kind} *const begin = y + (n * {rows} + line) * {row * channels};",
        *(f"        const size_t p{axis} = line / {step} % {size}, s{axis} = {_start(site, axis)};"
          for axis, (step, size) in enumerate(zip(strides_of(shape[:-1]), shape[:-1], strict=True))),
        f"        for (size_t p{last} = 0; p{last} < {row}u; ++p{last}) {{",
        f"            const size_t s{last} = {_start(site, last)};",
        f"            {kind} *const to = begin + p{last} * {channels};",
        *(f"            {line}" for line in _one_place(site, kernel, sizes, channels, inside)),
        "        }",
        *(f"        {line}" for line in behind.call("begin", str(row), f"(n * {rows} + line) * {row}")),
        "    }",
        "}",
    ]  # fmt: skip
    parameters = ", ".join([f"const {kind} *x", f"const {kind} *w", *behind.parameters, f"{kind} *y"])
    functions = (INDEPENDENT, *behind.needs)
    made = function("depthwise", parameters, indented(body), needs=functions)
    arguments: tuple[Given, ...] = (Operand(place=0), Table(array=packed), *behind.operands, Result())
    return Kernel(functions=(made, *functions), arguments=arguments)


def _start(site: Site, axis: int) -> str:
    return f"p{axis} * {site.attrs['strides'][axis]} - {site.attrs['before'][axis]}"


def _inside(site: Site, sizes: Sequence[int], kernel: Sequence[int]) -> str:
    """Whether the whole window lies inside; one that starts before the first element starts far behind the last."""
    met = []
    for axis, (size, count) in enumerate(zip(sizes, kernel, strict=True)):
        reach = (count - 1) * site.attrs["dilations"][axis]
        met.append(f"s{axis} < {max(0, size - reach)}u" if size > reach else "0")
    return " && ".join(met)


def _one_place(site: Site, kernel: Sequence[int], sizes: Sequence[int], channels: int, inside: str) -> list[str]:
    rank, taps, kind = len(kernel), prod(kernel), site.type
    steps, tap_steps = strides_of(sizes), strides_of(kernel)
    apart = site.attrs["dilations"]
    start = " + ".join(f"s{axis} * {steps[axis]}" for axis in range(rank))
    if taps <= _UNROLLED and "0" not in inside.split(" && "):
        terms = []
        for tap in range(taps):
            offset = sum(tap // tap_steps[axis] % kernel[axis] * apart[axis] * steps[axis] for axis in range(rank))
            terms.append(f"from[{offset * channels} + c] * w[{(1 + tap) * channels} + c]")
        whole = [
            f"if ({inside}) {{",
            f"    const {kind} *const from = image + ({start}) * {channels};",
            "    INDEPENDENT",
            f"    for (size_t c = 0; c < {channels}u; ++c) {{",
            f"        {kind} sum = w[c];",
            *(f"        sum += {term};" for term in terms),
            "        to[c] = sum;",
            "    }",
            "    continue;",
            "}",
        ]
    else:
        whole = []
    lines = [f"for (size_t c = 0; c < {channels}u; ++c) {{", "    to[c] = w[c];", "}"]
    heads = []
    for axis in range(rank):
        heads += [
            f"for (size_t k{axis} = 0; k{axis} < {kernel[axis]}u; ++k{axis}) {{",
            f"const size_t q{axis} = s{axis} + k{axis} * {apart[axis]};",
            f"if (q{axis} >= {sizes[axis]}u) {{",
            "    continue;",
            "}",
        ]
    at = " + ".join(f"k{axis} * {step}" for axis, step in enumerate(tap_steps))
    source = " + ".join(f"q{axis} * {steps[axis]}" for axis in range(rank))
    inner = [
        f"const {kind} *const from = image + ({source}) * {channels};",
        f"const {kind} *const row = w + (1 + {at}) * {channels};",
        "INDEPENDENT",
        f"for (size_t c = 0; c < {channels}u; ++c) {{",
        "    to[c] += from[c] * row[c];",
        "}",
    ]
    return [*whole, *lines, *heads, *inner, *("}" for _ in range(rank))]


MAKERS: Mapping[str, Maker] = MappingProxyType({"conv_last": _conv, "conv_transpose_last": _conv_transpose})
