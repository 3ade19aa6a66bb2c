// How floats become numbers of 16 bits with a scale: one for all channels of a row.
#pragma once

#include <limits>

#include "kernels/integers.h"

namespace intarsia {

constexpr float kMostShort = 32767;
constexpr float kMostSum = 0x1p31f * 0.999f;  // of products; factors are computed in floats
constexpr float kLeastShort = 1e-30f;         // numbers with nothing larger among them count as zero

// The larger of some sizes and those of floats, as bits: infinity is larger than all numbers, and a NaN than that.
inline Ints larger_size(Ints sizes, Vec v) { return largest(sizes, without_sign(bits_of(v))); }

// What one in a row's numbers stands for, and by what the row is multiplied to be rounded.
struct Scales {
    Vec scales, factors;
};

// Of rows with these sizes, each of which is to have `most` as its largest number. Where a size is infinite or none, every
// result is none.
inline Scales scales_of(Ints sizes, float most) {
    alignas(64) float size[kBlock], scales[kBlock], factors[kBlock];
    store(size, floats_of(sizes));
    for (std::size_t i = 0; i < kBlock; ++i) {
        const bool counts = size[i] > kLeastShort, is_finite = size[i] <= std::numeric_limits<float>::max();
        factors[i] = counts && is_finite ? most / size[i] : 0.0f;
        scales[i] = !is_finite ? std::numeric_limits<float>::quiet_NaN() : counts ? size[i] / most : 0.0f;
    }
    return {load(scales), load(factors)};
}

}  // namespace intarsia
