#include "blocks/elu.h"

#include <algorithm>

#include "kernels/vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 4096;  // numbers that one thread takes at a time: whole vectors

// e^x - 1 for x from -87, where that is -1, to 0. x is n * ln 2 and a rest of at most half of ln 2, of which the first terms of the series are summed
// up: the eighth is below 1e-8.
Vec exponential_minus_one(Vec x) {
    const Vec n = rounded(x * broadcast(1.44269504f));
    // ln 2 in two parts, so that the rest keeps its last bits.
    const Vec rest = multiply_add(n, broadcast(2.12194440e-4f), multiply_add(n, broadcast(-0.693359375f), x));
    Vec sum = broadcast(1.0f / 5040);
    for (const float each : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f})
        sum = multiply_add(sum, rest, broadcast(each));
    const Vec power = power_of_two(n);
    // 2^n * (1 + rest * sum) - 1, whose small results keep their bits where n is 0.
    return multiply_add(power * rest, sum, power - broadcast(1));
}

Vec elu_of(Vec x, Vec alpha) {
    // A NaN is in both.
    const Vec above = larger(broadcast(0), x), below = clamp(x, broadcast(-87.0f), broadcast(0));
    return above + alpha * exponential_minus_one(below);
}

}  // namespace

void elu(float alpha, const float* x, float* y, std::size_t count, const Threads& threads) {
    const Vec factor = broadcast(alpha);
    threads.share(steps(count, kRun), [&](std::size_t index) {
        const std::size_t first = index * kRun, end = std::min(count, first + kRun);
        std::size_t at = first;
        for (; at + kBlock <= end; at += kBlock) store(y + at, elu_of(load(x + at), factor));
        if (at == end) return;
        alignas(64) float last[kBlock] = {};
        std::copy(x + at, x + end, last);
        store(last, elu_of(load(last), factor));
        std::copy(last, last + (end - at), y + at);
    });
}

}  // namespace intarsia
