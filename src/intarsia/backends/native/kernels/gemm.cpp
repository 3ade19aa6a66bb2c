#include "gemm.h"

#include <array>
#include <utility>

namespace intarsia {

namespace {

// The sums stay in registers only where every loop over them is unrolled.
template <std::size_t Rows, std::size_t Vecs>
void multiply_rows(const Product& p) {
    Vec sum[Rows][Vecs];
#pragma GCC unroll 14
    for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = broadcast(0);
    const float *u = p.u, *ahead = p.ahead;
    for (std::size_t tap = 0; tap < p.taps; ++tap) {
        const float* v = p.v + tap * p.v_tap;
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

}  // namespace

// In steps as equal as can be: a last step of one or two rows would starve the multipliers. Each step calls in its share
// of the panel behind this one; evenly, since a core waits for no more than a dozen lines at once.
void multiply(Product p, std::size_t rows, std::size_t vecs) {
    static constexpr std::array kernels = {kernels_of<1>(std::make_index_sequence<kRows>()),
                                           kernels_of<2>(std::make_index_sequence<kRows>())};
    const std::size_t steps = (rows + kRows - 1) / kRows, channels = p.taps * p.blocks * kBlock;
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
