// A convolution whose products are of numbers in 16 bits. Between the transform into the frequency domain and the
// products, each frequency of a tile is rounded with a scale of its own, and so is each frequency of an output channel's
// weights; into the domain and back all is computed in floats.
#pragma once

#include <algorithm>
#include <cstdint>

#include "convolution.h"
#include "kernels/memory.h"
#include "kernels/products/short_gemm.h"
#include "kernels/products/short_rounding.h"

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
    void transform_input(std::size_t first, std::size_t count, std::size_t offset, std::size_t rows,
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
    void multiply_frequency(std::size_t frequency, std::size_t count, const ShortSpectrum& v, const Spectrum& m) const {
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
    // From place `row` of `v` on, so many tiles: [block][frequency][tile][B]. Scales come first, for frequencies that fill
    // a vector; two tiles at a time, since their numbers do.
    void round(const float* own, std::size_t tiles, float most, std::size_t row, const ShortSpectrum& v) const {
        std::size_t i = 0;
        for (; i + 2 <= tiles; i += 2) round_tiles<2>(own + i * kBlock, tiles, most, row + i, v);
        if (i < tiles) round_tiles<1>(own + i * kBlock, tiles, most, row + i, v);
    }

    template <std::size_t Tiles>
    void round_tiles(const float* own, std::size_t tiles, float most, std::size_t row, const ShortSpectrum& v) const {
        constexpr std::size_t whole = kFrequencies / kBlock * kBlock, rest = kFrequencies - whole;
        for (std::size_t f = 0; f < whole; f += kBlock) round_few<Tiles, kBlock>(own, tiles, most, row, f, v);
        if constexpr (rest > 0) round_few<Tiles, rest>(own, tiles, most, row, whole, v);
    }

    template <std::size_t Tiles, std::size_t Few>
    void round_few(const float* own, std::size_t tiles, float most, std::size_t row, std::size_t f,
                   const ShortSpectrum& v) const {
        const std::size_t blocks = this->blocks_in(), frequency = tiles * kBlock, block = kFrequencies * frequency;
        alignas(64) float factors[Tiles][kBlock];
        own += f * frequency;
        for (std::size_t t = 0; t < Tiles; ++t) {
            Ints sizes[kBlock];
#pragma GCC unroll 16
            for (std::size_t k = 0; k < kBlock; ++k) sizes[k] = every(0);
            const float* from = own + t * kBlock;
            for (std::size_t b = 0; b < blocks; ++b, from += block)
#pragma GCC unroll 16
                for (std::size_t k = 0; k < Few; ++k) sizes[k] = larger_size(sizes[k], load(from + k * frequency));
            const Scales found = scales_of(largest_of_each(sizes), most);
            store(v.scales + (row + t) * v.scales_row + f, found.scales);
            store(factors[t], found.factors);
        }
#pragma GCC unroll 16
        for (std::size_t k = 0; k < Few; ++k) {
            const Vec one = broadcast(factors[0][k]), two = broadcast(factors[Tiles - 1][k]);
            const float* from = own + k * frequency;
            std::int16_t* to = v.at(f + k, 0) + row * kBlock;
            for (std::size_t b = 0; b < blocks; ++b, from += block, to += v.block) {
                if constexpr (Tiles == 2)
                    store_short(to, load(from) * one, load(from + kBlock) * two);
                else
                    store_narrow(to, nearest(load(from) * one));
            }
        }
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
