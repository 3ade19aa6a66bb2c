// What a blocked layout needs beside convolutions, where the host has no such layout itself: the way in and out, and
// pooling. A shape is [N][C][sizes], or in blocks [N][C/B][sizes][B].
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

// `planes` of N * C / B blocks, each of `pixels`.
void to_blocks(const float* x, float* y, std::size_t planes, std::size_t pixels, const Threads& threads);
void from_blocks(const float* x, float* y, std::size_t planes, std::size_t pixels, const Threads& threads);

// A window that takes the largest value.
struct Window {
    Extents size, strides, before, after;
};

Extents extents_out(const Window& window, const Extents& in);

// Of N * C / B blocks. What lies outside the image does not count.
void max_pool(const Window& window, const float* x, float* y, std::size_t planes, const Extents& in,
              const Threads& threads);

}  // namespace intarsia
