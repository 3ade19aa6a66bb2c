#include "kernels/products/gemm.h"

#include <array>
#include <cstdint>
#include <utility>

namespace intarsia {

namespace {

// Sums [row][block] to what becomes of them.
[[gnu::noinline]] void finish_rows(const Product& p, const Vec* sums, std::size_t rows, std::size_t vecs) {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t i = 0; i < vecs; ++i, ++sums) {
            const std::size_t at = i * p.m_stride + row * kBlock;
            Vec value = *sums + load(p.bias + i * kBlock);
            if (p.sum) value = value + load(p.sum + at);
            store(p.m + at, finished(value, *p.finish));
        }
}

// The sums stay in registers only where every loop over them is unrolled.
template <std::size_t Rows, std::size_t Vecs>
void multiply_rows(const Product& p) {
    const bool is_result = p.bias != nullptr;
    Vec sum[Rows][Vecs];
#pragma GCC unroll 14
    for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = broadcast(0);
    if (is_result) {
        // Results go to memory, which takes as long as the sums: lines are called in before there is anything to write.
#pragma GCC unroll 14
        for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) prefetch_to_write(p.m + i * p.m_stride + row * kBlock);
    }
    const float *u = p.u, *ahead = p.ahead;
    for (std::size_t tap = 0; tap < p.taps; ++tap) {
        const float* v = p.v + tap * p.v_tap;
        for (std::size_t block = 0; block < p.blocks; ++block, v += p.v_stride)
            for (std::size_t channel = 0; channel < kBlock; ++channel, u += p.u_channel, ahead += p.ahead_stride) {
                prefetch(ahead);
                Vec weight[Vecs];
#pragma GCC unroll 2
                for (std::size_t i = 0; i < Vecs; ++i) weight[i] = load(u + i * p.u_stride);
#pragma GCC unroll 14
                for (std::size_t row = 0; row < Rows; ++row) {
                    const Vec pixel = broadcast(v[row * kBlock + channel]);
#pragma GCC unroll 2
                    for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = multiply_add(pixel, weight[i], sum[row][i]);
                }
            }
    }
    if (is_result) {
        // Only this much is unrolled: the rest is little of the time, and would be most of the code.
        alignas(64) Vec sums[Rows][Vecs];
#pragma GCC unroll 14
        for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) sums[row][i] = sum[row][i];
        return finish_rows(p, &sums[0][0], Rows, Vecs);
    }
#pragma GCC unroll 14
    for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Vecs; ++i) store(p.m + i * p.m_stride + row * kBlock, sum[row][i]);
}

using Rows = std::array<void (*)(const Product&), kRows>;

template <std::size_t Vecs, std::size_t... Row>
constexpr Rows kernels_of(std::index_sequence<Row...>) {
    return {multiply_rows<Row + 1, Vecs>...};
}

// By the blocks of the panel, and by rows.
constexpr Rows kKernels[kPanel] = {kernels_of<1>(std::make_index_sequence<kRows>()),
                                   kernels_of<2>(std::make_index_sequence<kRows>())};

}  // namespace

// In steps as equal as can be: a last step of one or two rows would starve the multipliers. Each step calls in its share
// of the panel behind this one; evenly, since a core waits for no more than a dozen lines at once.
void multiply(Product p, std::size_t rows, std::size_t vecs) {
    const Rows& kernels = kKernels[vecs - 1];
    // In 32 bits, since a division takes as long as some of the steps' work.
    const auto count = static_cast<std::uint32_t>(rows), steps = (count + std::uint32_t{kRows} - 1) / std::uint32_t{kRows};
    const std::size_t channels = p.taps * p.blocks * kBlock;
    p.ahead = p.u + channels * vecs * kBlock;
    p.ahead_stride = (static_cast<std::uint32_t>(vecs * kBlock) + steps - 1) / steps;
    for (std::uint32_t i = 0; i < steps; ++i) {
        const std::size_t step = count / steps + (i < count % steps);
        kernels[step - 1](p);
        p.v += step * kBlock;
        p.m += step * kBlock;
        if (p.sum) p.sum += step * kBlock;
        p.ahead += channels * p.ahead_stride;
    }
}

}  // namespace intarsia
