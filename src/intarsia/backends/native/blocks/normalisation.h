// Normalisations over values in blocks: [N][C/B][sizes][B].
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

// y = x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta, as ONNX's LRN.
struct LocalResponse {
    std::size_t size;
    float alpha, beta, bias;
};

// `images` of `blocks` blocks of channels, each of `pixels`.
void local_response(const LocalResponse& asked, const float* x, float* y, std::size_t images, std::size_t blocks,
                    std::size_t pixels, const Threads& threads);

// y = clamp((x - mean) / sqrt(variance + epsilon) * scale + bias, low, high), with mean and variance of each channel of
// each image, and scale and bias [C].
struct InstanceNormalisation {
    const float *scale, *bias;
    float epsilon, low, high;
};

void instance_normalisation(const InstanceNormalisation& asked, const float* x, float* y, std::size_t images,
                            std::size_t blocks, std::size_t pixels, const Threads& threads);

}  // namespace intarsia
