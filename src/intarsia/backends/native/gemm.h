// The product of rows of tiles and a panel of weights: some rows at a time, summed in registers over all channels.
#pragma once

#include <array>
#include <utility>

#include "vector.h"

namespace intarsia {

#if defined(__AVX512F__)
constexpr std::size_t kRows = 14;  // 14 x 2 sums, two weights and a broadcast: 31 of the 32 registers
#else
constexpr std::size_t kRows = 6;  // 6 x 2 sums, two weights and a broadcast: 15 of the 16 registers
#endif
constexpr std::size_t kPanel = 2;  // blocks of output channels in a panel of weights

struct Product {
    const float* v;            // [blocks][row][kBlock], rows side by side
    std::size_t v_stride;      // from a block of input channels to the next
    const float* u;            // [blocks * kBlock][blocks of the panel][kBlock]
    std::size_t blocks;        // of input channels
    float* m;                  // [blocks of the panel][row][kBlock]
    std::size_t m_stride;      // from a block of output channels to the next
    const float* ahead;        // weights wanted soon, called into the nearest cache meanwhile
    std::size_t ahead_stride;  // from a channel to the next
};

// The sums stay in registers only where every loop over them is unrolled.
template <std::size_t Rows, std::size_t Vecs>
void multiply_rows(const Product& p) {
    Vec sum[Rows][Vecs];
#pragma GCC unroll 14
    for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = broadcast(0);
    const float *v = p.v, *u = p.u, *ahead = p.ahead;
    for (std::size_t block = 0; block < p.blocks; ++block, v += p.v_stride)
        for (std::size_t channel = 0; channel < kBlock; ++channel, u += Vecs * kBlock, ahead += p.ahead_stride) {
            prefetch(ahead);
            Vec weight[Vecs];
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) weight[i] = load(u + i * kBlock);
#pragma GCC unroll 14
            for (std::size_t row = 0; row < Rows; ++row) {
                const Vec pixel = broadcast(v[row * kBlock + channel]);
#pragma GCC unroll 2
                for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = multiply_add(pixel, weight[i], sum[row][i]);
            }
        }
#pragma GCC unroll 14
    for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Vecs; ++i) store(p.m + i * p.m_stride + row * kBlock, sum[row][i]);
}

template <std::size_t Vecs, std::size_t... Row>
constexpr auto kernels_of(std::index_sequence<Row...>) {
    return std::array<void (*)(const Product&), sizeof...(Row)>{multiply_rows<Row + 1, Vecs>...};
}

// All `rows` with a panel of `vecs` blocks, in steps as equal as can be: a last step of one or two rows would starve
// the multipliers. Each step calls in its share of the panel behind this one; evenly, since a core waits for no more
// than a dozen lines at once.
inline void multiply(Product p, std::size_t rows, std::size_t vecs) {
    static constexpr std::array kernels = {kernels_of<1>(std::make_index_sequence<kRows>()),
                                           kernels_of<2>(std::make_index_sequence<kRows>())};
    const std::size_t steps = (rows + kRows - 1) / kRows, channels = p.blocks * kBlock;
    p.ahead = p.u + channels * vecs * kBlock;
    p.ahead_stride = (vecs * kBlock + steps - 1) / steps;
    for (std::size_t i = 0; i < steps; ++i) {
        const std::size_t step = (rows + steps - i - 1) / (steps - i);
        kernels[vecs - 1][step - 1](p);
        p.v += step * kBlock;
        p.m += step * kBlock;
        p.ahead += channels * p.ahead_stride;
        rows -= step;
    }
}

}  // namespace intarsia
