"""Convolutions and products for Cortex-M55: sixteen products of bytes in one instruction (VMLADAVA), by intrinsics.

Two pixels and four output channels share what is loaded: six vectors for eight multiplications. The window of a pixel
is gathered first, in chunks of sixteen bytes that alternate with the other pixel's. Requantisation handles four
channels at a time: VMULH is the upper half of their products.
"""

from __future__ import annotations

import numpy as np

from intarsia.backends.c.kernels.integers.dsp import assembly, repeated
from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.rounding import GATHER
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Site, function, indented
from intarsia.codegen.module import Function, Kernel, Operand, Result, Scratch, Table

_HIGH_HALF = 32
MOST_SHIFT = 22
LANES, CHANNELS = 16, 4
HEADERS = ("<arm_mve.h>", "<string.h>")


def fits(layer: Layer) -> bool:
    """Whether the upper half of a product does for a layer."""
    return _HIGH_HALF < layer.shift <= _HIGH_HALF + MOST_SHIFT and layer.reach.max(initial=0) < 1 << 31


def half_step(layer: Layer) -> int:
    """What is added to the upper half: the zero point and half a step."""
    shift = layer.shift - _HIGH_HALF
    return (layer.y_zero << shift) + (1 << (shift - 1))


def rounded(layer: Layer, vector: str, by: str) -> list[str]:
    """Statements that make steps of a vector of four sums, by a vector of multipliers."""
    return [
        f"{vector} = vaddq_n_s32(vmulhq_s32({vector}, {by}), {half_step(layer)});",
        f"{vector} = vshrq_n_s32({vector}, {layer.shift - _HIGH_HALF});",
        f"{vector} = vminq_s32(vmaxq_s32({vector}, vdupq_n_s32({layer.low})), vdupq_n_s32({layer.high}));",
    ]


def _stored(o: int, at: str, vector: str) -> str:
    return f"vstrbq_p_s32({at}, {vector}, mask);" if o % CHANNELS else f"vstrbq_s32({at}, {vector});"


def _mask(o: int) -> list[str]:
    return [f"const mve_pred16_t mask = vctp32q((uint32_t)({o} - c));"] if o % CHANNELS else []


def weights_of(layer: Layer) -> tuple[np.ndarray, np.ndarray]:
    """Four channels at a time: chunks of each in turn; and their biases and multipliers."""
    o, k = layer.rows.shape
    wide = np.zeros((o + -o % CHANNELS, k + -k % LANES), np.int8)
    wide[:o, :k] = layer.rows
    chunks = wide.reshape(-1, CHANNELS, wide.shape[1] // LANES, LANES).transpose(0, 2, 1, 3)
    scaling = np.zeros((wide.shape[0], 2), np.int32)
    scaling[:o] = layer.scaling(layer.fitted)
    return np.ascontiguousarray(chunks), np.ascontiguousarray(scaling.reshape(-1, CHANNELS, 2).transpose(0, 2, 1))


def pairs(layer: Layer) -> Function:
    """Two gathered pixels times all channels."""
    o, k = layer.rows.shape
    chunks = -(-k // LANES)
    names = [f"{pixel}{channel}" for channel in range(CHANNELS) for pixel in "ab"]
    body = [
        f"for (int32_t c = 0; c < {o}; c += {CHANNELS}) {{",
        *(f"    {line}" for line in _mask(o)),
        "    const int8_t *from = x;",
        f"    int32_t {', '.join(f'{name} = 0' for name in names)};",
        f"    for (int32_t i = 0; i < {chunks}; ++i) {{",
        "        const int8x16_t xa = vldrbq_s8(from), xb = vldrbq_s8(from + 16);",
        "        from += 32;",
        *(
            line
            for channel in range(CHANNELS)
            for line in (
                f"        const int8x16_t w{channel} = vldrbq_s8(w + {16 * channel});",
                f"        a{channel} = vmladavaq_s8(a{channel}, xa, w{channel});",
                f"        b{channel} = vmladavaq_s8(b{channel}, xb, w{channel});",
            )
        ),
        f"        w += {16 * CHANNELS};",
        "    }",
        "    const int32x4_t bias = vldrwq_s32(s), by = vldrwq_s32(s + 4);",
        "    s += 8;",
        "    int32x4_t first = {a0, a1, a2, a3}, second = {b0, b1, b2, b3};",
        "    first = vaddq_s32(first, bias);",
        "    second = vaddq_s32(second, bias);",
        *(f"    {line}" for line in (*rounded(layer, "first", "by"), *rounded(layer, "second", "by"))),
        f"    {_stored(o, 'y0 + c', 'first')}",
        f"    {_stored(o, 'y1 + c', 'second')}",
        "}",
    ]
    parameters = "const int8_t *x, const int8_t *w, const int32_t *s, int8_t *y0, int8_t *y1"
    return function("q_pairs_mve", parameters, indented(body), headers=HEADERS)


def assembled_pairs(layer: Layer) -> Function:
    """As `pairs`, in instructions: compilers move the eight sums about, which only even registers can hold.

    The job is: pixels, weights, scaling, y of the first pixel, of the second, end of weights, what is added, bounds.
    """
    k = layer.rows.shape[1]
    sums = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
    loads = ["vldrb.8 q0, [r9], #16", "vldrb.8 q1, [r9], #16"]
    loads += [f"vldrb.8 q{2 + channel}, [r11], #16" for channel in range(CHANNELS)]

    def products(name: str) -> list[str]:
        return [
            f"{name}.s8 {sums[channel + CHANNELS * pixel]}, q{pixel}, q{2 + channel}"
            for channel in range(CHANNELS)
            for pixel in (0, 1)
        ]

    lines = [
        "ldr r9, [r0]", "ldr r11, [r0, #4]", "ldr r7, [r0, #8]", "ldr r1, [r0, #12]", "ldr r3, [r0, #16]",
        f"mvn r5, #{-1 - layer.low}" if layer.low < 0 else f"mov r5, #{layer.low}", "vdup.32 q6, r5",
        f"mvn r5, #{-1 - layer.high}" if layer.high < 0 else f"mov r5, #{layer.high}", "vdup.32 q7, r5",
        "1:",
        *loads,
        *products("vmladav"),
        *repeated([*loads, *products("vmladava")], -(-k // LANES) - 1, "r5", "2"),
        "vmov q0[2], q0[0], r0, r4",
        "vmov q0[3], q0[1], r2, r6",
        "vmov q1[2], q1[0], r8, r12",
        "vmov q1[3], q1[1], r10, lr",
        "ldr r5, [sp]",
        "vldrw.32 q2, [r7], #16",
        "vldrw.32 q3, [r7], #16",
        "ldr r0, [r5, #24]",
        "ldr r9, [r5]",
        "ldr r5, [r5, #20]",
    ]  # fmt: skip
    for step in (
        "vadd.i32 {0}, {0}, q2", "vmulh.s32 {0}, {0}, q3", "vadd.i32 {0}, {0}, r0",
        f"vshr.s32 {{0}}, {{0}}, #{layer.shift - _HIGH_HALF}", "vmax.s32 {0}, {0}, q6", "vmin.s32 {0}, {0}, q7",
    ):  # fmt: skip
        lines += [step.format("q0"), step.format("q1")]
    lines += ["vstrb.32 q0, [r1], #4", "vstrb.32 q1, [r3], #4", "cmp r11, r5", "bne 1b"]
    return function("q_pairs_mve", "const void *const *job", indented(assembly(lines, "job", has_vectors=True)))


COPY = Function(
    name="q_chunks",
    text="""/* Bytes in chunks of sixteen, with room for another pixel's behind each; n may end within a chunk. */
static inline int8_t *q_chunks(int8_t *to, const int8_t *from, int32_t n)
{
    for (; n > 0; n -= 16) {
        const mve_pred16_t mask = vctp8q((uint32_t)n);
        vstrbq_s8(to, vldrbq_z_s8(from, mask));
        to += 32;
        from += 16;
    }
    return to;
}

static inline int8_t *q_chunks_of_one(int8_t *to, int32_t number, int32_t n)
{
    const int8x16_t all = vdupq_n_s8((int8_t)number);
    for (; n > 0; n -= 16) {
        vstrbq_s8(to, all);
        to += 32;
    }
    return to;
}""",
    headers=HEADERS,
)


def convolution(site: Site, window: Window, layer: Layer) -> Kernel:
    """Two pixels at a time."""
    v = window
    k = v.taps * v.c
    padded = k + -k % LANES
    pixels = v.oh * v.ow
    weights, scaling = weights_of(layer)
    is_even = v.o % CHANNELS == 0
    product = assembled_pairs(layer) if is_even else pairs(layer)
    is_plain = v.c % LANES == 0 or v.is_point
    spare = 2 * padded + (0 if is_plain else padded)
    second = f"t + 1 < {pixels} ? y + {v.o} : (int8_t *)scratch + {spare}" if pixels % 2 else f"y + {v.o}"
    call = [f"{product.name}(pair, w, s, y, {second});"]
    if is_even:
        call = [
            f"const void *const job[7] = {{pair, w, s, y, {second},",
            f"                              w + {weights.size}, (const void *)({half_step(layer)})}};",
            f"{product.name}(job);",
        ]
    body = [
        "int8_t *const pair = scratch;",
        *([] if is_plain else [f"int8_t *const row = pair + {2 * padded};"]),
        f"for (int32_t b = 0; b < {v.n}; ++b) {{",
        *([] if v.is_point else ["    int32_t i = 0, j = 0;"]),
        f"    for (int32_t t = 0; t < {pixels}; t += 2) {{",
        f"        for (int32_t p = 0; p < 2 && t + p < {pixels}; ++p) {{",
        "            int8_t *to = pair + 16 * p;",
        *(f"            {line}" for line in _pixel(v, layer, k)),
        *(
            []
            if v.is_point
            else [f"            j = j + 1 < {v.ow} ? j + 1 : 0;", "            i = j == 0 ? i + 1 : i;"]
        ),
        "        }",
        *(f"        {line}" for line in call),
        f"        y += t + 1 < {pixels} ? {2 * v.o} : {v.o};",
        "    }",
        f"    x += {v.h * v.w * v.c};",
        "}",
    ]
    needs = (COPY, *(() if is_plain else (GATHER,)), product)
    parameters = "const int8_t *x, const int8_t *w, const int32_t *s, int8_t *y, void *scratch"
    made = function("q_conv_mve", parameters, indented(body), needs=needs)
    return Kernel(
        functions=(made, *needs),
        arguments=(
            Operand(place=0), Table(array=weights), Table(array=scaling), Result(),
            Scratch(spare + (v.o if pixels % 2 else 0)),
        ),
        in_place={0: v.ahead},
    )  # fmt: skip


def _pixel(v: Window, layer: Layer, k: int) -> list[str]:
    """Statements that gather the window at (i, j)."""
    if v.is_point:
        return [f"q_chunks(to, x + (t + p) * {v.c}, {v.c});"]
    place = f"const int32_t top = i * {v.sh} - {v.ph}, left = j * {v.sw} - {v.pw};"
    if v.c % LANES:
        return [
            place,
            f"q_gather(row, x, top, left, {v.h}, {v.w}, {v.c}, {v.kh}, {v.kw}, {v.dh}, {v.dw}, {layer.x_zero});",
            f"q_chunks(to, row, {k});",
        ]
    lines = [
        place,
        f"for (int32_t q = 0; q < {v.kh}; ++q) {{",
        f"    const int32_t row = top + q * {v.dh};",
        f"    if (row < 0 || row >= {v.h}) {{",
        f"        to = q_chunks_of_one(to, {layer.x_zero}, {v.kw * v.c});",
        "        continue;",
        "    }",
    ]
    if v.dw == 1:
        lines += [
            f"    if (left >= 0 && left + {v.kw} <= {v.w}) {{",
            f"        to = q_chunks(to, x + (row * {v.w} + left) * {v.c}, {v.kw * v.c});",
            "        continue;",
            "    }",
        ]
    return [
        *lines,
        f"    for (int32_t r = 0; r < {v.kw}; ++r) {{",
        f"        const int32_t column = left + r * {v.dw};",
        f"        to = column < 0 || column >= {v.w} ? q_chunks_of_one(to, {layer.x_zero}, {v.c})",
        f"                                           : q_chunks(to, x + (row * {v.w} + column) * {v.c}, {v.c});",
        "    }",
        "}",
    ]


def dense(site: Site, rows: int, layer: Layer) -> Kernel:
    """Row by row, four channels at a time."""
    o, k = layer.rows.shape
    whole, rest = divmod(k, LANES)
    weights, scaling = weights_of(layer)

    def products(load: str) -> list[str]:
        lines = [f"const int8x16_t numbers = {load};", "from += 16;"]
        lines += [
            f"a{channel} = vmladavaq_s8(a{channel}, numbers, vldrbq_s8(by + {16 * channel}));"
            for channel in range(CHANNELS)
        ]
        return [*lines, f"by += {16 * CHANNELS};"]

    last = products(f"vldrbq_z_s8(from, vctp8q({rest}))")
    body = [
        f"for (int32_t i = 0; i < {rows}; ++i) {{",
        "    const int8_t *by = w;",
        "    const int32_t *at = s;",
        f"    for (int32_t c = 0; c < {o}; c += {CHANNELS}) {{",
        *(f"        {line}" for line in _mask(o)),
        "        const int8_t *from = x;",
        "        int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0;",
        *(
            [f"        for (int32_t n = 0; n < {whole}; ++n) {{",
             *(f"            {line}" for line in products("vldrbq_s8(from)")),
             "        }"]
            if whole
            else []
        ),
        *(
            ["        {", *(f"            {line}" for line in last), "        }"]
            if rest
            else []
        ),
        "        int32x4_t sums = {a0, a1, a2, a3};",
        "        sums = vaddq_s32(sums, vldrwq_s32(at));",
        "        const int32x4_t scale = vldrwq_s32(at + 4);",
        "        at += 8;",
        *(f"        {line}" for line in rounded(layer, "sums", "scale")),
        f"        {_stored(o, 'y + c', 'sums')}",
        "    }",
        f"    x += {k};",
        f"    y += {o};",
        "}",
    ]  # fmt: skip
    made = function(
        "q_dense_mve", "const int8_t *x, const int8_t *w, const int32_t *s, int8_t *y", indented(body), headers=HEADERS
    )
    return Kernel(functions=(made,), arguments=(Operand(place=0), Table(array=weights), Table(array=scaling), Result()))
