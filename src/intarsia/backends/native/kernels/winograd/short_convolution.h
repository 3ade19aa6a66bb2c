// A convolution whose products are of numbers in 16 bits. Between the transform into the frequency domain and the
// products, each frequency of a tile is rounded with a scale of its own, and so is each frequency of an output channel's
// weights; into the domain and back all is computed in floats.
#pragma once

#include <algorithm>
#include <cstdint>

#include "convolution.h"
#include "kernels/memory.h"
#include "kernels/products/short_gemm.h"

namespace intarsia {

// A run of tiles in the frequency domain, in 16 bits: [frequency][block][slice][tile][B], and scales
// [slice][tile][frequency].
struct ShortSpectrum {
    std::int16_t* data;
    std::size_t frequency, block;  // numbers from one to the next
    float* scales;
    std::size_t scales_row;

    std::int16_t* at(std::size_t f, std::size_t b) const { return data + f * frequency + b * block; }
};

// Floats of one frequency of it, and of one tile's scales.
constexpr std::size_t short_stride(std::size_t blocks, std::size_t rows) {
    return (steps(blocks * rows, 2) | 1) * kBlock;
}
constexpr std::size_t scales_stride(std::size_t frequencies) { return steps(frequencies, kBlock) * kBlock; }

// Tiles go through the transform and are rounded so many at a time: as many as stay in a thread's nearest caches.
constexpr std::size_t kRounded = 16 * 1024;  // floats

template <std::size_t Out, std::size_t Taps>
struct ShortConvolution : Convolution<Out, Taps> {
    using Base = Convolution<Out, Taps>;
    using Base::kFrequencies;
    using typename Base::Place;

    const ShortWeights& rounded;

    // All input channels of tiles first .. first + count - 1, in all slices. These are some of the tiles of `v`, which
    // holds `rows` in each slice, these from `offset` on.
    [[gnu::noinline]] void transform_input(std::size_t first, std::size_t count, std::size_t offset, std::size_t rows,
                                           const ShortSpectrum& v) const {
        const std::size_t blocks = this->blocks_in();
        const std::size_t most = std::max<std::size_t>(2, kRounded / (blocks * kFrequencies * kBlock) / 2 * 2);
        float* const own = scratch<1>(blocks * kFrequencies * most * kBlock);
        for (std::size_t slice = 0; slice < this->slices(); ++slice) {
            const std::size_t from = slice - this->filter.before[0];  // in front of the image it wraps round
            const bool is_there = from < this->call.in[0];
            for (std::size_t done = 0; done < count; done += most) {
                const std::size_t tiles = std::min(most, count - done), row = slice * rows + offset + done;
                if (!is_there) {
                    for (std::size_t i = 0; i < tiles; ++i) clear(row + i, v);
                    continue;
                }
                const Place at = this->place(first + done);
                const std::size_t frequency = tiles * kBlock;
                for (std::size_t b = 0; b < blocks; ++b)
                    this->transform_slice(at, tiles, b, from, own + b * kFrequencies * frequency, frequency);
                round(own, tiles, most_in_row(this->blocks.in * kBlock), row, v);
            }
        }
    }

    // All output channels of one frequency.
    [[gnu::noinline]] void multiply_frequency(std::size_t frequency, std::size_t count, const ShortSpectrum& v,
                                              const Spectrum& m) const {
        const Blocks& all = this->blocks;
        const std::size_t channels = this->filter.taps[0] * all.in * kBlock;
        for (std::size_t g = 0; g < all.groups; ++g) {
            const std::size_t part = frequency * all.groups + g;
            for (std::size_t block = 0; block < all.out; block += kPanel) {
                ShortProduct product{};
                product.v = v.at(frequency, g * all.in);
                product.v_stride = v.block;
                product.v_tap = count * kBlock;
                product.v_scales = v.scales + frequency;
                product.v_scales_row = v.scales_row;
                product.v_scales_tap = count * v.scales_row;
                product.u = rounded.numbers + part * rounded.part + block * kBlock * channels;
                product.u_scales = rounded.scales + (part * all.out + block) * kBlock;
                product.taps = this->filter.taps[0];
                product.blocks = all.in;
                product.m = m.at(frequency, g * all.out + block);
                product.m_stride = m.block;
                multiply(product, count * this->depth(), std::min(kPanel, all.out - block));
            }
        }
    }

  private:
    // From place `row` of `v` on, so many tiles: [block][frequency][tile][B].
    void round(const float* own, std::size_t tiles, float most, std::size_t row, const ShortSpectrum& v) const {
        const ShortTiles read{own, this->blocks_in(), kFrequencies, tiles, most};
        round_tiles(read, v.at(0, 0) + row * kBlock, v.frequency, v.block, v.scales + row * v.scales_row, v.scales_row);
    }

    void clear(std::size_t row, const ShortSpectrum& v) const {
        for (std::size_t f = 0; f < kFrequencies; ++f) {
            v.scales[row * v.scales_row + f] = 0;
            for (std::size_t b = 0; b < this->blocks_in(); ++b)
                std::fill_n(v.at(f, b) + row * kBlock, kBlock, std::int16_t{0});
        }
    }
};

}  // namespace intarsia
