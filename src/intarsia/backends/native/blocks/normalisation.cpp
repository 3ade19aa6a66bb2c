#include "blocks/normalisation.h"

#include <algorithm>
#include <cmath>

#include "kernels/memory.h"
#include "kernels/vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 256;  // pixels that one thread takes at a time: they stay in its cache

// s ^ -beta. The common power needs two roots; others are left to the library, number by number.
Vec inverse_power(Vec s, float beta) {
    if (beta == 0.75f) {
        const Vec root = square_root(s);
        return broadcast(1) / (root * square_root(root));
    }
    alignas(64) float numbers[kBlock];
    store(numbers, s);
    for (float& each : numbers) each = std::pow(each, -beta);
    return load(numbers);
}

// Mean of so many pixels, and the sum of their squared distances from it.
struct Spread {
    float count;
    Vec mean, squares;
};
constexpr std::size_t kSpread = 2 * kBlock;  // floats of one that is kept

Spread spread_of(const float* x, std::size_t pixels) {
    // Counted from the first pixel: a sum of numbers far from zero would lose what sets them apart.
    const Vec start = load(x);
    Vec sum = broadcast(0), squares = broadcast(0);
    for (std::size_t p = 1; p < pixels; ++p) sum = sum + (load(x + p * kBlock) - start);
    const Vec mean = start + sum / broadcast(static_cast<float>(pixels));
    for (std::size_t p = 0; p < pixels; ++p) {
        const Vec apart = load(x + p * kBlock) - mean;
        squares = multiply_add(apart, apart, squares);
    }
    return {static_cast<float>(pixels), mean, squares};
}

// Of both together (Chan, Golub and LeVeque, 1979): sums of squares would lose what is small beside the mean.
Spread joined(const Spread& one, const Spread& other) {
    const float count = one.count + other.count;
    const Vec apart = other.mean - one.mean;
    return {count, multiply_add(apart, broadcast(other.count / count), one.mean),
            multiply_add(apart * apart, broadcast(one.count * other.count / count), one.squares + other.squares)};
}

}  // namespace

void local_response(const LocalResponse& asked, const float* x, float* y, std::size_t images, std::size_t blocks,
                    std::size_t pixels, const Threads& threads) {
    const std::size_t runs = steps(pixels, kRun), before = (asked.size - 1) / 2, channels = blocks * kBlock;
    const Vec factor = broadcast(asked.alpha / static_cast<float>(asked.size)), offset = broadcast(asked.bias);
    threads.share(images * runs, [&](std::size_t index) {
        const std::size_t first = index % runs * kRun, last = std::min(pixels, first + kRun);
        const std::size_t image = index / runs * blocks * pixels;
        // The squares of a pixel's channels, with zeros for the channels that are not there on both sides.
        float* squares = scratch(channels + asked.size - 1);
        std::fill_n(squares, before, 0.0f);
        std::fill_n(squares + before + channels, asked.size - 1 - before, 0.0f);
        for (std::size_t p = first; p < last; ++p) {
            for (std::size_t b = 0; b < blocks; ++b) {
                const Vec value = load(x + (image + b * pixels + p) * kBlock);
                store(squares + before + b * kBlock, value * value);
            }
            for (std::size_t b = 0; b < blocks; ++b) {
                const float* near = squares + b * kBlock;
                Vec sum = load(near);
                for (std::size_t tap = 1; tap < asked.size; ++tap) sum = sum + load(near + tap);
                const std::size_t at = (image + b * pixels + p) * kBlock;
                store(y + at, load(x + at) * inverse_power(multiply_add(factor, sum, offset), asked.beta));
            }
        }
    });
}

void instance_normalisation(const InstanceNormalisation& asked, const float* x, float* y, std::size_t images,
                            std::size_t blocks, std::size_t pixels, const Threads& threads) {
    const std::size_t runs = steps(pixels, kRun), planes = images * blocks;
    float* kept = scratch(planes * runs * kSpread);
    const auto count = [=](std::size_t run) { return std::min(pixels, (run + 1) * kRun) - run * kRun; };
    threads.share(planes * runs, [&](std::size_t index) {
        const std::size_t run = index % runs;
        const Spread found = spread_of(x + (index / runs * pixels + run * kRun) * kBlock, count(run));
        store(kept + index * kSpread, found.mean);
        store(kept + index * kSpread + kBlock, found.squares);
    });
    const auto spread = [=](std::size_t plane, std::size_t run) -> Spread {
        const float* from = kept + (plane * runs + run) * kSpread;
        return {static_cast<float>(count(run)), load(from), load(from + kBlock)};
    };
    const Vec least = broadcast(asked.low), most = broadcast(asked.high);
    threads.share(planes * runs, [&](std::size_t index) {
        const std::size_t plane = index / runs, run = index % runs, channel = plane % blocks * kBlock;
        Spread all = spread(plane, 0);
        for (std::size_t other = 1; other < runs; ++other) all = joined(all, spread(plane, other));
        const Vec variance = all.squares / broadcast(all.count);
        const Vec factor = load(asked.scale + channel) / square_root(variance + broadcast(asked.epsilon));
        const Vec bias = load(asked.bias + channel);
        const std::size_t start = (plane * pixels + run * kRun) * kBlock;
        for (std::size_t at = start; at < start + count(run) * kBlock; at += kBlock) {
            store(y + at, clamp(multiply_add(load(x + at) - all.mean, factor, bias), least, most));
        }
    });
}

}  // namespace intarsia
