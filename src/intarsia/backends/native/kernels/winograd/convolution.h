// The three steps of a convolution over some of its tiles: into the frequency domain, the products there, and back.
// A tile covers two dimensions; the slices of a third, if there is one, are summed tap by tap in the product.
#pragma once

#include <algorithm>

#include "kernels/finish.h"
#include "kernels/products/gemm.h"
#include "kernels/kernel.h"
#include "transform.h"

namespace intarsia {

// A run of tiles in the frequency domain: [frequency][block][slice][tile][B].
struct Spectrum {
    float* data;
    std::size_t frequency, block;  // floats from one to the next

    float* at(std::size_t f, std::size_t b) const { return data + f * frequency + b * block; }
};

// Floats of one frequency. An odd number of cache lines: with a power of two, a tile's frequencies would all want the
// same few places of the cache.
constexpr std::size_t spectrum_stride(std::size_t blocks, std::size_t rows) { return (blocks * rows | 1) * kBlock; }

// How many channels there are, in blocks; of one group.
struct Blocks {
    std::size_t groups, in, out;
};

// A convolution in tiles of Out x Out, counted through the rows, columns and images of the output.
template <std::size_t Out, std::size_t Taps>
struct Convolution {
    static constexpr std::size_t kIn = Out + Taps - 1;  // a tile needs kIn x kIn of input
    static constexpr std::size_t kFrequencies = kIn * kIn;

    const Blocks& blocks;
    const Filter& filter;
    const Call& call;
    const float* bias;     // [K]
    const float* weights;  // [frequency][group][panel][tap in depth][C of the group][blocks of the panel][B]

    std::size_t depth() const { return call.out[0]; }
    std::size_t height() const { return call.out[1]; }
    std::size_t width() const { return call.out[2]; }
    std::size_t tiles() const { return call.batch * steps(height(), Out) * steps(width(), Out); }
    // Slices of input that the slices of the output need.
    std::size_t slices() const { return depth() + filter.taps[0] - 1; }
    std::size_t blocks_in() const { return blocks.groups * blocks.in; }
    std::size_t blocks_out() const { return blocks.groups * blocks.out; }

    // Where a tile starts in its output, and which image it is of.
    struct Place {
        std::size_t image, top, left;
    };

    Place place(std::size_t tile) const {
        const std::size_t rows = steps(height(), Out), columns = steps(width(), Out);
        return {tile / (rows * columns), tile / columns % rows * Out, tile % columns * Out};
    }

    // The place of the tile after this one; divisions for each tile would cost as much as its transform.
    Place after(Place at) const {
        if ((at.left += Out) < width()) return at;
        if ((at.top += Out) < height()) return {at.image, at.top, 0};
        return {at.image + 1, 0, 0};
    }

    // The input under a tile that reaches over the edge of its slice, zeros outside.
    void gather(const Place& at, const float* slice, float* patch) const {
        const std::size_t rows = call.in[1], columns = call.in[2];
        for (std::size_t i = 0; i < kIn; ++i)
            for (std::size_t j = 0; j < kIn; ++j, patch += kBlock) {
                // In front of the edge these wrap round, past the one behind.
                const std::size_t row = at.top + i - filter.before[1], column = at.left + j - filter.before[2];
                const bool inside = row < rows && column < columns;
                store(patch, inside ? load(slice + (row * columns + column) * kBlock) : broadcast(0));
            }
    }

    // One block of input channels of tiles first .. first + count - 1, in all slices.
    [[gnu::noinline]] void transform_input(std::size_t first, std::size_t count, std::size_t block,
                                           const Spectrum& v) const {
        for (std::size_t slice = 0; slice < slices(); ++slice) {
            const std::size_t from = slice - filter.before[0];  // in front of the image it wraps round, past the end
            float* to = v.at(0, block) + slice * count * kBlock;
            if (from < call.in[0])
                transform_slice(place(first), count, block, from, to, v.frequency);
            else
                for (std::size_t f = 0; f < kFrequencies; ++f)
                    std::fill_n(to + f * v.frequency, count * kBlock, 0.0f);
        }
    }

    // `count` tiles from one on, in one slice that there is.
    [[gnu::noinline]] void transform_slice(Place at, std::size_t count, std::size_t block, std::size_t slice, float* to,
                                           std::size_t frequency) const {
        alignas(64) float patch[kFrequencies * kBlock];
        const std::size_t rows = call.in[1], columns = call.in[2], plane = rows * columns * kBlock;
        for (std::size_t i = 0; i < count; ++i, at = after(at), to += kBlock) {
            const float* image = call.x + ((at.image * blocks_in() + block) * call.in[0] + slice) * plane;
            const std::size_t top = at.top - filter.before[1], left = at.left - filter.before[2];
            // A place in front of the edge wraps round, so that it is past every end.
            const bool inside = top < rows && left < columns && top + kIn <= rows && left + kIn <= columns;
            if (!inside) gather(at, image, patch);
            const float* from = inside ? image + (top * columns + left) * kBlock : patch;
            const std::size_t row = (inside ? columns : kIn) * kBlock;
            transform<kIn, kIn>(
                input_column, [=](std::size_t i, std::size_t j) { return load(from + i * row + j * kBlock); },
                [=](std::size_t i, std::size_t j, Vec e) { store(to + (i * kIn + j) * frequency, e); });
        }
    }

    // All output channels of one frequency.
    [[gnu::noinline]] void multiply_frequency(std::size_t frequency, std::size_t count, const Spectrum& v,
                                              const Spectrum& m) const {
        const std::size_t channels = filter.taps[0] * blocks.in * kBlock, group = channels * blocks.out * kBlock;
        const float* u = weights + frequency * blocks.groups * group;
        for (std::size_t g = 0; g < blocks.groups; ++g, u += group)
            for (std::size_t block = 0; block < blocks.out; block += kPanel) {
                const std::size_t vecs = std::min(kPanel, blocks.out - block);
                Product product{};
                product.v = v.at(frequency, g * blocks.in);
                product.v_stride = v.block;
                product.v_tap = count * kBlock;
                product.u = u + block * kBlock * channels;
                product.u_channel = vecs * kBlock;
                product.u_stride = kBlock;
                product.taps = filter.taps[0];
                product.blocks = blocks.in;
                product.m = m.at(frequency, g * blocks.out + block);
                product.m_stride = m.block;
                multiply(product, count * depth(), vecs);
            }
    }

    // One block of output channels.
    [[gnu::noinline]] void transform_output(std::size_t first, std::size_t count, std::size_t block,
                                            const Spectrum& m) const {
        const Vec offset = load(bias + block * kBlock);
        const std::size_t line = width() * kBlock, plane = height() * line;
        const float* from = m.at(0, block);
        for (std::size_t slice = 0; slice < depth(); ++slice) {
            Place at = place(first);
            for (std::size_t i = 0; i < count; ++i, at = after(at), from += kBlock) {
                const std::size_t rows = std::min(Out, height() - at.top), columns = std::min(Out, width() - at.left);
                const std::size_t corner = ((at.image * blocks_out() + block) * depth() + slice) * plane +
                                           at.top * line + at.left * kBlock;
                transform<kIn, Out>(
                    output_column, [=](std::size_t i, std::size_t j) { return load(from + (i * kIn + j) * m.frequency); },
                    [&](std::size_t i, std::size_t j, Vec e) {
                        if (i >= rows || j >= columns) return;
                        const std::size_t pixel = corner + i * line + j * kBlock;
                        e = e + offset;
                        if (call.sum) e = e + load(call.sum + pixel);
                        store(call.y + pixel, finished(e, call.finish));
                    });
            }
        }
    }
};

}  // namespace intarsia
