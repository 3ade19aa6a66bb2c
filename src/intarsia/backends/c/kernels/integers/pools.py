"""Pools, means, softmax and products of two values, in int8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels.integers import mve_elementwise
from intarsia.backends.c.kernels.integers.rounding import EVEN, MEAN, NEAREST, STEP
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.kernels.loop import index, nested
from intarsia.backends.c.kernels.windows import batch_steps
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.backends.lowering.integer.reference import (
    SHARE_BITS,
    centred,
    exponentials,
    mean_scaling,
    shares_scale,
)
from intarsia.backends.lowering.program import Attributes
from intarsia.codegen.module import Function, Kernel, Operand, Result, Scratch, Table

_MOST_SHIFT = 54
_PARAMETERS = "const int8_t *x, int8_t *y"


def _walk(v: Window, inner: Sequence[str], before: Sequence[str], behind: Sequence[str]) -> list[str]:
    """Over all windows, and within each over the taps that lie inside; ``at`` is the pixel that a tap meets."""
    return v.walked(
        [
            *before,
            f"for (int32_t p = 0; p < {v.kh}; ++p) {{",
            f"    const int32_t row = i * {v.sh} - {v.ph} + p * {v.dh};",
            f"    if (row < 0 || row >= {v.h}) {{",
            "        continue;",
            "    }",
            f"    for (int32_t q = 0; q < {v.kw}; ++q) {{",
            f"        const int32_t column = j * {v.sw} - {v.pw} + q * {v.dw};",
            f"        if (column < 0 || column >= {v.w}) {{",
            "            continue;",
            "        }",
            f"        const int8_t *const at = x + (row * {v.w} + column) * {v.c};",
            *(f"        {line}" for line in inner),
            "    }",
            "}",
            *behind,
        ]
    )


def _max(site: Site) -> Sequence[Kernel]:
    v = Window.of(site, site.attrs["kernel"])
    low, high = site.attrs["low"], site.attrs["high"]
    each = f"for (int32_t c = 0; c < {v.c}; ++c) {{"
    body = _walk(
        v,
        [each, "    most[c] = at[c] > most[c] ? at[c] : most[c];", "}"],
        [each, f"    most[c] = {low};", "}"],
        [each, f"    y[c] = {f'most[c] > {high} ? {high} : ' if high < 127 else ''}most[c];", "}"],
    )
    text = indented(["int8_t *const most = scratch;", *body])
    made = function("q_pool_max", f"{_PARAMETERS}, void *scratch", text)
    return [_pool(made, v, v.c)]


def _average(site: Site) -> Sequence[Kernel]:
    v = Window.of(site, site.attrs["kernel"])
    attrs = centred(site.attrs)
    divisor = attrs["divisor"]
    each = f"for (int32_t c = 0; c < {v.c}; ++c) {{"
    total = f"total[c] - taps * ({attrs['x_zero']})"
    if divisor or shares_scale(attrs):
        lines = [each, f"    y[c] = {_steps(attrs, total, divisor or 'taps')};", "}"]
    else:
        pairs = [mean_scaling(attrs, count) for count in range(1, v.taps + 1)]
        rows = ", ".join(f"{{{multiplier}, {shift}}}" for multiplier, shift in pairs)
        lines = [
            f"static const int32_t scaling[{v.taps}][2] = {{{rows}}};",
            "const int32_t *const by = scaling[taps - 1];",
            each,
            f"    y[c] = q_step({total}, by[0], by[1], {attrs['y_zero']}, {attrs['low']}, {attrs['high']});",
            "}",
        ]
    body = _walk(
        v,
        ["++taps;", each, "    total[c] += at[c];", "}"],
        ["int32_t taps = 0;", each, "    total[c] = 0;", "}"],
        lines,
    )
    text = indented(["int32_t *const total = scratch;", *body])
    made = function("q_pool_avg", f"{_PARAMETERS}, void *scratch", text, needs=(STEP, MEAN))
    plain = _pool(made, v, 4 * v.c)
    if v.needs_padding or divisor != v.taps:
        return [plain]
    ending = _ending(attrs, divisor) if site.processor.has_mve else None
    if ending is not None:
        return [mve_elementwise.average(site, v, ending), plain]
    return [_inside(site, v), plain]


def _steps(attrs: Attributes, total: str, count: int | str) -> str:
    """The expression of a sum over so many numbers in steps of the result."""
    ends = f"{attrs['y_zero']}, {attrs['low']}, {attrs['high']}"
    if shares_scale(attrs):
        return f"q_mean({total}, {count}, {ends})"
    assert isinstance(count, int)
    multiplier, shift = mean_scaling(attrs, count)
    return f"q_step({total}, {multiplier}, {shift}, {ends})"


def _ending(attrs: Attributes, count: int) -> list[str] | None:
    """Statements that make steps of four sums ``t``; ``None`` where vectors do not do it."""
    if shares_scale(attrs):
        bits = count.bit_length() - 1
        if count != 1 << bits or bits == 0:
            return None
        return [
            f"t = vaddq_s32(t, vandq_s32(vshrq_n_s32(t, {bits}), vdupq_n_s32(1)));",
            f"t = vaddq_n_s32(vshrq_n_s32(vaddq_n_s32(t, {(1 << (bits - 1)) - 1}), {bits}), {attrs['y_zero']});",
        ]
    multiplier, shift = mean_scaling(attrs, count)
    if not 32 < shift <= _MOST_SHIFT:
        return None
    half = (attrs["y_zero"] << (shift - 32)) + (1 << (shift - 33))
    return [
        f"t = vaddq_n_s32(vmulhq_s32(t, vdupq_n_s32({multiplier})), {half});",
        f"t = vshrq_n_s32(t, {shift - 32});",
    ]


def _inside(site: Site, v: Window) -> Kernel:
    """Windows that lie inside, channel by channel, so that sums stay in registers."""
    attrs = centred(site.attrs)
    body = v.walked(
        [
            f"const int8_t *const from = x + (i * {v.sh * v.w} + j * {v.sw}) * {v.c};",
            f"for (int32_t c = 0; c < {v.c}; ++c) {{",
            f"    int32_t total = {-v.taps * attrs['x_zero']};",
            f"    for (int32_t p = 0; p < {v.kh}; ++p) {{",
            f"        const int8_t *at = from + p * {v.dh * v.w * v.c} + c;",
            f"        for (int32_t q = 0; q < {v.kw}; ++q) {{",
            "            total += *at;",
            f"            at += {v.dw * v.c};",
            "        }",
            "    }",
            f"    y[c] = {_steps(attrs, 'total', v.taps)};",
            "}",
        ]
    )
    made = function("q_average", _PARAMETERS, indented(body), needs=(STEP, MEAN))
    return Kernel(functions=(made, STEP, MEAN), arguments=(Operand(place=0), Result()), in_place={0: v.ahead})


def _pool(made: Function, v: Window, scratch: int) -> Kernel:
    functions = (made, STEP, MEAN) if STEP.name in made.needs else (made,)
    return Kernel(functions=functions, arguments=(Operand(place=0), Result(), Scratch(scratch)), in_place={0: v.ahead})


def _mean(site: Site) -> Sequence[Kernel]:
    shape, axes = site.reads[0].shape, site.attrs["axes"]
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    own = strides_of(shape)
    outer, inner = [f"o{axis}" for axis in range(len(kept))], [f"i{axis}" for axis in range(len(axes))]
    count = prod(shape[axis] for axis in axes)
    place = " + ".join(
        [f"{name} * {own[axis]}" for name, axis in zip(outer, kept, strict=True)]
        + [f"{name} * {own[axis]}" for name, axis in zip(inner, axes, strict=True)]
    )
    summed = nested(inner, [shape[axis] for axis in axes], [f"total += x[{place}];"], independent=False)
    lines = [
        f"int32_t total = {-count * site.attrs['x_zero']};",
        *summed,
        f"*y++ = {_steps(site.attrs, 'total', count)};",
    ]
    text = nested(outer, [shape[axis] for axis in kept], lines, independent=False)
    made = function("q_means", _PARAMETERS, indented(text), needs=(STEP, MEAN))
    return [Kernel(functions=(made, STEP, MEAN), arguments=(Operand(place=0), Result()))]


def _softmax(site: Site) -> Sequence[Kernel]:
    shape, axis = site.each.shape, site.attrs["axis"]
    size, step = shape[axis], strides_of(shape)[axis]
    table = exponentials(site.attrs["x_scale"], size).astype(np.uint32)
    steps, zero = site.attrs["steps"], site.attrs["y_zero"]
    body = [
        f"for (size_t a = 0; a < {prod(shape[:axis])}u; ++a) {{",
        f"    for (size_t b = 0; b < {step}u; ++b) {{",
        f"        const int8_t *const from = x + a * {size * step} + b;",
        f"        int8_t *const to = y + a * {size * step} + b;",
        "        int32_t most = -128;",
        "        uint32_t total = 0;",
        f"        for (size_t i = 0; i < {size}u; ++i) {{",
        f"            most = from[i * {step}] > most ? from[i * {step}] : most;",
        "        }",
        f"        for (size_t i = 0; i < {size}u; ++i) {{",
        f"            total += table[most - from[i * {step}]];",
        "        }",
        f"        const uint64_t half = (uint64_t)total << {SHARE_BITS};",
        f"        for (size_t i = 0; i < {size}u; ++i) {{",
        f"            const uint64_t share = (uint64_t)table[most - from[i * {step}]] * {2 * steps}u;",
        "            const uint64_t whole = (share + half) / (2u * half);",
        f"            const int32_t found = (int32_t)(whole > 511 ? 511 : whole) + ({zero});",
        f"            to[i * {step}] = (int8_t)(found > 127 ? 127 : found < -128 ? -128 : found);",
        "        }",
        "    }",
        "}",
    ]
    made = function("q_softmax", "const int8_t *x, const uint32_t *table, int8_t *y", indented(body))
    return [Kernel(functions=(made,), arguments=(Operand(place=0), Table(array=table), Result()), in_place={0: 0})]


def _matmul(site: Site) -> Sequence[Kernel]:
    (*_, m, k), n = site.reads[0].shape, site.each.shape[-1]
    outer, attrs = site.each.shape[:-2], site.attrs
    names = [f"o{axis}" for axis in range(len(outer))]
    offsets = [index(names, batch_steps(read.shape, outer)) for read in site.reads[:2]]
    ends = f"{attrs['multiplier']}, {attrs['shift']}, {attrs['y_zero']}, {attrs['low']}, {attrs['high']}"
    body = [
        f"const int8_t *const a = x0 + {offsets[0]};",
        f"const int8_t *const b = x1 + {offsets[1]};",
        f"for (size_t i = 0; i < {m}u; ++i) {{",
        f"    for (size_t j = 0; j < {n}u; ++j) {{",
        "        int32_t total = 0;",
        f"        for (size_t p = 0; p < {k}u; ++p) {{",
        f"            total += (a[i * {k} + p] - ({attrs['a_zero']})) * (b[p * {n} + j] - ({attrs['b_zero']}));",
        "        }",
        f"        *y++ = q_nearest(total, {ends});",
        "    }",
        "}",
    ]
    text = nested(names, outer, body, independent=False)
    functions = (EVEN, NEAREST)
    made = function("q_matmul", "const int8_t *x0, const int8_t *x1, int8_t *y", indented(text), needs=functions)
    return [Kernel(functions=(made, *functions), arguments=(Operand(place=0), Operand(place=1), Result()))]


MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "q_matmul": _matmul,
        "q_mean": _mean,
        "q_pool_avg_last": _average,
        "q_pool_max_last": _max,
        "q_softmax": _softmax,
    }
)
