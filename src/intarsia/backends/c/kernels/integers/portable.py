"""Convolutions and products in portable C, written so that a compiler with vectors of integers uses them."""

from __future__ import annotations

import numpy as np

from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.rounding import EVEN, GATHER, NEAREST
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Site, function, indented
from intarsia.codegen.module import Function, Kernel, Operand, Result, Scratch, Table

_ROWS = Function(
    name="q_rows",
    text="""/* One row of k numbers times o rows of weights; s holds bias and multiplier of each. */
static void q_rows(const int8_t *x, const int8_t *w, const int32_t *s, int8_t *y, int32_t k, int32_t o,
                   int32_t shift, int32_t zero, int32_t low, int32_t high)
{
    for (int32_t j = 0; j < o; ++j) {
        int32_t total = s[2 * j];
        for (int32_t i = 0; i < k; ++i) {
            total += x[i] * w[i];
        }
        w += k;
        y[j] = q_nearest(total, s[2 * j + 1], shift, zero, low, high);
    }
}""",
    needs=(NEAREST.name,),
)
_PARAMETERS = "const int8_t *x, const int8_t *w, const int32_t *s, int8_t *y"


def ending(layer: Layer) -> str:
    """The last arguments of what requantises."""
    return f"{layer.shift}, {layer.y_zero}, {layer.low}, {layer.high}"


def convolution(site: Site, window: Window, layer: Layer) -> Kernel:
    """Window by window: gathered, then all output channels."""
    v = window
    k = v.taps * v.c
    gather = (
        f"q_gather(row, x, i * {v.sh} - {v.ph}, j * {v.sw} - {v.pw}, {v.h}, {v.w}, {v.c}, {v.kh}, {v.kw}, {v.dh}, "
        f"{v.dw}, {layer.x_zero});"
    )
    body = [
        "int8_t *const row = scratch;",
        *v.walked(
            [
                f"{gather}",
                f"q_rows(row, w, s, y, {k}, {v.o}, {ending(layer)});",
            ]
        ),
    ]
    functions = (EVEN, NEAREST, GATHER, _ROWS)
    made = function("q_conv", f"{_PARAMETERS}, void *scratch", indented(body), needs=functions)
    return _kernel(made, functions, layer.rows, layer, k, {0: v.ahead})


def depthwise(site: Site, window: Window, layer: Layer) -> Kernel:
    """Channel beside channel, one tap after the other, the sums of a pixel in memory of their own."""
    v = window
    body = [
        "int32_t *const total = scratch;",
        *v.walked(
            [
                f"for (int32_t c = 0; c < {v.c}; ++c) {{",
                "    total[c] = s[2 * c];",
                "}",
                f"for (int32_t p = 0; p < {v.kh}; ++p) {{",
                f"    for (int32_t q = 0; q < {v.kw}; ++q) {{",
                f"        const int32_t row = i * {v.sh} - {v.ph} + p * {v.dh};",
                f"        const int32_t column = j * {v.sw} - {v.pw} + q * {v.dw};",
                f"        const int32_t inside = row >= 0 && row < {v.h} && column >= 0 && column < {v.w};",
                f"        const int8_t *const at = inside ? x + (row * {v.w} + column) * {v.c} : x;",
                f"        const int8_t *const by = w + (p * {v.kw} + q) * {v.c};",
                f"        for (int32_t c = 0; c < {v.c}; ++c) {{",
                f"            total[c] += (inside ? at[c] : {layer.x_zero}) * by[c];",
                "        }",
                "    }",
                "}",
                f"for (int32_t c = 0; c < {v.c}; ++c) {{",
                f"    y[c] = q_nearest(total[c], s[2 * c + 1], {ending(layer)});",
                "}",
            ]
        ),
    ]
    made = function("q_depthwise", f"{_PARAMETERS}, void *scratch", indented(body), needs=(EVEN, NEAREST))
    weights = np.ascontiguousarray(layer.rows.T)
    # A pixel is written behind the last look at it, but the next one's window may reach back to it.
    return _kernel(made, (EVEN, NEAREST), weights, layer, 4 * v.c, {0: v.ahead})


def grouped(site: Site, window: Window, layer: Layer) -> Kernel:
    """Groups of channels, each output channel by itself: seldom met, and not fast."""
    v = window
    groups = site.attrs["groups"]
    inner, outer = v.c // groups, v.o // groups
    body = [
        "int8_t *const row = scratch;",
        *v.walked(
            [
                f"q_gather(row, x, i * {v.sh} - {v.ph}, j * {v.sw} - {v.pw}, {v.h}, {v.w}, {v.c}, {v.kh}, {v.kw}, "
                f"{v.dh}, {v.dw}, {layer.x_zero});",
                f"for (int32_t o = 0; o < {v.o}; ++o) {{",
                f"    const int8_t *const at = row + (o / {outer}) * {inner};",
                f"    const int8_t *const by = w + o * {v.taps * inner};",
                "    int32_t total = s[2 * o];",
                f"    for (int32_t p = 0; p < {v.taps}; ++p) {{",
                f"        for (int32_t c = 0; c < {inner}; ++c) {{",
                f"            total += at[p * {v.c} + c] * by[p * {inner} + c];",
                "        }",
                "    }",
                f"    y[o] = q_nearest(total, s[2 * o + 1], {ending(layer)});",
                "}",
            ]
        ),
    ]
    functions = (EVEN, NEAREST, GATHER)
    made = function("q_grouped", f"{_PARAMETERS}, void *scratch", indented(body), needs=functions)
    return _kernel(made, functions, layer.rows, layer, v.taps * v.c, {0: v.ahead})


def dense(site: Site, rows: int, layer: Layer) -> Kernel:
    """Rows of numbers times rows of weights."""
    o, k = layer.rows.shape
    call = f"q_rows(x + (size_t)i * {k}, w, s, y + (size_t)i * {o}, {k}, {o}, {ending(layer)});"
    body = [f"for (int32_t i = 0; i < {rows}; ++i) {{", f"    {call}", "}"]
    functions = (EVEN, NEAREST, _ROWS)
    made = function("q_dense", _PARAMETERS, indented(body), needs=functions)
    return _kernel(made, functions, layer.rows, layer, 0, {})


def _kernel(
    made: Function, functions: tuple[Function, ...], weights: np.ndarray, layer: Layer, scratch: int,
    in_place: dict[int, int],
) -> Kernel:  # fmt: skip
    own = (Scratch(scratch),) if scratch else ()
    return Kernel(
        functions=(made, *functions),
        arguments=(
            Operand(place=0),
            Table(array=weights),
            Table(array=layer.scaling(layer.multipliers)),
            Result(),
            *own,
        ),
        in_place=in_place,
    )
