#include "short_division.h"

#include <algorithm>

#include "kernels/memory.h"

namespace intarsia {

namespace {

// Tasks of a group's first step, for threads to end at about the same time.
constexpr std::size_t kParts = 16;

}  // namespace

// Numbers in 16 bits take half the room of results, so that a frequency of m takes the place of frequencies of v before
// its own only if v lies far enough behind.
void run_in_chunks(const ShortSteps& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles, chunk = steps(tiles, chunks_of(tiles * conv.depth));
    threads.share(steps(tiles, chunk), [&](std::size_t index) {
        const std::size_t first = index * chunk, count = std::min(chunk, tiles - first);
        const std::size_t v_rows = count * conv.slices, m_rows = count * conv.depth;
        const std::size_t m_stride = spectrum_stride(conv.blocks_out, m_rows);
        const std::size_t v_stride = short_stride(conv.blocks_in, v_rows), row_scales = scales_stride(conv.frequencies);
        const std::size_t results = conv.frequencies * m_stride, numbers = conv.frequencies * v_stride;
        const std::size_t start = std::max(m_stride, results - std::min(results, numbers - v_stride));
        const std::size_t end = std::max(results, start + numbers);
        float* const memory = scratch(end + v_rows * row_scales);
        const Spectrum m{memory, m_stride, m_rows * kBlock};
        const ShortSpectrum v{reinterpret_cast<std::int16_t*>(memory + start), 2 * v_stride, v_rows * kBlock,
                              memory + end, row_scales};
        conv.transform_input(first, count, 0, count, v);
        for (std::size_t f = 0; f < conv.frequencies; ++f) conv.multiply(f, count, v, m);
        for (std::size_t b = 0; b < conv.blocks_out; ++b) conv.transform_output(first, count, b, m);
    });
}

void run_in_steps(const ShortSteps& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles, group = steps(tiles, steps(tiles * conv.depth, kGroup));
    for (std::size_t first = 0; first < tiles; first += group) {
        const std::size_t count = std::min(group, tiles - first);
        const std::size_t v_rows = count * conv.slices, m_rows = count * conv.depth;
        const std::size_t v_stride = short_stride(conv.blocks_in, v_rows), row_scales = scales_stride(conv.frequencies);
        const std::size_t m_stride = spectrum_stride(conv.blocks_out, m_rows);
        float* const results = scratch(conv.frequencies * (m_stride + v_stride) + v_rows * row_scales);
        float* const numbers = results + conv.frequencies * m_stride;
        const Spectrum m{results, m_stride, m_rows * kBlock};
        const ShortSpectrum v{reinterpret_cast<std::int16_t*>(numbers), 2 * v_stride, v_rows * kBlock,
                              numbers + conv.frequencies * v_stride, row_scales};
        const std::size_t part = steps(count, std::min(count, kParts));
        threads.share(steps(count, part), [&](std::size_t index) {
            const std::size_t at = index * part;
            conv.transform_input(first + at, std::min(part, count - at), at, count, v);
        });
        threads.share(conv.frequencies, [&](std::size_t f) { conv.multiply(f, count, v, m); });
        threads.share(conv.blocks_out, [&](std::size_t b) { conv.transform_output(first, count, b, m); });
    }
}

}  // namespace intarsia
