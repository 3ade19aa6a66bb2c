// e^x on a vector.
#pragma once

#include "vector.h"

namespace intarsia {

// x is n * ln 2 and a rest of at most half of ln 2.
struct Parts {
    Vec power, rest;  // 2^n
};

// Of x from -87 to 88.
inline Parts parts_of(Vec x) {
    const Vec n = rounded(x * broadcast(1.44269504f));
    // ln 2 in two parts, so that the rest keeps its last bits.
    const Vec rest = multiply_add(n, broadcast(2.12194440e-4f), multiply_add(n, broadcast(-0.693359375f), x));
    return {power_of_two(n), rest};
}

// (e^rest - 1) / rest: the first terms of the series; the eighth is below 1e-8.
inline Vec series(Vec rest) {
    Vec sum = broadcast(1.0f / 5040);
    for (const float each : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f})
        sum = multiply_add(sum, rest, broadcast(each));
    return sum;
}

inline Vec exponential(Vec x) {
    const auto [power, rest] = parts_of(clamp(x, broadcast(-87), broadcast(88)));
    return multiply_add(power * rest, series(rest), power);
}

// x / (1 + e^-y). The reciprocal gets the rest of its bits by one step of Newton's method, where a division would take
// longer than all else.
inline Vec gated(Vec x, Vec y) {
    const Vec divisor = broadcast(1) + exponential(broadcast(0) - y), about = about_reciprocal(divisor);
    return x * about * (broadcast(2) - divisor * about);
}

inline Vec swish(Vec x) { return gated(x, x); }

// x / 2 * (1 + tanh(u)) for u = sqrt(2 / pi) * (x + 0.044715 x^3), where (1 + tanh(u)) / 2 is 1 / (1 + e^-2u).
inline Vec gelu(Vec x) {
    const Vec cubic = multiply_add(x * x, broadcast(2 * 0.79788456f * 0.044715f), broadcast(2 * 0.79788456f));
    return gated(x, x * cubic);
}

}  // namespace intarsia
