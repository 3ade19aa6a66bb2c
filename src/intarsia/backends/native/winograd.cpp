#include "winograd.h"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "convolution.h"

namespace intarsia {

namespace {

// In huge pages where the system has them: the frequencies lie far apart, and with a small page each there would be
// more of them than the cache of the page table holds.
Memory allocate(std::size_t floats) {
    constexpr std::size_t page = std::size_t{2} << 20;
    const std::size_t bytes = steps(floats * sizeof(float), page) * page;
    void* memory = std::aligned_alloc(page, bytes);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return Memory(static_cast<float*>(memory), std::free);
}

// This thread's working memory, the same from call to call: to touch a page for the first time costs more than the
// arithmetic done on it.
float* scratch(std::size_t floats) {
    thread_local Memory memory{nullptr, std::free};
    thread_local std::size_t size = 0;
    if (floats > size) {
        size = 0;
        memory = allocate(floats);
        size = floats;
    }
    return memory.get();
}

// The host engine's threads.
struct Threads {
    ParallelFor parallel_for;
    void* pool;

    // Lets them share work(0 .. count - 1).
    template <typename Work>
    void share(std::size_t count, const Work& work) const {
        const auto task = [](void* context, std::size_t i) { (*static_cast<const Work*>(context))(i); };
        parallel_for(pool, task, count, const_cast<Work*>(&work));
    }
};

// Tiles in a chunk that one thread takes through all three steps: two runs of the product's registers, so that the
// chunk stays in the thread's own cache while the weights go past.
constexpr std::size_t kChunk = 2 * kRows;
// Tiles that all threads take through a step together: as many as bound the memory, and stay in the shared cache.
constexpr std::size_t kGroup = 8 * kChunk;

// An even number of equal chunks, for two threads or more.
std::size_t chunks_of(std::size_t tiles) { return steps(steps(tiles, kChunk), 2) * 2; }

// Each chunk by itself: every thread reads all weights for each of its chunks, and waits for no other. A frequency of m
// takes the place of the frequency of v before its own, which is done with: half the memory to keep in the cache.
template <std::size_t Out>
void run_in_chunks(const Convolution<Out>& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles(), chunk = steps(tiles, chunks_of(tiles));
    threads.share(steps(tiles, chunk), [&](std::size_t index) {
        const std::size_t first = index * chunk, count = std::min(chunk, tiles - first);
        const std::size_t stride = spectrum_stride(std::max(conv.blocks_in, conv.blocks_out), count);
        const Spectrum m{scratch((conv.kFrequencies + 1) * stride), stride, count * kBlock};
        const Spectrum v{m.data + stride, stride, count * kBlock};
        for (std::size_t b = 0; b < conv.blocks_in; ++b) conv.transform_input(first, count, b, v);
        for (std::size_t f = 0; f < conv.kFrequencies; ++f) conv.multiply_frequency(f, count, v, m);
        for (std::size_t b = 0; b < conv.blocks_out; ++b) conv.transform_output(first, count, b, m);
    });
}

// A group of tiles through one step after the other: its weights are read once, v and m pass through the shared cache.
template <std::size_t Out>
void run_in_steps(const Convolution<Out>& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles(), group = steps(tiles, steps(tiles, kGroup));
    for (std::size_t first = 0; first < tiles; first += group) {
        const std::size_t count = std::min(group, tiles - first);
        const std::size_t v_stride = spectrum_stride(conv.blocks_in, count);
        const std::size_t m_stride = spectrum_stride(conv.blocks_out, count);
        const Spectrum v{scratch(conv.kFrequencies * (v_stride + m_stride)), v_stride, count * kBlock};
        const Spectrum m{v.data + conv.kFrequencies * v_stride, m_stride, count * kBlock};
        threads.share(conv.blocks_in, [&](std::size_t b) { conv.transform_input(first, count, b, v); });
        threads.share(conv.kFrequencies, [&](std::size_t f) { conv.multiply_frequency(f, count, v, m); });
        threads.share(conv.blocks_out, [&](std::size_t b) { conv.transform_output(first, count, b, m); });
    }
}

// The way that moves less between a thread's own cache and the shared one: the weights once more for each chunk but
// the first, or v and m out and in again. (Counted per frequency in blocks. The passage of v and m weighs 5: from 3.5
// to 4.5 the two are measured even, and chunks want less of a cache that others use too.)
template <std::size_t Out>
void run_best(const Convolution<Out>& conv, const Threads& threads) {
    const std::size_t tiles = conv.tiles(), both = conv.blocks_in + conv.blocks_out;
    const std::size_t weights = (chunks_of(tiles) - 1) * conv.blocks_in * conv.blocks_out * kBlock;
    const bool apart = tiles > kChunk && weights < 5 * tiles * both;
    apart ? run_in_chunks(conv, threads) : run_in_steps(conv, threads);
}

// What a tile size takes of time, but for a factor: each frequency multiplies every weight with every tile, and a
// weight comes from memory in the time of 25 such products (24 GB/s, 300 GFLOP/s: measured on two Cascade Lake cores).
template <std::size_t Out>
std::size_t cost(const Convolution<Out>& conv) {
    return conv.kFrequencies * (conv.tiles() + 25);
}

// Weights [K/B][C/B][3][3][B in][B out] in the frequency domain: [frequency][panel][C][blocks of the panel][B].
template <std::size_t Out>
Memory transform_weights(const float* taps, std::size_t blocks_in, std::size_t blocks_out) {
    constexpr std::size_t in = Convolution<Out>::kIn, plane = kTap * kTap * kBlock * kBlock;
    const std::size_t channels = blocks_in * kBlock, frequency = channels * blocks_out * kBlock;
    Memory weights = allocate(in * in * frequency);
    for (std::size_t block = 0; block < blocks_out; ++block) {
        const std::size_t panel = block / kPanel * kPanel, vecs = std::min(kPanel, blocks_out - panel);
        for (std::size_t c = 0; c < channels; ++c) {
            const float* from = taps + (block * blocks_in + c / kBlock) * plane + c % kBlock * kBlock;
            float* to = weights.get() + (panel * channels + c * vecs + block - panel) * kBlock;
            transform(
                Columns<Out>::weight,
                [=](std::size_t i, std::size_t j) { return load(from + (i * kTap + j) * kBlock * kBlock); },
                [=](std::size_t i, std::size_t j, Vec e) { store(to + (i * in + j) * frequency, e); });
        }
    }
    return weights;
}

}  // namespace

int block() { return static_cast<int>(kBlock); }

Winograd::Winograd(int channels_in, int channels_out, const float* bias)
    : blocks_in_(channels_in / kBlock), blocks_out_(channels_out / kBlock), bias_(channels_out) {
    if (bias) bias_.assign(bias, bias + channels_out);
}

template <std::size_t Out>
const float* Winograd::transformed(Weights& weights, const float* taps) const {
    std::call_once(weights.once, [&] { weights.data = transform_weights<Out>(taps, blocks_in_, blocks_out_); });
    return weights.data.get();
}

void Winograd::run(int batch, int height, int width, const float* weights, const float* x, const float* sum, float* y,
                   float low, float high, ParallelFor parallel_for, void* pool) const {
    const Threads threads{parallel_for, pool};
    const Shape shape{blocks_in_, blocks_out_, std::size_t(batch), std::size_t(height), std::size_t(width)};
    const Operands operands{nullptr, bias_.data(), x, sum, y, low, high};
    Convolution<2> by_2{shape, operands};
    Convolution<4> by_4{shape, operands};
    if (cost(by_2) < cost(by_4)) {
        by_2.weights = transformed<2>(tiles_of_2_, weights);
        run_best(by_2, threads);
    } else {
        by_4.weights = transformed<4>(tiles_of_4_, weights);
        run_best(by_4, threads);
    }
}

}  // namespace intarsia
