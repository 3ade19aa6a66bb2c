// Filters of 3x3 with stride 1 or 2 whose groups are narrower than a block: a block of results reads one block of the
// input, and each lane reads the lanes of its own group there.
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

constexpr std::size_t kTaps = 3;
// Results that are summed side by side in registers; a row is cut into these, the widest first.
#if defined(__AVX512F__)
using Strips = std::index_sequence<7, 1>;  // twice as many would not be faster by what they add to the library
#else
using Strips = std::index_sequence<8, 1>;
#endif
// Tasks are so many at least, where there are rows enough.
constexpr std::size_t kTasks = 32;

// Neighbouring results of a row.
struct Strip {
    std::array<const float*, kTaps> rows;  // of the input; null outside of it
    std::size_t first, columns;            // the input's column under the first result (in front it wraps round), of so many
    const float* weights;                  // [tap in height][lane of a group][tap in width][B]
    const float *bias, *sum;               // [B], and null or as y
    float* y;
    const Finish* finish;
};

// The sums stay in registers only where everything about them is known when this is compiled.
template <std::size_t Width, std::size_t Stride, std::size_t Results>
class Sums {
  public:
    static void run(const Strip& strip) {
        Sums sums;
        for (Vec& each : sums.sum_) each = load(strip.bias);
        for (std::size_t tap = 0; tap < kTaps; ++tap)
            if (strip.rows[tap] != nullptr)
                sums.add_row(strip, strip.rows[tap], strip.weights + tap * Width * kTaps * kBlock,
                             std::make_index_sequence<(Results - 1) * Stride + kTaps>());
        for (std::size_t i = 0; i < Results; ++i) {
            const Vec sum = strip.sum ? sums.sum_[i] + load(strip.sum + i * kBlock) : sums.sum_[i];
            store(strip.y + i * kBlock, finished(sum, *strip.finish));
        }
    }

  private:
    template <std::size_t... Columns>
    void add_row(const Strip& strip, const float* row, const float* weights, std::index_sequence<Columns...>) {
        (add_column<Columns>(strip, row, weights), ...);
    }

    template <std::size_t Column>
    void add_column(const Strip& strip, const float* row, const float* weights) {
        const std::size_t at = strip.first + Column;
        if (at < strip.columns) add_lanes<Column>(load(row + at * kBlock), weights, std::make_index_sequence<Width>());
    }

    template <std::size_t Column, std::size_t... Lanes>
    void add_lanes(Vec pixel, const float* weights, std::index_sequence<Lanes...>) {
        (add_lane<Column>(spread<Width, Lanes>(pixel), weights + Lanes * kTaps * kBlock,
                          std::make_index_sequence<kTaps>()),
         ...);
    }

    template <std::size_t Column, std::size_t... Taps>
    void add_lane(Vec lane, const float* weights, std::index_sequence<Taps...>) {
        (add_tap<Column, Taps>(lane, weights + Taps * kBlock), ...);
    }

    template <std::size_t Column, std::size_t Tap>
    void add_tap(Vec lane, const float* weight) {
        if constexpr (Column >= Tap && (Column - Tap) % Stride == 0 && (Column - Tap) / Stride < Results) {
            Vec& sum = sum_[(Column - Tap) / Stride];
            sum = multiply_add(lane, load(weight), sum);
        }
    }

    Vec sum_[Results];
};

template <std::size_t Width, std::size_t Stride, std::size_t... Results>
void run_row(Strip strip, std::size_t results, std::index_sequence<Results...>) {
    const auto run = [&](auto size, auto sums) {
        for (; results >= size; results -= size) {
            sums(strip);
            strip.first += size * Stride;
            strip.y += size * kBlock;
            if (strip.sum) strip.sum += size * kBlock;
        }
    };
    (run(std::integral_constant<std::size_t, Results>(), Sums<Width, Stride, Results>::run), ...);
}

using Row = void (*)(const Strip& strip, std::size_t results);

template <std::size_t Width, std::size_t Stride>
void row(const Strip& strip, std::size_t results) {
    run_row<Width, Stride>(strip, results, Strips());
}

template <std::size_t Width>
Row row_of(std::size_t stride) {
    return stride == 1 ? row<Width, 1> : row<Width, 2>;
}

Row row_of(std::size_t width, std::size_t stride) {
    switch (width) {
        case 2:
            return row_of<2>(stride);
        case 4:
            return row_of<4>(stride);
        default:
            return row_of<8>(stride);
    }
}

class NarrowGroups : public Kernel {
  public:
    explicit NarrowGroups(const Filter& filter)
        : filter_(filter), bias_(bias_of(filter)), row_(row_of(width(), filter.strides[2])) {
        filter_.bias = nullptr;
    }

    void run(const Call& call, const Threads& threads) const override {
        std::call_once(once_, [&] { read_weights(call.weights); });
        const std::size_t blocks = filter_.channels_out / kBlock, planes = call.batch * blocks, rows = call.out[1];
        const std::size_t chunk = steps(rows, steps(kTasks, planes)), chunks = steps(rows, chunk);
        threads.share(planes * chunks, [&](std::size_t index) {
            const std::size_t plane = index / chunks, first = index % chunks * chunk;
            for (std::size_t row = first; row < std::min(rows, first + chunk); ++row)
                run_row(call, plane, plane % blocks, row);
        });
    }

  private:
    std::size_t width() const { return filter_.channels_in / filter_.groups; }

    // To [block][tap in height][lane of a group][tap in width][B], from [channel out][lane of a group][taps].
    void read_weights(const float* weights) const {
        weights_ = allocate(filter_.channels_out * width() * kTaps * kTaps);
        float* to = weights_.get();
        for (std::size_t block = 0; block < filter_.channels_out; block += kBlock)
            for (std::size_t tap = 0; tap < kTaps; ++tap)
                for (std::size_t lane = 0; lane < width(); ++lane)
                    for (std::size_t i = 0; i < kTaps; ++i)
                        for (std::size_t channel = block; channel < block + kBlock; ++channel)
                            *to++ = weights[((channel * width() + lane) * kTaps + tap) * kTaps + i];
    }

    void run_row(const Call& call, std::size_t plane, std::size_t block, std::size_t row) const {
        const std::size_t rows = call.in[1], columns = call.in[2];
        const std::size_t to = (plane * call.out[1] + row) * call.out[2] * kBlock;
        Strip strip{};
        for (std::size_t tap = 0; tap < kTaps; ++tap) {
            // In front of the edge it wraps round, past the one behind.
            const std::size_t from = row * filter_.strides[1] + tap - filter_.before[1];
            strip.rows[tap] = from < rows ? call.x + (plane * rows + from) * columns * kBlock : nullptr;
        }
        strip.first = std::size_t{0} - filter_.before[2];
        strip.columns = columns;
        strip.weights = weights_.get() + block * kBlock * width() * kTaps * kTaps;
        strip.bias = bias_.data() + block * kBlock;
        strip.sum = call.sum ? call.sum + to : nullptr;
        strip.y = call.y + to;
        strip.finish = &call.finish;
        row_(strip, call.out[2]);
    }

    Filter filter_;
    std::vector<float> bias_;
    Row row_;
    mutable std::once_flag once_;
    mutable Memory weights_{nullptr, std::free};
};

}  // namespace

std::unique_ptr<Kernel> narrow_groups(const Filter& filter) { return std::make_unique<NarrowGroups>(filter); }

}  // namespace intarsia
