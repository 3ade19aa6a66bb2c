// What does with each channel of values in blocks something of its own: [N][C/B][sizes][B].
#pragma once

#include "kernel.h"

namespace intarsia {

// `images` of `blocks` blocks of channels, each of `pixels`.
struct Planes {
    std::size_t images, blocks, pixels;
};

// y = x * factors; with `is_of_image`, each image has factors of its own: [N][C], otherwise [C].
void scale(const Planes& planes, const float* x, const float* factors, bool is_of_image, float* y,
           const Threads& threads);

// y = x where x is not negative, else x * slopes [C].
void prelu(const Planes& planes, const float* x, const float* slopes, bool is_of_image, float* y,
           const Threads& threads);

}  // namespace intarsia
