"""Depthwise convolutions for Cortex-M4 and M7: two rows of a channel in one multiplication.

Four channels at a time, a row of the result at a time. First the rows that its windows meet are widened, column by
column, so that one word holds two rows of one channel; each such column then serves all windows that reach it.
"""

from __future__ import annotations

import numpy as np

from intarsia.backends.c.kernels.integers import dsp
from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Site, function, indented
from intarsia.codegen.module import Function, Kernel, Operand, Result, Scratch, Table

_HIGH_HALF = 32
_ORDER = (0, 2, 1, 3)
"""In which order SXTB16 leaves the channels of a word."""
_LARGEST_STEP = 255
PACK = Function(
    name="q_pack_low",
    text="""static inline uint32_t q_pack_low(uint32_t a, uint32_t b)
{
    uint32_t both;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
    return both;
}

static inline uint32_t q_pack_high(uint32_t a, uint32_t b)
{
    uint32_t both;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(b), "r"(a));
    return both;
}""",
    headers=("<arm_acle.h>", "<string.h>"),
)


def fits(window: Window, layer: Layer) -> bool:
    """Whether these instructions do for a layer."""
    shift = layer.shift - _HIGH_HALF
    is_plain = window.c % 4 == 0 and window.dw == 1 and window.c < 4096 and window.taps <= 121
    return is_plain and 0 < shift <= 2 * dsp.MOST_SHIFT - 6 and layer.reach.max(initial=0) < 1 << 31


def depthwise(site: Site, window: Window, layer: Layer) -> Kernel:
    """Row by row of the result, and within it by four channels."""
    v = window
    pairs, lone = divmod(v.kh, 2)
    words = 4 * pairs + 2 * lone
    columns = (v.ow - 1) * v.sw + v.kw
    stream = _stream(v, layer)
    per_group = stream.size * 4 // v.c
    row = _loop(v, layer, words, per_group)
    zero = f"0x{(layer.x_zero & 255) * 0x01010101:08x}u"
    widened = []
    for pair in range(pairs):
        for half, shift in ((0, "{}"), (2, "{0} >> 8 | {0} << 24")):
            first, second = (f"q{2 * pair + place}" for place in (0, 1))
            widened += [
                f"a = (uint32_t)__sxtb16((int8x4_t)({shift.format(first)}));",
                f"b = (uint32_t)__sxtb16((int8x4_t)({shift.format(second)}));",
                f"to[{4 * pair + half}] = q_pack_low(a, b);",
                f"to[{4 * pair + half + 1}] = q_pack_high(a, b);",
            ]
    if lone:
        last = f"q{v.kh - 1}"
        widened += [
            f"to[{4 * pairs}] = (uint32_t)__sxtb16((int8x4_t){last});",
            f"to[{4 * pairs + 1}] = (uint32_t)__sxtb16((int8x4_t)({last} >> 8 | {last} << 24));",
        ]
    loads = [
        line
        for place in range(v.kh)
        for line in (f"memcpy(&q{place}, r{place}, 4);", f"r{place} += s{place};")
    ]  # fmt: skip
    names = ", ".join(f"q{place}" for place in range(v.kh))
    starts = [
        line
        for place in range(v.kh)
        for line in (
            f"const int32_t i{place} = i * {v.sh} - {v.ph} + {place * v.dh};",
            f"const int32_t s{place} = i{place} >= 0 && i{place} < {v.h} ? {v.c} : 0;",
            f"const int8_t *r{place} = s{place} != 0 ? x + i{place} * {v.w * v.c} + c : (const int8_t *)&outside;",
        )
    ]
    body = [
        "uint32_t *const wide = scratch;",
        f"const uint32_t outside = {zero};",
        f"for (int32_t b0 = 0; b0 < {v.n}; ++b0) {{",
        f"    for (int32_t i = 0; i < {v.oh}; ++i) {{",
        f"        for (int32_t c = 0; c < {v.c}; c += 4) {{",
        *(f"            {line}" for line in starts),
        "            uint32_t *to = wide;",
        f"            for (int32_t j = {-v.pw}; j < {columns - v.pw}; ++j) {{",
        f"                uint32_t a, b, {names};",
        *(["                (void)a, (void)b;"] if not pairs else []),
        f"                if (j < 0 || j >= {v.w}) {{",
        f"                    {' = '.join(f'q{place}' for place in range(v.kh))} = outside;",
        "                } else {",
        *(f"                    {line}" for line in loads),
        "                }",
        *(f"                {line}" for line in widened),
        f"                to += {words};",
        "            }",
        f"            const void *const job[3] = {{wide, w + c / 4 * {per_group}, y + c}};",
        f"            {row.name}(job);",
        "        }",
        f"        y += {v.ow * v.c};",
        "    }",
        f"    x += {v.h * v.w * v.c};",
        "}",
    ]
    if not pairs:
        body = [line.replace("uint32_t a, b, ", "uint32_t ") for line in body if "(void)a" not in line]
    needs = (PACK, row)
    parameters = "const int8_t *x, const int32_t *w, int8_t *y, void *scratch"
    made = function("q_depthwise_dsp", parameters, indented(body), needs=needs)
    return Kernel(
        functions=(made, *needs),
        arguments=(Operand(place=0), Table(array=stream), Result(), Scratch(4 * words * columns)),
        in_place={0: v.ahead},
    )


def _loop(v: Window, layer: Layer, words: int, per_group: int) -> Function:
    """All windows of one row, for four channels. The job is: widened columns, weights, y."""
    pairs, lone = divmod(v.kh, 2)
    shift = layer.shift - _HIGH_HALF
    column = []
    for _ in range(pairs):
        column += [
            "ldmia r0!, {r8, r9, r10, r11}",
            "ldrd r3, r12, [r1], #8",
            "smlad r4, r8, r3, r4",
            "smlad r5, r9, r12, r5",
            "ldrd r3, r12, [r1], #8",
            "smlad r6, r10, r3, r6",
            "smlad r7, r11, r12, r7",
        ]
    if lone:
        column += [
            "ldrd r8, r9, [r0], #8",
            "ldrd r3, r12, [r1], #8",
            "smlabb r4, r8, r3, r4",
            "smlatt r5, r8, r3, r5",
            "smlabb r6, r9, r12, r6",
            "smlatt r7, r9, r12, r7",
        ]
    back = 4 * words * (v.kw - v.sw)
    registers = ("r4", "r5", "r6", "r7")
    store = ["str r4, [r2], #" + str(v.c)] if v.c <= _LARGEST_STEP else ["str r4, [r2]", f"addw r2, r2, #{v.c}"]
    lines = [
        "ldr r1, [r0, #4]",
        "ldr r2, [r0, #8]",
        "ldr r0, [r0]",
        f"movw lr, #{v.ow}",
        "1:",
        "ldmia r1!, {r4, r5, r6, r7}",
        *(column * v.kw),
        "ldmia r1!, {r8, r9, r10, r11}",
        "ldr r12, [r1]",
        *(f"smmla {each}, {each}, {by}, r12" for each, by in zip(registers, ("r8", "r9", "r10", "r11"), strict=True)),
        *(f"ssat {each}, #8, {each}, asr #{shift}" for each in registers),
        *(line for each in registers for line in _bounds(layer, each)),
        "bfi r4, r6, #8, #8",
        "bfi r4, r5, #16, #8",
        "bfi r4, r7, #24, #8",
        *store,
        f"subw r1, r1, #{4 * (per_group - 1)}",
        *([f"subw r0, r0, #{back}"] if back > 0 else [f"addw r0, r0, #{-back}"] if back < 0 else []),
        "subs lr, #1",
        "bne 1b",
    ]
    return function("q_channels", "const void *const *job", indented(dsp.assembly(lines, "job")))


def _bounds(layer: Layer, register: str) -> list[str]:
    return dsp.held(layer, register, is_odd=False)[1:]


def _stream(v: Window, layer: Layer) -> np.ndarray:
    """For each four channels: bias, weights by columns, multipliers, and what the upper half starts with; int32."""
    shift = layer.shift - _HIGH_HALF
    half = (layer.y_zero << shift) + (1 << (shift - 1))
    taps = layer.rows.astype(np.int64).reshape(v.c // 4, 4, v.kh, v.kw)[:, _ORDER]
    bias, by = (each.reshape(v.c // 4, 4)[:, _ORDER] for each in (layer.bias, layer.fitted))
    parts = [bias]
    for column in range(v.kw):
        for row in range(0, v.kh - 1, 2):
            first, second = taps[:, :, row, column] & 0xFFFF, taps[:, :, row + 1, column] & 0xFFFF
            parts.append(first | second << 16)
        if v.kh % 2:
            last = taps[:, :, v.kh - 1, column] & 0xFFFF
            parts.append(last[:, ::2] | last[:, 1::2] << 16)
    parts += [by, np.full((v.c // 4, 1), half)]
    return np.ascontiguousarray(np.concatenate([dsp.as_words(each) for each in parts], 1))
