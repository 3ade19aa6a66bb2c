"""Convolutions and products for Cortex-M4 and M7: two products of 16 bits in one instruction.

Weights stay 8 bits wide in memory, and two output channels share a multiplication's operand. For channels with weights
a and b, a 16-bit half holds ``h = 256 * b + a``. One product of such halves with numbers x adds ``sum(x * h)`` to one
accumulator; after SXTB16, which leaves a, another adds ``sum(x * a)``. At the end ``sum(x * b)`` is their difference
over 256. So two instructions of four need no unpacking of their own.

Requantisation is one SMMLA, the upper half of a product added to the half step and the zero point, and one SSAT, which
shifts and holds.
"""

from __future__ import annotations

import numpy as np

from intarsia.backends.c.kernels.integers.layer import Layer

MOST_SHIFT = 14
"""Bits behind the upper half: more would not leave room for the zero point beside the odd channels' 8."""
_HIGH_HALF = 32
_UNROLLED = 8
GUARD = "#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__)"


def fits(layer: Layer) -> bool:
    """Whether pairs of channels and a shift of so many bits do for a layer."""
    rows = paired(layer.rows).astype(np.int64)
    halves = 256 * rows[1::2] + rows[::2]
    if np.abs(halves + 0.5).max(initial=0) > 32767.5 or layer.reach.max(initial=0) >= 1 << 23:
        return False
    return _HIGH_HALF < layer.shift <= _HIGH_HALF + MOST_SHIFT


def paired(rows: np.ndarray) -> np.ndarray:
    """Rows in an even number, and so many columns that four go into each word."""
    count, k = rows.shape
    wide = np.zeros((count + count % 2, k + -k % 4), np.int8)
    wide[:count, :k] = rows
    return wide


def halves(rows: np.ndarray) -> np.ndarray:
    """Pairs of rows as words: for each four elements the halves of 0 and 2, and those of 1 and 3; (pairs, words)."""
    wide = rows.astype(np.int64)
    both = (256 * wide[1::2] + wide[::2]) & 0xFFFF
    fours = both.reshape(both.shape[0], -1, 4)
    words = np.stack([fours[..., 0] | fours[..., 2] << 16, fours[..., 1] | fours[..., 3] << 16], -1)
    return words.reshape(both.shape[0], -1)


def started(layer: Layer) -> tuple[np.ndarray, np.ndarray]:
    """What the two accumulators of each pair start with, and the multipliers of its channels; (pairs, 2) each."""
    odd = len(layer.bias) % 2
    bias, by = (np.append(each, [0] * odd).reshape(-1, 2) for each in (layer.bias, layer.fitted))
    return np.stack([bias[:, 0], 256 * bias[:, 1] + bias[:, 0]], 1), by


def as_words(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers modulo 2**32, as int32."""
    return (numbers.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def half_steps(layer: Layer) -> tuple[int, int]:
    """What the upper half of a product starts with: half a step and the zero point; for even and for odd channels."""
    shift = layer.shift - _HIGH_HALF
    half = (layer.y_zero << shift) + (1 << (shift - 1))
    return half, half << 8


def held(layer: Layer, register: str, *, is_odd: bool) -> list[str]:
    """The instructions that make 8 bits of an upper half."""
    lines = [f"ssat {register}, #8, {register}, asr #{layer.shift - _HIGH_HALF + (8 if is_odd else 0)}"]
    if layer.low > -128:
        lines += [f"cmp {register}, #{layer.low}", "it lt", f"movlt {register}, #{layer.low}"]
    if layer.high < 127:
        lines += [f"cmp {register}, #{layer.high}", "it gt", f"movgt {register}, #{layer.high}"]
    return lines


def repeated(lines: list[str], times: int, counter: str, label: str) -> list[str]:
    """Instructions so many times, in a loop of at most `_UNROLLED` copies and a rest behind it."""
    if times <= _UNROLLED:
        return lines * times
    divisors = [count for count in range(4, _UNROLLED + 1) if times % count == 0]
    copies = max(divisors, default=4)
    rounds, rest = divmod(times, copies)
    return [
        f"mov {counter}, #{rounds}",
        f"{label}:",
        *(lines * copies),
        f"subs {counter}, #1",
        f"bne {label}b",
        *(lines * rest),
    ]


def assembly(lines: list[str], job: str, *, has_vectors: bool = False) -> list[str]:
    """A statement of C that runs these instructions, with the address of a job in r0, which is on top of the stack too.

    All other registers are theirs. r7 is saved apart, since a compiler that does not optimise wants it for its own.
    """
    text = ["push {r0, r7}", *lines, "pop {r0, r7}"]
    vectors = ', "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"' if has_vectors else ""
    return [
        f'register const void *at __asm__("r0") = {job};',
        "__asm__ volatile(",
        *(f'    "{line}\\n"' for line in text),
        '    : "+r"(at)',
        "    :",
        '    : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr"'
        + vectors
        + ', "cc", "memory");',
    ]


def pair_loop(layer: Layer, groups: int) -> list[str]:
    """Two rows of numbers, times all pairs of channels.

    The job is: x, y of the first row, y of the second, end of weights, the two half steps, weights.
    """
    group = ["ldmia r0!, {r8, r9, r10, r11}", "ldrd r2, r3, [r1], #8"]
    for word, first, second in (("r2", "r8", "r10"), ("r3", "r9", "r11")):
        group += [
            f"sxtb16 r12, {word}",
            f"smlad r4, {first}, r12, r4",
            f"smlad r5, {first}, {word}, r5",
            f"smlad r6, {second}, r12, r6",
            f"smlad r7, {second}, {word}, r7",
        ]
    return [
        "ldr r1, [r0, #24]",
        "ldr r0, [r0]",
        "1:",
        "ldrd r4, r5, [r1], #8",
        "mov r6, r4",
        "mov r7, r5",
        *repeated(group, groups, "lr", "2"),
        "ldr r12, [sp]",
        "ldrd r2, r3, [r1], #8",
        "sub r5, r5, r4",
        "sub r7, r7, r6",
        "ldrd r8, r9, [r12, #16]",
        "ldr r0, [r12]",
        "smmla r4, r4, r2, r8",
        "smmla r6, r6, r2, r8",
        "smmla r5, r5, r3, r9",
        "smmla r7, r7, r3, r9",
        "ldrd r10, r11, [r12, #4]",
        *(line for name in ("r4", "r6") for line in held(layer, name, is_odd=False)),
        *(line for name in ("r5", "r7") for line in held(layer, name, is_odd=True)),
        "strb r4, [r10], #1",
        "strb r6, [r11], #1",
        "strb r5, [r10], #1",
        "strb r7, [r11], #1",
        "ldr r8, [r12, #12]",
        "strd r10, r11, [r12, #4]",
        "cmp r1, r8",
        "bne 1b",
    ]


def pair_stream(layer: Layer) -> np.ndarray:
    """For each pair of channels: starts, weights, multipliers; int32."""
    starts, by = started(layer)
    return np.ascontiguousarray(
        np.concatenate([as_words(starts), as_words(halves(paired(layer.rows))), as_words(by)], 1)
    )


def row_loop(layer: Layer, groups: int) -> list[str]:
    """One row of numbers, times all channels, four at a time.

    The job is: x, y, end of weights, the two half steps, weights. Behind the last channel up to three more are written.
    """
    group = [
        "ldr r10, [r0], #4",
        "ldmia r1!, {r2, r3, r8, r9}",
        "sxtb16 r11, r10",
        "sxtb16 r10, r10, ror #8",
    ]
    for word, number, first, second in (
        ("r2", "r11", "r4", "r5"),
        ("r3", "r10", "r4", "r5"),
        ("r8", "r11", "r6", "r7"),
        ("r9", "r10", "r6", "r7"),
    ):
        group += [
            f"sxtb16 r12, {word}",
            f"smlad {second}, {number}, {word}, {second}",
            f"smlad {first}, {number}, r12, {first}",
        ]
    return [
        "ldr r1, [r0, #20]",
        "ldr r0, [r0]",
        "1:",
        "ldmia r1!, {r4, r5, r6, r7}",
        *repeated(group, groups, "lr", "2"),
        "ldr r12, [sp]",
        "ldmia r1!, {r2, r3, r8, r9}",
        "sub r5, r5, r4",
        "sub r7, r7, r6",
        "ldrd r10, r11, [r12, #12]",
        "ldr r0, [r12]",
        "smmla r4, r4, r2, r10",
        "smmla r5, r5, r3, r11",
        "smmla r6, r6, r8, r10",
        "smmla r7, r7, r9, r11",
        "ldrd r2, r3, [r12, #4]",
        *(line for name in ("r4", "r6") for line in held(layer, name, is_odd=False)),
        *(line for name in ("r5", "r7") for line in held(layer, name, is_odd=True)),
        "strb r4, [r2], #1",
        "strb r5, [r2], #1",
        "strb r6, [r2], #1",
        "strb r7, [r2], #1",
        "str r2, [r12, #4]",
        "cmp r1, r3",
        "bne 1b",
    ]


def row_stream(layer: Layer) -> np.ndarray:
    """For each four channels: starts, weights by fours of elements, multipliers; int32."""
    missing = -len(layer.bias) % 4
    rows = np.concatenate([paired(layer.rows), np.zeros((missing // 2 * 2, paired(layer.rows).shape[1]), np.int8)])
    starts, by = started(layer)
    count = len(rows) // 2
    starts, by = (np.concatenate([each, np.zeros((count - len(each), 2), np.int64)]) for each in (starts, by))
    words = halves(rows).reshape(count // 2, 2, -1, 2).transpose(0, 2, 1, 3).reshape(count // 2, -1)
    both = [starts.reshape(count // 2, 4), words, by.reshape(count // 2, 4)]
    return np.ascontiguousarray(np.concatenate([as_words(each) for each in both], 1))
