// How a convolution's tiles are divided: each chunk through all steps by one thread, or groups through one step after the
// other by all.
#pragma once

#include <algorithm>

#include "convolution.h"
#include "kernels/memory.h"

namespace intarsia {

// Rows that one thread takes through all three steps: a few runs of the product's registers, so that the chunk stays near
// the thread while the weights go past; of half as many, the weights would go past twice as often.
constexpr std::size_t kChunk = steps(24, kRows) * kRows;
// Rows that all threads take through a step together: as many as bound the memory, and stay in the shared cache.
constexpr std::size_t kGroup = 8 * kChunk;

// An even number of equal chunks, for two threads or more.
inline std::size_t chunks_of(std::size_t rows) { return steps(steps(rows, kChunk), 2) * 2; }

// Each chunk by itself: every thread reads all weights for each of its chunks, and waits for no other. A frequency of m
// takes the place of the frequency of v before its own, which is done with: half the memory to keep in the cache.
template <typename Convolution>
void run_in_chunks(const Convolution& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles(), chunk = steps(tiles, chunks_of(tiles * conv.depth()));
    threads.share(steps(tiles, chunk), [&](std::size_t index) {
        const std::size_t first = index * chunk, count = std::min(chunk, tiles - first);
        const std::size_t v_rows = count * conv.slices(), m_rows = count * conv.depth();
        const std::size_t stride = std::max(spectrum_stride(conv.blocks_in(), v_rows),
                                            spectrum_stride(conv.blocks_out(), m_rows));
        const Spectrum m{scratch((conv.kFrequencies + 1) * stride), stride, m_rows * kBlock};
        const Spectrum v{m.data + stride, stride, v_rows * kBlock};
        for (std::size_t b = 0; b < conv.blocks_in(); ++b) conv.transform_input(first, count, b, v);
        for (std::size_t f = 0; f < conv.kFrequencies; ++f) conv.multiply_frequency(f, count, v, m);
        for (std::size_t b = 0; b < conv.blocks_out(); ++b) conv.transform_output(first, count, b, m);
    });
}

// A group of tiles through one step after the other: its weights are read once, v and m pass through the shared cache.
template <typename Convolution>
void run_in_steps(const Convolution& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles(), group = steps(tiles, steps(tiles * conv.depth(), kGroup));
    for (std::size_t first = 0; first < tiles; first += group) {
        const std::size_t count = std::min(group, tiles - first);
        const std::size_t v_rows = count * conv.slices(), m_rows = count * conv.depth();
        const std::size_t v_stride = spectrum_stride(conv.blocks_in(), v_rows);
        const std::size_t m_stride = spectrum_stride(conv.blocks_out(), m_rows);
        const Spectrum v{scratch(conv.kFrequencies * (v_stride + m_stride)), v_stride, v_rows * kBlock};
        const Spectrum m{v.data + conv.kFrequencies * v_stride, m_stride, m_rows * kBlock};
        threads.share(conv.blocks_in(), [&](std::size_t b) { conv.transform_input(first, count, b, v); });
        threads.share(conv.kFrequencies, [&](std::size_t f) { conv.multiply_frequency(f, count, v, m); });
        threads.share(conv.blocks_out(), [&](std::size_t b) { conv.transform_output(first, count, b, m); });
    }
}

}  // namespace intarsia
