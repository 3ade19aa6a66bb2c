// The three steps of a convolution over some of its tiles: into the frequency domain, the products there, and back.
#pragma once

#include <algorithm>

#include "gemm.h"
#include "transform.h"

namespace intarsia {

// ceil(whole / step)
constexpr std::size_t steps(std::size_t whole, std::size_t step) { return (whole + step - 1) / step; }

// A run of tiles in the frequency domain: [frequency][block][tile][B].
struct Spectrum {
    float* data;
    std::size_t frequency, block;  // floats from one to the next

    float* at(std::size_t f, std::size_t b) const { return data + f * frequency + b * block; }
};

// Floats of one frequency. An odd number of cache lines: with a power of two, a tile's frequencies would all want the
// same few places of the cache.
constexpr std::size_t spectrum_stride(std::size_t blocks, std::size_t tiles) { return (blocks * tiles | 1) * kBlock; }

struct Shape {
    std::size_t blocks_in, blocks_out, batch, height, width;

    std::size_t plane() const { return height * width * kBlock; }
};

struct Operands {
    const float *weights, *bias, *x, *sum;
    float *y, low, high;
};

// A convolution in tiles of Out x Out, counted through the rows, columns and images of the output.
template <std::size_t Out>
struct Convolution : Shape, Operands {
    static constexpr std::size_t kIn = Out + kTap - 1;  // a tile needs kIn x kIn of input
    static constexpr std::size_t kFrequencies = kIn * kIn;

    std::size_t tiles() const { return batch * steps(height, Out) * steps(width, Out); }

    // Where a tile starts in its output, and which image it is of.
    struct Place {
        std::size_t image, top, left;
    };

    Place place(std::size_t tile) const {
        const std::size_t rows = steps(height, Out), columns = steps(width, Out);
        return {tile / (rows * columns), tile / columns % rows * Out, tile % columns * Out};
    }

    // The place of the tile after this one; divisions for each tile would cost as much as its transform.
    Place after(Place at) const {
        if ((at.left += Out) < width) return at;
        if ((at.top += Out) < height) return {at.image, at.top, 0};
        return {at.image + 1, 0, 0};
    }

    // The input under a tile that reaches over the image's edge, zeros outside.
    void gather(const Place& at, const float* image, float* patch) const {
        for (std::size_t i = 0; i < kIn; ++i)
            for (std::size_t j = 0; j < kIn; ++j, patch += kBlock) {
                const std::size_t row = at.top + i - 1, column = at.left + j - 1;  // -1 wraps round, past the edge
                const bool inside = row < height && column < width;
                store(patch, inside ? load(image + (row * width + column) * kBlock) : broadcast(0));
            }
    }

    // One block of input channels of tiles first .. first + count - 1.
    void transform_input(std::size_t first, std::size_t count, std::size_t block, const Spectrum& v) const {
        alignas(64) float patch[kFrequencies * kBlock];
        Place at = place(first);
        for (std::size_t i = 0; i < count; ++i, at = after(at)) {
            const float* image = x + (at.image * blocks_in + block) * plane();
            const bool inside =
                at.top > 0 && at.left > 0 && at.top + kIn - 1 <= height && at.left + kIn - 1 <= width;
            if (!inside) gather(at, image, patch);
            const float* from = inside ? image + ((at.top - 1) * width + at.left - 1) * kBlock : patch;
            const std::size_t row = (inside ? width : kIn) * kBlock;
            float* to = v.at(0, block) + i * kBlock;
            transform(
                Columns<Out>::input, [=](std::size_t i, std::size_t j) { return load(from + i * row + j * kBlock); },
                [=](std::size_t i, std::size_t j, Vec e) { store(to + (i * kIn + j) * v.frequency, e); });
        }
    }

    // All output channels of one frequency.
    void multiply_frequency(std::size_t frequency, std::size_t count, const Spectrum& v, const Spectrum& m) const {
        const std::size_t channels = blocks_in * kBlock;
        const float* u = weights + frequency * channels * blocks_out * kBlock;
        for (std::size_t block = 0; block < blocks_out; block += kPanel)
            multiply({v.at(frequency, 0), v.block, u + block * kBlock * channels, blocks_in, m.at(frequency, block),
                      m.block, nullptr, 0},
                     count, std::min(kPanel, blocks_out - block));
    }

    // One block of output channels.
    void transform_output(std::size_t first, std::size_t count, std::size_t block, const Spectrum& m) const {
        const Vec offset = load(bias + block * kBlock), least = broadcast(low), most = broadcast(high);
        Place at = place(first);
        for (std::size_t i = 0; i < count; ++i, at = after(at)) {
            const std::size_t rows = std::min(Out, height - at.top), columns = std::min(Out, width - at.left);
            const std::size_t corner =
                (at.image * blocks_out + block) * plane() + (at.top * width + at.left) * kBlock;
            const float* from = m.at(0, block) + i * kBlock;
            transform(
                Columns<Out>::output,
                [=](std::size_t i, std::size_t j) { return load(from + (i * kIn + j) * m.frequency); },
                [&](std::size_t i, std::size_t j, Vec e) {
                    if (i >= rows || j >= columns) return;
                    const std::size_t pixel = corner + (i * width + j) * kBlock;
                    e = e + offset;
                    if (sum) e = e + load(sum + pixel);
                    store(y + pixel, clamp(e, least, most));
                });
        }
    }
};

}  // namespace intarsia
