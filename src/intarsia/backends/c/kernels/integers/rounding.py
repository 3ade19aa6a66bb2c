"""The text of requantisation in portable C: `lowering.integer.fixed_point` says what it computes."""

from __future__ import annotations

from intarsia.codegen.module import Function

STEP = Function(
    name="q_step",
    text="""/* total * multiplier / 2**shift, rounded to the nearest step, a half upwards; moved by zero, and held. */
static inline int8_t q_step(int32_t total, int32_t multiplier, int32_t shift, int32_t zero, int32_t low, int32_t high)
{
    const int64_t half = (int64_t)1 << (shift - 1);
    const int64_t step = (((int64_t)total * multiplier + half) >> shift) + zero;
    if (shift >= 32) {
        const int32_t held = (int32_t)step;
        return (int8_t)(held < low ? low : held > high ? high : held);
    }
    return (int8_t)(step < low ? low : step > high ? high : step);
}""",
)

EVEN = Function(
    name="q_even",
    text="""/* The step of a product that lies so far behind the middle below its nearest step: the even neighbour where
   float32, with its 24 digits, cannot tell the product from a middle. */
static int64_t q_even(int64_t product, int64_t step, int64_t behind, int64_t half)
{
    const int64_t lower = behind < half ? step - 1 : step;
    const int64_t away = behind < half ? behind : 2 * half - behind;
    int64_t twice = lower < 0 ? -2 * lower - 1 : 2 * lower + 1;
    int32_t fine = twice == 1 && product > -half && product < half ? 25 : 24;
    for (; twice > 1 && fine > 0; twice >>= 1) {
        --fine;
    }
    return away > half >> fine ? step : lower % 2 != 0 ? lower + 1 : lower;
}""",
)

NEAREST = Function(
    name="q_nearest",
    text="""/* total * multiplier / 2**shift, rounded to 24 digits and then to the nearest step, a half to the even one,
   as float32 rounds; moved by zero, and held. */
static inline int8_t q_nearest(int32_t total, int32_t multiplier, int32_t shift, int32_t zero, int32_t low,
                               int32_t high)
{
    const int64_t half = (int64_t)1 << (shift - 1);
    const int64_t product = (int64_t)total * multiplier;
    int64_t step = (product + half) >> shift;
    const int64_t behind = (product + half) & (2 * half - 1);
    const int64_t close = half >> 16; /* 24 digits less the 8 of a step */
    if (behind <= close || behind >= 2 * half - close) {
        step = q_even(product, step, behind, half);
    }
    step += zero;
    return (int8_t)(step < low ? low : step > high ? high : step);
}""",
    needs=(EVEN.name,),
)

HELD = Function(
    name="q_held",
    text="""static inline int8_t q_held(int32_t number, int32_t low, int32_t high)
{
#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__)
    if (low == -128 && high == 127) {
        int32_t held;
        __asm__("ssat %0, #8, %1" : "=r"(held) : "r"(number) : "cc");
        return (int8_t)held;
    }
#endif
    return (int8_t)(number < low ? low : number > high ? high : number);
}""",
)
"""A number between two bounds, by one instruction where there is one for those of int8."""

MEAN = Function(
    name="q_mean",
    text="""/* A sum over so many numbers, in their own steps: a half to the even neighbour; moved by zero, and held. */
static inline int8_t q_mean(int32_t total, int32_t count, int32_t zero, int32_t low, int32_t high)
{
    const int32_t moved = 2 * total + count;
    int32_t step = moved / (2 * count);
    const int32_t rest = moved - step * 2 * count;
    step -= rest < 0 || (rest == 0 && (step & 1) != 0);
    return (int8_t)(step + zero < low ? low : step + zero > high ? high : step + zero);
}""",
)
"""For where operand and result share their scale."""

GATHER = Function(
    name="q_gather",
    text="""/* What a window of kh x kw pixels of c channels meets at (top, left); around the operand lies `zero`. */
static void q_gather(int8_t *to, const int8_t *x, int32_t top, int32_t left, int32_t h, int32_t w, int32_t c,
                     int32_t kh, int32_t kw, int32_t dh, int32_t dw, int32_t zero)
{
    for (int32_t i = 0; i < kh; ++i) {
        const int32_t row = top + i * dh;
        if (row < 0 || row >= h) {
            memset(to, zero, (size_t)(kw * c));
        } else if (dw == 1 && left >= 0 && left + kw <= w) {
            memcpy(to, x + (row * w + left) * c, (size_t)(kw * c));
        } else {
            for (int32_t j = 0; j < kw; ++j) {
                const int32_t column = left + j * dw;
                if (column < 0 || column >= w) {
                    memset(to + j * c, zero, (size_t)c);
                } else {
                    memcpy(to + j * c, x + (row * w + column) * c, (size_t)c);
                }
            }
        }
        to += kw * c;
    }
}""",
    headers=("<string.h>",),
)
