#include "blocks/elu.h"

#include <algorithm>

#include "kernels/exponential.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 4096;  // numbers that one thread takes at a time: whole vectors

// e^x - 1 for x from -87, where that is -1, to 0; small results keep their bits, as 2^n is 1 there.
Vec exponential_minus_one(Vec x) {
    const auto [power, rest] = parts_of(x);
    return multiply_add(power * rest, series(rest), power - broadcast(1));
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
