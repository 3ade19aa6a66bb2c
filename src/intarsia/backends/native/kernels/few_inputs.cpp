// Filters of any taps, strides and dilations over signals and volumes of few channels that are not in blocks: a number of
// the image at a time, times the weights of a panel of output channels.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "finish.h"
#include "kernels/products/gemm.h"
#include "kernels.h"
#include "memory.h"

namespace intarsia {

namespace {

// Tasks are so many at least, where there is enough to do for each.
constexpr std::size_t kTasks = 16;
// Results that are summed side by side in registers; a row is cut into these, the widest first.
#if defined(__AVX512F__)
using Strips = std::index_sequence<kRows, 4, 1>;
#else
using Strips = std::index_sequence<kRows, 2, 1>;
#endif

// What neighbouring results read of one row of the image, zeros beside its edges with it.
struct Line {
    const float* x;
    std::size_t number;  // among the lines of the filter
};

struct Strip {
    const std::vector<Line>* lines;
    std::size_t offset;                  // from the beginnings of the lines
    std::size_t taps, dilation, stride;  // in width
    const float* weights;                // [line][tap][blocks of the panel][B]
    const float *bias, *sum;             // [blocks of the panel][B], and null or as y
    float* y;                            // [result][B]
    std::size_t plane;                   // from a block of y to the next
    const Finish* finish;
};

// The sums stay in registers only where every loop over them is unrolled. A Stride of 0 is known when this runs.
template <std::size_t Results, std::size_t Vecs, std::size_t Stride>
void run_strip(const Strip& strip) {
    const std::size_t stride = Stride > 0 ? Stride : strip.stride;
    Vec sum[Results][Vecs];
#pragma GCC unroll 14
    for (std::size_t i = 0; i < Results; ++i)
#pragma GCC unroll 2
        for (std::size_t k = 0; k < Vecs; ++k) sum[i][k] = load(strip.bias + k * kBlock);
    for (const Line& line : *strip.lines) {
        const float *x = line.x + strip.offset, *weights = strip.weights + line.number * strip.taps * Vecs * kBlock;
        for (std::size_t tap = 0; tap < strip.taps; ++tap, x += strip.dilation, weights += Vecs * kBlock) {
            Vec weight[Vecs];
#pragma GCC unroll 2
            for (std::size_t k = 0; k < Vecs; ++k) weight[k] = load(weights + k * kBlock);
#pragma GCC unroll 14
            for (std::size_t i = 0; i < Results; ++i) {
                const Vec pixel = broadcast(x[i * stride]);
#pragma GCC unroll 2
                for (std::size_t k = 0; k < Vecs; ++k) sum[i][k] = multiply_add(pixel, weight[k], sum[i][k]);
            }
        }
    }
#pragma GCC unroll 14
    for (std::size_t i = 0; i < Results; ++i)
#pragma GCC unroll 2
        for (std::size_t k = 0; k < Vecs; ++k) {
            const std::size_t at = k * strip.plane + i * kBlock;
            const Vec value = strip.sum ? sum[i][k] + load(strip.sum + at) : sum[i][k];
            store(strip.y + at, finished(value, *strip.finish));
        }
}

template <std::size_t Vecs, std::size_t Stride, std::size_t... Results>
void run_row(Strip strip, std::size_t results, std::index_sequence<Results...>) {
    const auto run = [&](std::size_t size, auto one) {
        for (; results >= size; results -= size) {
            one(strip);
            strip.offset += size * strip.stride;
            strip.y += size * kBlock;
            if (strip.sum) strip.sum += size * kBlock;
        }
    };
    (run(Results, run_strip<Results, Vecs, Stride>), ...);
}

template <std::size_t Vecs>
void run_row(const Strip& strip, std::size_t results) {
    switch (strip.stride) {
        case 1:
            return run_row<Vecs, 1>(strip, results, Strips());
        case 2:
            return run_row<Vecs, 2>(strip, results, Strips());
        default:
            return run_row<Vecs, 0>(strip, results, Strips());
    }
}

class FewInputs : public Kernel {
  public:
    explicit FewInputs(const Filter& filter) : filter_(filter), bias_(bias_of(filter)) {
        filter_.bias = nullptr;
    }

    void run(const Call& call, const Threads& threads) const override {
        std::call_once(once_, [&] { read_weights(call.weights); });
        const std::size_t rows = call.batch * call.out[0] * call.out[1], width = call.out[2];
        const std::size_t chunk = steps(width, std::min(width, steps(kTasks, rows))), chunks = steps(width, chunk);
        threads.share(rows * chunks, [&](std::size_t index) {
            const std::size_t first = index % chunks * chunk;
            run_part(call, index / chunks, first, std::min(chunk, width - first));
        });
    }

  private:
    // Lines of the filter: [channel][tap in depth][tap in height].
    std::size_t lines() const { return filter_.channels_in * filter_.taps[0] * filter_.taps[1]; }

    // To [panel][line][tap in width][blocks of the panel][B], from [K][C][taps].
    void read_weights(const float* weights) const {
        const std::size_t outs = filter_.channels_out, wide = filter_.taps[2], panel = kPanel * kBlock;
        weights_ = allocate(outs * lines() * wide);
        float* to = weights_.get();
        for (std::size_t first = 0; first < outs; first += panel)
            for (std::size_t tap = 0; tap < lines() * wide; ++tap)
                for (std::size_t out = first; out < std::min(outs, first + panel); ++out)
                    *to++ = weights[out * lines() * wide + tap];
    }

    // Some neighbouring results of a row, in all output channels.
    void run_part(const Call& call, std::size_t row, std::size_t first, std::size_t count) const {
        const std::size_t rows = call.out[0] * call.out[1], blocks = filter_.channels_out / kBlock;
        const std::size_t image = row / rows, plane = rows * call.out[2] * kBlock;
        const std::vector<Line> read = lines_under(call, image, row % rows, first, count);
        Strip strip{};
        strip.lines = &read;
        strip.taps = filter_.taps[2];
        strip.dilation = filter_.dilations[2];
        strip.stride = filter_.strides[2];
        strip.plane = plane;
        strip.finish = &call.finish;
        for (std::size_t block = 0; block < blocks; block += kPanel) {
            const std::size_t to = (image * blocks + block) * plane + (row % rows * call.out[2] + first) * kBlock;
            strip.weights = weights_.get() + block * kBlock * lines() * filter_.taps[2];
            strip.bias = bias_.data() + block * kBlock;
            strip.sum = call.sum ? call.sum + to : nullptr;
            strip.y = call.y + to;
            blocks - block < kPanel ? run_row<1>(strip, count) : run_row<kPanel>(strip, count);
        }
    }

    // Copies of what these results read of each line, with zeros beside the image; lines outside of it are left out.
    std::vector<Line> lines_under(const Call& call, std::size_t image, std::size_t row, std::size_t first,
                                  std::size_t count) const {
        const Extents &in = call.in, &taps = filter_.taps;
        const std::size_t wide = (count - 1) * filter_.strides[2] + (taps[2] - 1) * filter_.dilations[2] + 1;
        // In front of an edge these wrap round, past the one behind.
        const std::size_t depth = row / call.out[1] * filter_.strides[0] - filter_.before[0];
        const std::size_t height = row % call.out[1] * filter_.strides[1] - filter_.before[1];
        const std::size_t left = first * filter_.strides[2] - filter_.before[2];
        std::vector<Line> found;
        float* to = scratch(lines() * wide);
        for (std::size_t number = 0; number < lines(); ++number) {
            const std::size_t channel = number / (taps[0] * taps[1]);
            const std::size_t d = depth + number / taps[1] % taps[0] * filter_.dilations[0];
            const std::size_t h = height + number % taps[1] * filter_.dilations[1];
            if (d >= in[0] || h >= in[1]) continue;
            const float* line = call.x + (((image * filter_.channels_in + channel) * in[0] + d) * in[1] + h) * in[2];
            found.push_back({to, number});
            for (std::size_t i = 0; i < wide; ++i, ++to) *to = left + i < in[2] ? line[left + i] : 0;
        }
        return found;
    }

    Filter filter_;
    std::vector<float> bias_;
    mutable std::once_flag once_;
    mutable Memory weights_{nullptr, std::free};
};

}  // namespace

std::unique_ptr<Kernel> few_inputs(const Filter& filter) { return std::make_unique<FewInputs>(filter); }

}  // namespace intarsia
