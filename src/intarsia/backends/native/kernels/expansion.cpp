#include "expansion.h"

#include <algorithm>
#include <array>

#include "exponential.h"
#include "finish.h"
#include "kernels/products/gemm.h"
#include "memory.h"

namespace intarsia {

namespace {

constexpr std::size_t kTaps = 3;
// Tasks are so many at least, where there are rows enough: each computes the rows around its own anew.
constexpr std::size_t kTasks = 8, kLeastRows = 7;
constexpr std::size_t kSums = 4;  // results that are summed side by side

Vec ended(Vec v, const Ending& ending) {
    v = finished(v, ending.finish);
    return ending.is_swish ? swish(v) : v;
}

// The rows of a panel of channels in one image, as a task goes down them.
class Band {
  public:
    Band(const Expansion& expansion, const float* x, float* y, const Extents& in, const Extents& out, std::size_t panel)
        : e_(expansion), x_(x), y_(y), in_(in), out_(out), block_(panel * kPanel),
          vecs_(std::min(kPanel, e_.channels / kBlock - block_)),
          line_((e_.before[2] + in[2] + e_.after[2]) * kBlock),
          rows_(scratch(kTaps * vecs_ * line_)) {
        std::fill_n(rows_, kTaps * vecs_ * line_, 0.0f);
        computed_.fill(kNone);
    }

    void run(std::size_t first, std::size_t last) {
        for (std::size_t row = first; row < last; ++row) {
            // In front of the edge it wraps round, past the one behind.
            const std::size_t top = row * e_.strides[1] - e_.before[1];
            for (std::size_t tap = 0; tap < kTaps; ++tap) compute(top + tap);
            for (std::size_t vec = 0; vec < vecs_; ++vec) filter(row, top, vec);
        }
    }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0} >> 1;

    float* row_at(std::size_t row, std::size_t vec) { return rows_ + ((row + kTaps) % kTaps * vecs_ + vec) * line_; }

    void compute(std::size_t row) {
        std::size_t& there = computed_[(row + kTaps) % kTaps];
        if (there == row) return;
        there = row;
        if (row >= in_[1]) {
            std::fill_n(row_at(row, 0), vecs_ * line_, 0.0f);
            return;
        }
        const Finish& finish = e_.between.finish;
        Product product{};
        product.v = x_ + row * in_[2] * kBlock;
        product.v_stride = in_[1] * in_[2] * kBlock;
        product.u = e_.weights + block_ * kBlock * e_.channels_in;
        product.u_channel = kBlock;
        product.u_stride = e_.channels_in * kBlock;
        product.taps = 1;
        product.blocks = e_.channels_in / kBlock;
        product.m = row_at(row, 0) + e_.before[2] * kBlock;
        product.m_stride = line_;
        product.bias = e_.bias + block_ * kBlock;
        product.finish = &finish;
        multiply(product, in_[2], vecs_);
        if (!e_.between.is_swish) return;
        for (std::size_t vec = 0; vec < vecs_; ++vec) {
            float* pixel = row_at(row, vec) + e_.before[2] * kBlock;
            for (std::size_t i = 0; i < in_[2]; ++i, pixel += kBlock) store(pixel, swish(load(pixel)));
        }
    }

    void filter(std::size_t row, std::size_t top, std::size_t vec) {
        const std::size_t block = block_ + vec, step = e_.strides[2] * kBlock;
        const float* weights = e_.filters + block * kTaps * kTaps * kBlock;
        const Vec shift = load(e_.shifts + block * kBlock);
        const float* lines[kTaps];
        for (std::size_t tap = 0; tap < kTaps; ++tap) lines[tap] = row_at(top + tap, vec);
        float* to = y_ + (block * out_[1] + row) * out_[2] * kBlock;
        std::size_t column = 0;
        for (; column + kSums <= out_[2]; column += kSums) sum<kSums>(lines, weights, shift, column, step, to);
        for (; column < out_[2]; ++column) sum<1>(lines, weights, shift, column, step, to);
    }

    template <std::size_t Results>
    void sum(const float* const* lines, const float* weights, Vec shift, std::size_t column, std::size_t step,
             float* to) const {
        Vec sums[Results];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Results; ++i) sums[i] = shift;
#pragma GCC unroll 3
        for (std::size_t down = 0; down < kTaps; ++down)
#pragma GCC unroll 3
            for (std::size_t across = 0; across < kTaps; ++across) {
                const Vec weight = load(weights + (down * kTaps + across) * kBlock);
                const float* pixel = lines[down] + column * step + across * kBlock;
#pragma GCC unroll 4
                for (std::size_t i = 0; i < Results; ++i)
                    sums[i] = multiply_add(load(pixel + i * step), weight, sums[i]);
            }
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Results; ++i) store(to + (column + i) * kBlock, ended(sums[i], e_.last));
    }

    const Expansion& e_;
    const float* x_;
    float* y_;
    const Extents &in_, &out_;
    std::size_t block_, vecs_, line_;
    float* rows_;  // [row in turn][block of the panel][column with its edges][B]
    std::array<std::size_t, kTaps> computed_;
};

}  // namespace

Extents extents_out(const Expansion& expansion, const Extents& in) {
    Extents out{1, 0, 0};
    for (std::size_t axis = 1; axis < out.size(); ++axis) {
        const std::size_t padded = expansion.before[axis] + in[axis] + expansion.after[axis];
        out[axis] = padded < kTaps ? 0 : (padded - kTaps) / expansion.strides[axis] + 1;
    }
    return out;
}

void expand(const Expansion& expansion, const float* x, float* y, std::size_t images, const Extents& in,
            const Threads& threads) {
    const Extents out = extents_out(expansion, in);
    const std::size_t panels = steps(expansion.channels / kBlock, kPanel), rows = out[1];
    const std::size_t wanted = steps(kTasks, images * panels), most = std::max<std::size_t>(1, rows / kLeastRows);
    const std::size_t band = steps(rows, std::min(wanted, most)), bands = steps(rows, band);
    threads.share(images * panels * bands, [&](std::size_t index) {
        const std::size_t image = index / bands / panels, first = index % bands * band;
        Band work(expansion, x + image * expansion.channels_in * in[1] * in[2],
                  y + image * expansion.channels * out[1] * out[2], in, out, index / bands % panels);
        work.run(first, std::min(rows, first + band));
    });
}

}  // namespace intarsia
