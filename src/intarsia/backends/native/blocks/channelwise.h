// What does with each channel of values in blocks something of its own: [N][C/B][sizes][B].
#pragma once

#include "kernels/kernel.h"

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

// y = clamp(x * factors + shifts, low, high), each [C]; with `then` the result is multiplied and shifted once more
// before it is held.
struct Affine {
    const float *factors, *shifts;
    const Affine* then;
    float low, high;
};

void affine(const Planes& planes, const Affine& asked, const float* x, float* y, const Threads& threads);

// The same for some pixels of one block of channels.
void affine_pixels(const Affine& asked, std::size_t block, const float* x, float* y, std::size_t pixels);

}  // namespace intarsia
