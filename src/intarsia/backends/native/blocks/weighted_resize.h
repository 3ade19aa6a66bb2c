// Resizes the last two dimensions of plain values: each result is a weighted sum of a few rows, and of a few columns.
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

// Along one dimension: for each of `results`, `taps` places and their weights.
struct Weighing {
    std::size_t results, taps;
    const float *places, *weights;  // [result][tap]; places are whole numbers
};

// Whether all places are in a dimension of this size.
bool fits(const Weighing& weighing, std::size_t size);

// x is [planes][height][width].
void weighted_resize(const Weighing& rows, const Weighing& columns, const float* x, float* y, std::size_t planes,
                     std::size_t height, std::size_t width, const Threads& threads);

}  // namespace intarsia
