// Filters of any size, with stride 1 and any padding, for so few output channels that most of a block would be empty:
// a vector holds the input channels of a pixel, and its lanes are added up at the end.
#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "finish.h"
#include "kernels.h"
#include "memory.h"

namespace intarsia {

namespace {

#if defined(__AVX512F__)
constexpr std::size_t kSums = 24;  // of 32 registers; the others hold pixels and weights
#else
constexpr std::size_t kSums = 12;  // of 16
#endif
constexpr std::size_t kMost = 4;  // output channels that are summed at a time

// Eight sums are as many as the multipliers have under way at a time.
constexpr std::size_t pixels_for(std::size_t outputs) { return std::min<std::size_t>(8, kSums / outputs); }

// What neighbouring pixels of a row of the output read of one row of the input.
struct Line {
    const float* x;        // [pixels + taps - 1][B]
    const float* weights;  // [tap][output][B]
    std::size_t taps;
};

// Adds to sums [pixel][output][B]. They stay in registers only where every loop over them is unrolled.
template <std::size_t Outputs, std::size_t Pixels>
void add_lines(const Line* lines, std::size_t count, float* sums) {
    Vec sum[Pixels][Outputs];
#pragma GCC unroll 24
    for (std::size_t p = 0; p < Pixels; ++p)
#pragma GCC unroll 4
        for (std::size_t k = 0; k < Outputs; ++k) sum[p][k] = load(sums + (p * Outputs + k) * kBlock);
    for (const Line* line = lines; line < lines + count; ++line) {
        const float *x = line->x, *weights = line->weights;
        for (std::size_t tap = 0; tap < line->taps; ++tap, x += kBlock, weights += Outputs * kBlock) {
            Vec weight[Outputs];
#pragma GCC unroll 4
            for (std::size_t k = 0; k < Outputs; ++k) weight[k] = load(weights + k * kBlock);
#pragma GCC unroll 24
            for (std::size_t p = 0; p < Pixels; ++p) {
                const Vec pixel = load(x + p * kBlock);
#pragma GCC unroll 4
                for (std::size_t k = 0; k < Outputs; ++k) sum[p][k] = multiply_add(pixel, weight[k], sum[p][k]);
            }
        }
    }
#pragma GCC unroll 24
    for (std::size_t p = 0; p < Pixels; ++p)
#pragma GCC unroll 4
        for (std::size_t k = 0; k < Outputs; ++k) store(sums + (p * Outputs + k) * kBlock, sum[p][k]);
}

using Add = void (*)(const Line* lines, std::size_t count, float* sums);

template <std::size_t Outputs, std::size_t... Pixels>
constexpr std::array<Add, kSums> adds_of(std::index_sequence<Pixels...>) {
    return {add_lines<Outputs, Pixels + 1>...};
}

// By outputs, then by pixels.
constexpr std::array<Add, kSums> kAdds[] = {adds_of<1>(std::make_index_sequence<pixels_for(1)>()),
                                            adds_of<2>(std::make_index_sequence<pixels_for(2)>()),
                                            adds_of<3>(std::make_index_sequence<pixels_for(3)>()),
                                            adds_of<4>(std::make_index_sequence<pixels_for(4)>())};

class FewOutputs : public Kernel {
  public:
    explicit FewOutputs(const Filter& filter) : filter_(filter), bias_(bias_of(filter)) {
        filter_.bias = nullptr;
    }

    void run(const Call& call, const Threads& threads) const override {
        std::call_once(once_, [&] { read_weights(call.weights); });
        threads.share(call.batch * call.out[1], [&](std::size_t row) {
            for (std::size_t block = 0; block < filter_.channels_out / kBlock; ++block)
                run_row(call, row / call.out[1], row % call.out[1], block);
        });
    }

  private:
    // Some output channels, and their weights: [block of input channels][tap][output][B in].
    struct Group {
        std::size_t outputs;
        Memory weights;
    };

    std::size_t blocks_in() const { return filter_.channels_in / kBlock; }

    // Output channels without weights, which fill the last block up, are not computed.
    void read_weights(const float* weights) const {
        const std::size_t taps = filter_.taps[1] * filter_.taps[2], block_size = taps * kBlock * kBlock;
        groups_.resize(filter_.channels_out / kBlock);
        for (std::size_t block = 0; block < groups_.size(); ++block) {
            const float* own = weights + block * blocks_in() * block_size;
            std::size_t used = kBlock;
            const auto is_empty = [&](std::size_t output) {
                for (std::size_t i = output; i < blocks_in() * block_size; i += kBlock)
                    if (own[i] != 0) return false;
                return true;
            };
            while (used > 0 && is_empty(used - 1)) --used;
            for (std::size_t first = 0; first < used; first += kMost) {
                const std::size_t outputs = std::min(kMost, used - first);
                Group group{outputs, allocate(blocks_in() * taps * outputs * kBlock)};
                float* to = group.weights.get();
                for (std::size_t place = 0; place < blocks_in() * taps; ++place)
                    for (std::size_t k = first; k < first + outputs; ++k)
                        for (std::size_t c = 0; c < kBlock; ++c) *to++ = own[(place * kBlock + c) * kBlock + k];
                groups_[block].push_back(std::move(group));
            }
        }
    }

    // One block of output channels of one row.
    void run_row(const Call& call, std::size_t image, std::size_t row, std::size_t block) const {
        const std::size_t width = call.out[2], blocks_out = filter_.channels_out / kBlock;
        const std::size_t reach = width + filter_.taps[2] - 1, sums_size = width * kMost * kBlock;
        float* results = scratch(width * kBlock + sums_size + filter_.taps[1] * reach * kBlock);
        float *sums = results + width * kBlock, *copies = sums + sums_size;
        std::fill_n(results, width * kBlock, 0.0f);
        std::size_t first = 0;
        for (const Group& group : groups_[block]) {
            std::fill_n(sums, width * group.outputs * kBlock, 0.0f);
            for (std::size_t b = 0; b < blocks_in(); ++b) add_block(call, image, row, b, group, sums, copies);
            for (std::size_t p = 0; p < width; ++p)
                for (std::size_t k = 0; k < group.outputs; ++k)
                    results[p * kBlock + first + k] = total(load(sums + (p * group.outputs + k) * kBlock));
            first += kMost;
        }
        const std::size_t start = ((image * blocks_out + block) * call.out[1] + row) * width;
        const Vec offset = load(&bias_[block * kBlock]);
        for (std::size_t p = 0; p < width; ++p) {
            const std::size_t pixel = (start + p) * kBlock;
            Vec e = load(results + p * kBlock) + offset;
            if (call.sum) e = e + load(call.sum + pixel);
            store(call.y + pixel, finished(e, call.finish));
        }
    }

    // The part of a row that comes from one block of input channels: its weights stay in the nearest cache for all
    // pixels. At the edges the row reads copies, with zeros outside.
    void add_block(const Call& call, std::size_t image, std::size_t row, std::size_t block, const Group& group,
                   float* sums, float* copies) const {
        const std::size_t rows = call.in[1], columns = call.in[2], wide = filter_.taps[2], width = call.out[2];
        const bool inside = filter_.before[2] == 0 && filter_.after[2] == 0;
        thread_local std::vector<Line> lines;
        lines.clear();
        for (std::size_t i = 0; i < filter_.taps[1]; ++i) {
            const std::size_t from = row + i - filter_.before[1];  // in front of the edge it wraps round
            if (from >= rows) continue;
            const float* line = call.x + ((image * blocks_in() + block) * rows + from) * columns * kBlock;
            const float* weights =
                group.weights.get() + (block * filter_.taps[1] + i) * wide * group.outputs * kBlock;
            lines.push_back({inside ? line : copies, weights, wide});
            if (inside) continue;
            copies = std::fill_n(copies, filter_.before[2] * kBlock, 0.0f);
            copies = std::copy_n(line, columns * kBlock, copies);
            copies = std::fill_n(copies, filter_.after[2] * kBlock, 0.0f);
        }
        const std::size_t most = pixels_for(group.outputs), steps = (width + most - 1) / most;
        for (std::size_t i = 0, column = 0; i < steps; ++i) {
            const std::size_t pixels = (width - column + steps - i - 1) / (steps - i);
            kAdds[group.outputs - 1][pixels - 1](lines.data(), lines.size(), sums + column * group.outputs * kBlock);
            for (Line& line : lines) line.x += pixels * kBlock;
            column += pixels;
        }
    }

    Filter filter_;
    std::vector<float> bias_;
    mutable std::once_flag once_;
    mutable std::vector<std::vector<Group>> groups_;  // of each block of output channels
};

}  // namespace

std::unique_ptr<Kernel> few_outputs(const Filter& filter) { return std::make_unique<FewOutputs>(filter); }

}  // namespace intarsia
