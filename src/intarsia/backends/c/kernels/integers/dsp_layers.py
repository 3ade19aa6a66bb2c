"""What stands around the instructions of `dsp`: pixels widened to 16 bits, two at a time, and where results go."""

from __future__ import annotations

from intarsia.backends.c.kernels.integers import dsp
from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Site, function, indented
from intarsia.codegen.module import Function, Kernel, Operand, Result, Scratch, Table

WIDEN = Function(
    name="q_widen",
    text="""/* Bytes as 16 bits, four at a time: 0 and 2, then 1 and 3. Behind them lie two words of another pixel. */
static inline int32_t *q_widen(int32_t *to, const int8_t *from, int32_t fours)
{
#pragma GCC unroll 4
    for (int32_t i = 0; i < fours; ++i) {
        uint32_t word;
        memcpy(&word, from + 4 * i, 4);
        to[0] = (int32_t)__sxtb16((int8x4_t)word);
        to[1] = (int32_t)__sxtb16((int8x4_t)(word >> 8 | word << 24));
        to += 4;
    }
    return to;
}

static inline int32_t *q_widen_one(int32_t *to, int32_t number, int32_t fours)
{
    const int32_t both = (int32_t)(((uint32_t)number & 0xffffu) | ((uint32_t)number << 16));
    for (int32_t i = 0; i < fours; ++i) {
        to[0] = both;
        to[1] = both;
        to += 4;
    }
    return to;
}""",
    headers=("<string.h>", "<arm_acle.h>"),
)


def convolution(site: Site, window: Window, layer: Layer) -> Kernel:
    """Two pixels times all pairs of channels, again and again."""
    v = window
    k = v.taps * v.c
    groups = -(-k // 4)
    is_odd, pixels = v.o % 2 == 1, v.oh * v.ow
    bytes_at = 16 * groups
    half, half_odd = dsp.half_steps(layer)
    stream = dsp.pair_stream(layer)
    lines, more, row_bytes = _pixel(v, layer, k, groups)
    spare = bytes_at + row_bytes
    ys = (
        [f"int8_t *const own = (int8_t *)scratch + {spare};", f"int8_t *y0 = own, *y1 = own + {v.o + 1};"]
        if is_odd
        else [
            "int8_t *const y0 = y;",
            f"int8_t *const y1 = t + 1 < {pixels} ? y + {v.o} : (int8_t *)scratch + {spare};" if pixels % 2 else
            f"int8_t *const y1 = y + {v.o};",
        ]
    )  # fmt: skip
    kept = [
        f"memcpy(y, own, {v.o});",
        f"if (t + 1 < {pixels}) {{",
        f"    memcpy(y + {v.o}, own + {v.o + 1}, {v.o});",
        "}",
    ]
    body = [
        "int32_t *const wide = scratch;",
        *more,
        f"for (int32_t b = 0; b < {v.n}; ++b) {{",
        "    int32_t i = 0, j = 0;",
        f"    for (int32_t t = 0; t < {pixels}; t += 2) {{",
        f"        for (int32_t p = 0; p < 2 && t + p < {pixels}; ++p) {{",
        "            int32_t *to = wide + 2 * p;",
        *(f"            {line}" for line in lines),
        f"            j = j + 1 < {v.ow} ? j + 1 : 0;",
        "            i = j == 0 ? i + 1 : i;",
        "        }",
        *(f"        {line}" for line in ys),
        f"        const void *const job[7] = {{wide, y0, y1, w + {stream.size}, (const void *)({half}), "
        f"(const void *)({half_odd}), w}};",
        "        q_pairs(job);",
        *(f"        {line}" for line in (kept if is_odd else [])),
        f"        y += t + 1 < {pixels} ? {2 * v.o} : {v.o};",
        "    }",
        f"    x += {v.h * v.w * v.c};",
        "}",
    ]
    pairs = _assembled("q_pairs", dsp.pair_loop(layer, groups))
    text = indented(body).replace("q_pairs(job)", f"{pairs.name}(job)")
    needs = (WIDEN, pairs)
    made = function("q_conv_dsp", "const int8_t *x, const int32_t *w, int8_t *y, void *scratch", text, needs=needs)
    size = spare + (2 * (v.o + 1) if is_odd else v.o if pixels % 2 else 0)
    return Kernel(
        functions=(made, *needs),
        arguments=(Operand(place=0), Table(array=stream), Result(), Scratch(size)),
        in_place={0: v.ahead},
    )


def _pixel(v: Window, layer: Layer, k: int, groups: int) -> tuple[list[str], list[str], int]:
    """Statements that widen the window at (i, j) into ``to``; those before all loops; bytes of memory of their own."""
    run = v.kw * v.c
    if v.is_point and v.c % 4 == 0:
        return [f"q_widen(to, x + (t + p) * {v.c}, {v.c // 4});"], [], 0
    place = [f"const int32_t top = i * {v.sh} - {v.ph}, left = j * {v.sw} - {v.pw};"]
    if v.c % 4 == 0 and v.dw == 1:
        whole = f"left >= 0 && left + {v.kw} <= {v.w}"
        edges = [
            f"const int32_t before = left < 0 ? (-left < {v.kw} ? -left : {v.kw}) : 0;",
            f"const int32_t beyond = left + {v.kw} - {v.w};",
            f"const int32_t behind = beyond > 0 ? (beyond < {v.kw} ? beyond : {v.kw}) : 0;",
            f"const int32_t within = {v.kw} - before - behind;",
            f"to = q_widen_one(to, {layer.x_zero}, before * {v.c // 4});",
            f"to = q_widen(to, x + (row * {v.w} + left + before) * {v.c}, within * {v.c // 4});",
            f"to = q_widen_one(to, {layer.x_zero}, behind * {v.c // 4});",
        ]
        return (
            [
                *place,
                f"for (int32_t q = 0; q < {v.kh}; ++q) {{",
                f"    const int32_t row = top + q * {v.dh};",
                f"    if (row < 0 || row >= {v.h}) {{",
                f"        to = q_widen_one(to, {layer.x_zero}, {run // 4});",
                f"    }} else if ({whole}) {{",
                f"        to = q_widen(to, x + (row * {v.w} + left) * {v.c}, {run // 4});",
                "    } else {",
                *(f"        {line}" for line in edges),
                "    }",
                "}",
            ],
            [],
            0,
        )
    lines = [
        *place,
        "int8_t *put = bytes;",
        f"for (int32_t q = 0; q < {v.kh}; ++q) {{",
        f"    const int32_t row = top + q * {v.dh};",
        f"    const int8_t *const from = x + (row * {v.w} + left) * {v.c};",
        f"    if (row >= 0 && row < {v.h} && left >= 0 && left + {(v.kw - 1) * v.dw} < {v.w}) {{",
        *([f"        memcpy(put, from, {run});"] if v.dw == 1 else
          [f"        for (int32_t r = 0; r < {v.kw}; ++r) {{",
           f"            memcpy(put + r * {v.c}, from + r * {v.dw * v.c}, {v.c});",
           "        }"]),
        "    } else {",
        f"        for (int32_t r = 0; r < {v.kw}; ++r) {{",
        f"            const int32_t column = left + r * {v.dw};",
        f"            if (row < 0 || row >= {v.h} || column < 0 || column >= {v.w}) {{",
        f"                memset(put + r * {v.c}, {layer.x_zero}, {v.c});",
        "            } else {",
        f"                memcpy(put + r * {v.c}, from + r * {v.dw * v.c}, {v.c});",
        "            }",
        "        }",
        "    }",
        f"    put += {run};",
        "}",
        f"q_widen(to, bytes, {groups});",
    ]  # fmt: skip
    before = [f"int8_t *const bytes = (int8_t *)scratch + {16 * groups};"]
    if 4 * groups > k:
        before.append(f"memset(bytes + {k}, 0, {4 * groups - k});")
    return lines, before, 4 * groups


def dense(site: Site, rows: int, layer: Layer) -> Kernel:
    """Row by row, four channels at a time."""
    o, k = layer.rows.shape
    groups = -(-k // 4)
    half, half_odd = dsp.half_steps(layer)
    stream = dsp.row_stream(layer)
    is_short, is_ragged = k % 4 != 0, o % 4 != 0
    size = (4 * groups if is_short else 0) + (o + -o % 4 if is_ragged else 0)
    x = "own" if is_short else f"x + i * {k}"
    y = f"own + {4 * groups if is_short else 0}" if is_ragged else f"y + i * {o}"
    body = [
        *(["int8_t *const own = scratch;"] if size else []),
        f"for (int32_t i = 0; i < {rows}; ++i) {{",
        *([f"    memcpy(own, x + i * {k}, {k});", f"    memset(own + {k}, 0, {4 * groups - k});"] if is_short else []),
        f"    const void *const job[6] = {{{x}, {y}, w + {stream.size}, (const void *)({half}), "
        f"(const void *)({half_odd}), w}};",
        "    q_row(job);",
        *([f"    memcpy(y + i * {o}, {y}, {o});"] if is_ragged else []),
        "}",
    ]
    loop = _assembled("q_row", dsp.row_loop(layer, groups))
    text = indented(body).replace("q_row(job)", f"{loop.name}(job)")
    parameters = "const int8_t *x, const int32_t *w, int8_t *y" + (", void *scratch" if size else "")
    made = function("q_dense_dsp", parameters, text, needs=(loop,), headers=("<string.h>",))
    own = (Scratch(size),) if size else ()
    return Kernel(functions=(made, loop), arguments=(Operand(place=0), Table(array=stream), Result(), *own))


def _assembled(stem: str, lines: list[str]) -> Function:
    """A function of a job, in instructions."""
    return function(stem, "const void *const *job", indented(dsp.assembly(lines, "job")))
