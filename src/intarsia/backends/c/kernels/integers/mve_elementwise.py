"""Sums, averages and quantisation for Cortex-M55: four numbers in a vector, by intrinsics."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Site, function, indented
from intarsia.backends.lowering.integer.reference import centred
from intarsia.backends.lowering.integer.sums import LIFT, Sum
from intarsia.codegen.module import Kernel, Operand, Result

HEADERS = ("<arm_mve.h>",)
_FARTHEST = 1024.0
"""Steps: what is beyond is held before it is divided, so that nothing is infinite."""


def held(vector: str, low: int, high: int) -> str:
    """A statement that holds a vector of four between bounds."""
    return f"{vector} = vminq_s32(vmaxq_s32({vector}, vdupq_n_s32({low})), vdupq_n_s32({high}));"


def sum_of(site: Site, found: Sum) -> Kernel:
    """Sum or difference of two values of one shape."""
    low, high = site.attrs["low"], site.attrs["high"]

    def step(loads: str, store: str) -> list[str]:
        return [
            f"int32x4_t t = vmulhq_s32(vshlq_n_s32({loads.format('a')}, {LIFT}), vdupq_n_s32({found.first}));",
            f"const int32x4_t u = vmulhq_s32(vshlq_n_s32({loads.format('b')}, {LIFT}), vdupq_n_s32({found.second}));",
            f"t = vshrq_n_s32(vaddq_n_s32(vaddq_s32(t, u), {found.offset}), {found.shift});",
            held("t", low, high),
            store,
        ]

    whole, rest = divmod(site.size, 4)
    body = [
        f"for (int32_t i = 0; i < {whole}; ++i) {{",
        *(f"    {line}" for line in step("vldrbq_s32({})", "vstrbq_s32(y, t);")),
        "    a += 4, b += 4, y += 4;",
        "}",
    ]
    if rest:
        lines = step("vldrbq_z_s32({}, mask)", "vstrbq_p_s32(y, t, mask);")
        body += ["{", f"    const mve_pred16_t mask = vctp32q({rest});", *(f"    {line}" for line in lines), "}"]
    made = function("q_sum_mve", "const int8_t *a, const int8_t *b, int8_t *y", indented(body), headers=HEADERS)
    return Kernel(functions=(made,), arguments=(Operand(place=0), Operand(place=1), Result()), in_place={0: 0, 1: 0})


def average(site: Site, v: Window, ending: Sequence[str]) -> Kernel:
    """Windows that lie inside; ``ending`` makes steps of four sums ``t``."""
    attrs = site.attrs
    body = v.walked(
        [
            f"const int8_t *const from = x + (i * {v.sh * v.w} + j * {v.sw}) * {v.c};",
            f"for (int32_t c = 0; c < {v.c}; c += 4) {{",
            *([f"    const mve_pred16_t mask = vctp32q((uint32_t)({v.c} - c));"] if v.c % 4 else []),
            f"    int32x4_t t = vdupq_n_s32({-v.taps * centred(attrs)['x_zero']});",
            f"    for (int32_t p = 0; p < {v.kh}; ++p) {{",
            f"        const int8_t *at = from + p * {v.dh * v.w * v.c} + c;",
            f"        for (int32_t q = 0; q < {v.kw}; ++q) {{",
            f"            t = vaddq_s32(t, {'vldrbq_z_s32(at, mask)' if v.c % 4 else 'vldrbq_s32(at)'});",
            f"            at += {v.dw * v.c};",
            "        }",
            "    }",
            *(f"    {line}" for line in ending),
            f"    {held('t', attrs['low'], attrs['high'])}",
            f"    {'vstrbq_p_s32(y + c, t, mask);' if v.c % 4 else 'vstrbq_s32(y + c, t);'}",
            "}",
        ]
    )
    made = function("q_average_mve", "const int8_t *x, int8_t *y", indented(body), headers=HEADERS)
    return Kernel(functions=(made,), arguments=(Operand(place=0), Result()), in_place={0: v.ahead})


def quantize(site: Site, sizes: Sequence[int], steps: Sequence[int]) -> Kernel:
    """Four neighbours of the operand at a time; their results lie ``steps[-1]`` apart.

    A product with the reciprocal of the scale, and one step of Newton's method on what is left, give the quotient as
    division rounds it.
    """
    scale = np.float32(site.attrs["scale"])
    inverse = np.float32(1.0) / scale
    zero, apart = site.attrs["zero"], steps[-1]
    most = float(np.float32(_FARTHEST) * scale)
    names = [f"i{axis}" for axis in range(len(sizes) - 1)]
    to = " + ".join(f"{name} * {step}" for name, step in zip(names, steps[:-1], strict=True)) or "0"

    def step(load: str, predicate: str) -> list[str]:
        place = "at, apart, t" if apart != 1 else "at, t"
        kind = "scatter_offset_" if apart != 1 else ""
        ends = f"vstrbq_{kind}p_s32({place}, {predicate});" if predicate else f"vstrbq_{kind}s32({place});"
        return [
            f"float32x4_t v = {load};",
            f"v = vmaxnmq_f32(vminnmq_f32(v, vdupq_n_f32({_hex(most)})), vdupq_n_f32({_hex(-most)}));",
            f"float32x4_t q = vmulq_n_f32(v, {_hex(float(inverse))});",
            f"q = vfmaq_n_f32(q, vfmsq_f32(v, q, vdupq_n_f32({_hex(float(scale))})), {_hex(float(inverse))});",
            f"int32x4_t t = vaddq_n_s32(vcvtnq_s32_f32(q), {zero});",
            held("t", -128, 127),
            ends,
        ]

    whole, rest = divmod(sizes[-1], 4)
    inner = [
        f"int8_t *at = y + ({to});",
        f"for (int32_t n = 0; n < {whole}; ++n) {{",
        *(f"    {line}" for line in step("vldrwq_f32(x)", "")),
        f"    x += 4, at += {4 * apart};",
        "}",
    ]
    if rest:
        lines = step("vldrwq_z_f32(x, mask)", "mask")
        inner += [
            "{", f"    const mve_pred16_t mask = vctp32q({rest});", *(f"    {line}" for line in lines),
            f"    x += {rest};", "}",
        ]  # fmt: skip
    for name, size in reversed(list(zip(names, sizes[:-1], strict=True))):
        inner = [f"for (int32_t {name} = 0; {name} < {size}; ++{name}) {{", *(f"    {line}" for line in inner), "}"]
    if apart != 1:
        inner = [f"const uint32x4_t apart = vmulq_n_u32(vidupq_n_u32(0, 1), {apart});", *inner]
    made = function("q_quantize_mve", "const float *x, int8_t *y", indented(inner), headers=HEADERS)
    assert prod(sizes) == site.size
    return Kernel(functions=(made,), arguments=(Operand(place=0), Result()))


def _hex(number: float) -> str:
    return f"{number.hex()}f"
