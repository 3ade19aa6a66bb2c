// Products of a few rows by a weight in 4, 6, 8, 10 or 12 bits. They take as long as reading the weight does.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace intarsia {

// Rows that share a scale, which is also how many the kernel takes at a time.
constexpr std::size_t kRun = 32;

// A matrix [rows][columns] of whole numbers times scales. For each block of B columns there are its runs of rows, filled
// up with zeros, each with its codes and then with a scale for each column: a float, or of 8 bits and less the upper half of
// one. Codes lie
// in 8 bits as [16][B][2]: the rows 2 i and 2 i + 1 of a column beside each other;
// in 4 bits as [4][B][2] words of 16 bits, which hold what is in 8 bits at i, i + 4, i + 8 and i + 12, plus 8, lowest first;
// in 12 bits, of which none is beyond 2047, as the upper 8, and behind them the lower 4 as those in 4 bits, without the 8;
// in 10 bits likewise, with the lower 2 in [2][B][2] words that hold those at i, i + 2, .. and i + 14;
// in 6 bits the upper 4 as those in 4 bits, and behind them the lower 2 as those in 10 bits.
struct PackedWeight {
    std::size_t bits, rows, columns;
    const std::uint8_t* content;
};

// Bytes of a packed weight; 0 where there are no such bits.
std::size_t packed_bytes(const PackedWeight& weight);

// What follows the sums: a number for each column and one for each result, which may be null, and GELU by tanh.
struct ProductEnding {
    const float *bias, *sum;  // [columns], [m][columns]
    bool is_gelu;
};

// y[m][columns] = x[m][rows] * weight, and its ending. x is rounded to 16 bits, in runs with a scale of their own.
void packed_product(const PackedWeight& weight, const float* x, const ProductEnding& ending, float* y, std::size_t m,
                    const Threads& threads);

}  // namespace intarsia
