// The product of rows and a panel of weights, both rounded to numbers of 16 bits: two of them are multiplied in the time
// of one in floats. Each row has a scale, and each output channel; sums are of 32 bits, and never overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/finish.h"
#include "kernels/memory.h"

namespace intarsia {

struct ShortProduct {
    const std::int16_t* v;      // [blocks][row][kBlock], rows side by side
    std::size_t v_stride;       // from a block of input channels to the next
    std::size_t v_tap;          // from a tap in depth to the next
    const float* v_scales;      // of each tap and row: what one in a row's numbers stands for
    std::size_t v_scales_row;   // from a row to the next
    std::size_t v_scales_tap;   // from a tap to the next
    const std::int16_t* u;      // the panel: [tap][channels / 2][blocks of the panel][kBlock][2 channels]
    const float* u_scales;      // [blocks of the panel][kBlock]
    const std::int16_t* ahead;  // weights wanted soon, called into the nearest cache meanwhile
    std::size_t ahead_stride;   // from a pair of channels to the next
    std::size_t taps;           // in depth, summed
    std::size_t blocks;         // of input channels
    float* m;                   // [blocks of the panel][row][kBlock]
    std::size_t m_stride;       // from a block of output channels to the next
    const float* bias;          // [blocks of the panel][kBlock], where the product is the result of a convolution
    const float* sum;           // as m, or null
    const Finish* finish;       // of such a result
};

// All `rows` with a panel of `vecs` blocks, 1 to kPanel. `ahead` is chosen here. Without a bias, m is the product; with
// one it is finished(product + bias + sum).
void multiply(ShortProduct p, std::size_t rows, std::size_t vecs);

// Weights of several such products with the same rows.
struct ShortWeights {
    Memory memory{nullptr, nullptr};
    // Numbers of one product: [panel][tap][channels / 2][blocks of the panel][kBlock][2].
    std::size_t part = 0;
    const std::int16_t* numbers = nullptr;  // [product][part]
    const float* scales = nullptr;          // [product][blocks_out][kBlock]
};

// What is rounded to such weights: kBlock output channels of a tap and an input channel.
using LanesAt =
    std::function<const float*(std::size_t product, std::size_t block_out, std::size_t tap, std::size_t channel)>;

ShortWeights short_weights(std::size_t products, std::size_t blocks_out, std::size_t taps, std::size_t channels,
                           const LanesAt& at);

// The largest number in a row of so many channels. Sums of 32 bits are shared between both factors: with more bits for
// one, the other has less. Here the errors of both weigh the same, where weights and values are spread as a bell is.
float most_in_row(std::size_t channels);

// Rounds rows, floats [blocks][row][kBlock] with `stride` floats from a block to the next, to numbers in the same order,
// and writes each row's scale.
void round_rows(const float* x, std::size_t stride, std::size_t blocks, std::size_t rows, std::int16_t* numbers,
                std::size_t numbers_stride, float* scales);

// Tiles in the frequency domain: floats [block][frequency][tile][kBlock], and the largest number that a row is to have.
struct ShortTiles {
    const float* data;
    std::size_t blocks, frequencies, tiles;
    float most;
};

// Rounds each frequency of each tile: numbers [frequency][block][tile][kBlock] with so many from a frequency and a block
// to the next, and scales [tile][frequency], whole vectors of them.
void round_tiles(const ShortTiles& read, std::int16_t* numbers, std::size_t frequency, std::size_t block, float* scales,
                 std::size_t scales_row);

}  // namespace intarsia
