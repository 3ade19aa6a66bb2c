// The product of rows and a panel of weights: some rows at a time, summed in registers over all channels.
#pragma once

#include "kernels/finish.h"

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
    std::size_t v_tap;         // from a tap in depth to the next
    const float* u;            // the panel: all its weights lie together, for each tap and channel [kBlock] of a block
    std::size_t u_channel;     // from a channel to the next, and so from a tap to the next
    std::size_t u_stride;      // from a block of output channels to the next
    std::size_t taps;          // in depth, summed
    std::size_t blocks;        // of input channels
    float* m;                  // [blocks of the panel][row][kBlock]
    std::size_t m_stride;      // from a block of output channels to the next
    const float* ahead;        // weights wanted soon, called into the nearest cache meanwhile
    std::size_t ahead_stride;  // from a channel to the next
    const float* bias;         // [blocks of the panel][kBlock], where the product is the result of a convolution
    const float* sum;          // as m, or null
    const Finish* finish;      // of such a result
};

// All `rows` with a panel of `vecs` blocks, 1 to kPanel. `ahead` is chosen here. Without a bias, m is the product; with
// one it is finished(product + bias + sum).
void multiply(Product p, std::size_t rows, std::size_t vecs);

}  // namespace intarsia
