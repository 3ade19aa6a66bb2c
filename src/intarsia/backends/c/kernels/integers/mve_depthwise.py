"""Depthwise convolutions for Cortex-M55: eight channels at a time, in products of 16 bits, by intrinsics.

The products of two or more taps add up within 16 bits where the weights are small enough, which is known when the
kernel is written: `_runs` puts taps together as long as no channel can run over. Then each run is widened once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intarsia.backends.c.kernels.integers import mve
from intarsia.backends.c.kernels.integers.dsp import assembly
from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Site, function, indented
from intarsia.codegen.module import Function, Kernel, Operand, Result, Table

_LANES = 8
_SIXTEEN = 16
_MOST_TAPS = 9
"""So many addresses stay in registers."""
_MOST = 32767 // 128
"""The greatest sum of weights that a run of taps may have: numbers are as low as -128."""


def fits(window: Window, layer: Layer) -> bool:
    """Whether these instructions do for a layer."""
    return mve.fits(layer) and window.taps <= 49


def _runs(rows: np.ndarray) -> list[list[int]]:
    """Taps whose products add up within 16 bits in all channels, the largest first; rows are (channels, taps)."""
    size = np.abs(rows.astype(np.int64))
    runs: list[list[int]] = []
    for tap in sorted(range(rows.shape[1]), key=lambda each: -int(size[:, each].max())):
        for run in runs:
            if (size[:, [*run, tap]].sum(1) <= _MOST).all():
                run.append(tap)
                break
        else:
            runs.append([tap])
    return runs


def depthwise(site: Site, window: Window, layer: Layer) -> Kernel:
    """Pixel by pixel; where the window reaches beyond the operand, taps point at numbers that are the zero point."""
    v = window
    wide = v.c + -v.c % _LANES
    rows = np.zeros((wide, v.taps), np.int8)
    rows[: v.c] = layer.rows
    runs = _runs(rows)
    order = [tap for run in runs for tap in run]
    weights = rows[:, order].reshape(-1, _LANES, v.taps).transpose(0, 2, 1)
    scaling = np.zeros((wide, 2), np.int32)
    scaling[: v.c] = layer.scaling(layer.fitted)
    # Even channels, then odd ones: as widening leaves them.
    halves = scaling.reshape(-1, 4, 2, 2).transpose(0, 3, 2, 1)
    outside = np.full(((v.kw - 1) * v.dw + 1) * v.c + _SIXTEEN, layer.x_zero, np.int8)
    low = max(0, -(-v.pw // v.sw))
    high = min(v.ow, (v.w + v.pw - (v.kw - 1) * v.dw - 1) // v.sw + 1)
    inner = [f"r{tap // v.kw} + {tap % v.kw * v.dw * v.c}" for tap in range(v.taps)]
    row_start = [
        line
        for q in range(v.kh)
        for line in (
            f"const int32_t i{q} = i * {v.sh} - {v.ph} + {q * v.dh};",
            f"const int32_t in{q} = i{q} >= 0 && i{q} < {v.h};",
            f"const int8_t *const e{q} = x + i{q} * {v.w * v.c};",
        )
    ]
    table = [
        line
        for tap in range(v.taps)
        for line in (
            f"const int32_t c{tap} = j * {v.sw} - {v.pw} + {tap % v.kw * v.dw};",
            f"const int8_t *const t{tap} = in{tap // v.kw} && c{tap} >= 0 && c{tap} < {v.w} ? "
            f"e{tap // v.kw} + c{tap} * {v.c} : outside;",
        )
    ]
    fast = [
        line
        for q in range(v.kh)
        for line in (f"const int8_t *const r{q} = in{q} ? e{q} + (j * {v.sw} - {v.pw}) * {v.c} : outside;",)
    ]
    body = v.walked(
        [
            f"if (j >= {low} && j < {high}) {{",
            *(f"    {line}" for line in (*fast, *_channels(v, layer, runs, inner))),
            "} else {",
            *(f"    {line}" for line in (*table, *_channels(v, layer, runs, [f"t{t}" for t in range(v.taps)]))),
            "}",
        ],
        row_start,
        "b0",
    )
    needs: tuple[Function, ...] = ()
    if v.c % _SIXTEEN == 0 and v.taps <= _MOST_TAPS:
        taps = _assembled(v, layer, runs)
        needs = (taps,)
        weights = rows[:, order].reshape(-1, _SIXTEEN, v.taps).transpose(0, 2, 1)
        # Even channels as widening leaves them, 0, 4, ... and 2, 6, ..., and their multipliers; then the odd ones.
        halves = scaling.reshape(-1, 4, 2, 2, 2).transpose(0, 3, 4, 2, 1)
        body = _by_table(v, layer, row_start, table, inner, fast, (low, high), taps.name)
    parameters = "const int8_t *x, const int8_t *w, const int32_t *s, const int8_t *outside, int8_t *y"
    made = function("q_depthwise_mve", parameters, indented(body), needs=needs, headers=mve.HEADERS)
    tables = (np.ascontiguousarray(weights), np.ascontiguousarray(halves), outside)
    return Kernel(
        functions=(made, *needs),
        arguments=(Operand(place=0), *(Table(array=each) for each in tables), Result()),
        in_place={0: v.ahead},
    )


def _by_table(
    v: Window, layer: Layer, row_start: list[str], table: list[str], inner: list[str], fast: list[str],
    within: tuple[int, int], name: str,
) -> list[str]:  # fmt: skip
    """Pixel by pixel, with the addresses of the taps in a list."""
    addresses = ", ".join(f"t{tap}" for tap in range(v.taps))
    ends = f"w, s, y, (const void *)({mve.half_step(layer)})"
    return v.walked(
        [
            f"if (j >= {within[0]} && j < {within[1]}) {{",
            *(f"    {line}" for line in fast),
            f"    const void *const job[{v.taps + 4}] = {{{', '.join(inner)}, {ends}}};",
            f"    {name}(job);",
            "} else {",
            *(f"    {line}" for line in table),
            f"    const void *const job[{v.taps + 4}] = {{{addresses}, {ends}}};",
            f"    {name}(job);",
            "}",
        ],
        row_start,
        "b0",
    )


def _assembled(v: Window, layer: Layer, runs: list[list[int]]) -> Function:
    """All channels of a pixel, sixteen at a time: the even ones, then the odd ones.

    The job is: the taps, weights, scaling, y, and what is added to upper halves.
    """
    taps = ("r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10")
    lines = [
        f"ldr r7, [r0, #{4 * (v.taps + 3)}]",
        "vdup.32 q7, r7",
        *(f"ldr {taps[tap]}, [r0, #{4 * tap}]" for tap in range(v.taps)),
        f"ldr r11, [r0, #{4 * v.taps}]",
        f"ldr r12, [r0, #{4 * v.taps + 4}]",
        f"ldr r0, [r0, #{4 * v.taps + 8}]",
        f"movw lr, #{v.c // _SIXTEEN}",
        "1:",
        *_half(v, layer, runs, taps, "b", "q2"),
        *_half(v, layer, runs, taps, "t", "q3"),
        f"add r11, r11, #{_SIXTEEN * v.taps}",
        "vqmovnb.s16 q0, q2",
        "vqmovnt.s16 q0, q3",
    ]
    for bound, least, operation in ((layer.low, -128, "vmax"), (layer.high, 127, "vmin")):
        if bound != least:
            lines += [
                f"{'mvn' if bound < 0 else 'mov'} r7, #{-1 - bound if bound < 0 else bound}",
                "vdup.8 q1, r7",
                f"{operation}.s8 q0, q0, q1",
            ]
    lines += ["vstrb.8 q0, [r0], #16", "le lr, 1b"]
    return function("q_taps_mve", "const void *const *job", indented(assembly(lines, "job", has_vectors=True)))


def _half(v: Window, layer: Layer, runs: list[list[int]], taps: Sequence[str], half: str, to: str) -> list[str]:
    """Eight channels as 16 bits in ``to``. The odd half comes second, and goes on to the next sixteen."""
    lines = ["vldrw.32 q0, [r12], #16", "vldrw.32 q1, [r12], #16"]
    place = 0
    for run in runs:
        for first, tap in enumerate(run):
            lines += [
                f"vldrb.8 q5, [{taps[tap]}]" + (", #16" if half == "t" else ""),
                f"vldrw.32 q6, [r11, #{_SIXTEEN * place}]",
                f"vmull{half}.s8 {'q3' if half == 'b' else 'q4'}, q5, q6"
                if first == 0
                else f"vmull{half}.s8 q5, q5, q6",
                *(
                    []
                    if first == 0
                    else [f"vadd.i16 {'q3' if half == 'b' else 'q4'}, {'q3' if half == 'b' else 'q4'}, q5"]
                ),
            ]
            place += 1
        sums = "q3" if half == "b" else "q4"
        lines += [f"vmovlb.s16 q5, {sums}", f"vmovlt.s16 q6, {sums}", "vadd.i32 q0, q0, q5", "vadd.i32 q1, q1, q6"]
    shift = layer.shift - 32
    return [
        *lines,
        "vldrw.32 q5, [r12], #16",
        "vldrw.32 q6, [r12], #16",
        "vmulh.s32 q0, q0, q5",
        "vmulh.s32 q1, q1, q6",
        "vadd.i32 q0, q0, q7",
        "vadd.i32 q1, q1, q7",
        f"vshr.s32 q0, q0, #{shift}",
        f"vshr.s32 q1, q1, #{shift}",
        f"vqmovnb.s32 {to}, q0",
        f"vqmovnt.s32 {to}, q1",
    ]


def _channels(v: Window, layer: Layer, runs: list[list[int]], taps: list[str]) -> list[str]:
    """All channels of a pixel, where each tap is at its address."""
    is_ragged = v.c % _LANES != 0
    lines = [
        "const int8_t *by = w;",
        "const int32_t *at = s;",
        f"for (int32_t c = 0; c < {v.c}; c += {_LANES}) {{",
        "    int32x4_t even = vldrwq_s32(at), odd = vldrwq_s32(at + 4);",
    ]
    if is_ragged:
        lines.append(f"    const mve_pred16_t mask = vctp16q((uint32_t)({v.c} - c));")
    place = 0
    for number, run in enumerate(runs):
        for first, tap in enumerate(run):
            load = f"vldrbq_z_s16({taps[tap]} + c, mask)" if is_ragged else f"vldrbq_s16({taps[tap]} + c)"
            product = f"vmulq_s16({load}, vldrbq_s16(by + {_LANES * place}))"
            lines.append(
                f"    int16x8_t p{number} = {product};"
                if first == 0
                else f"    p{number} = vaddq_s16(p{number}, {product});"
            )
            place += 1
        lines += [
            f"    even = vaddq_s32(even, vmovlbq_s16(p{number}));",
            f"    odd = vaddq_s32(odd, vmovltq_s16(p{number}));",
        ]
    shift, half = layer.shift - 32, mve.half_step(layer)
    store = "vstrbq_p_s16(y + c, steps, mask);" if is_ragged else "vstrbq_s16(y + c, steps);"
    return [
        *lines,
        f"    by += {_LANES * v.taps};",
        f"    even = vshrq_n_s32(vaddq_n_s32(vmulhq_s32(even, vldrwq_s32(at + 8)), {half}), {shift});",
        f"    odd = vshrq_n_s32(vaddq_n_s32(vmulhq_s32(odd, vldrwq_s32(at + 12)), {half}), {shift});",
        "    at += 16;",
        "    int16x8_t steps = vqmovnbq_s32(vdupq_n_s16(0), even);",
        "    steps = vqmovntq_s32(steps, odd);",
        f"    steps = vminq_s16(vmaxq_s16(steps, vdupq_n_s16({layer.low})), vdupq_n_s16({layer.high}));",
        f"    {store}",
        "}",
    ]
