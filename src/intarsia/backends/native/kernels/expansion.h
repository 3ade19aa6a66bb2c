// A 1x1 convolution and the depthwise one of 3x3 behind it, as mobile networks expand a picture: rows of what lies between
// stay in a core's own cache.
#pragma once

#include "kernel.h"

namespace intarsia {

// What a sum goes through at last; a swish is x / (1 + e^-x), and comes after the rest.
struct Ending {
    Finish finish;
    bool is_swish;
};

struct Expansion {
    std::size_t channels_in, channels;
    const float *weights, *bias;      // of 1x1: [C/B][C in/B][B in][B], [C]
    const float *filters, *shifts;    // of 3x3: [C/B][3 * 3][B], [C]
    Extents strides, before, after;   // of the second
    Ending between, last;
};

Extents extents_out(const Expansion& expansion, const Extents& in);

// x is [images][C in/B][H][W][B], with a depth of 1.
void expand(const Expansion& expansion, const float* x, float* y, std::size_t images, const Extents& in,
            const Threads& threads);

}  // namespace intarsia
