#include "blocks/blocks.h"

#include <algorithm>
#include <limits>

#include "kernels/vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 64 * kBlock;  // pixels that one thread takes at a time

// A square of channels and pixels, mirrored: `from` and `to` say how far apart its rows are. It is copied first, since
// rows that lie a power of two apart want the same place of the cache.
void mirror(const float* x, std::size_t from, std::size_t rows, float* y, std::size_t to, std::size_t columns) {
    alignas(64) float square[kBlock][kBlock];
    for (std::size_t i = 0; i < rows; ++i) std::copy_n(x + i * from, columns, square[i]);
    for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t i = 0; i < rows; ++i) y[j * to + i] = square[i][j];
}

template <typename Square>
void share_squares(std::size_t planes, std::size_t pixels, const Threads& threads, const Square& square) {
    const std::size_t runs = steps(pixels, kRun);
    threads.share(planes * runs, [&](std::size_t index) {
        const std::size_t plane = index / runs * pixels * kBlock, first = index % runs * kRun;
        const std::size_t last = std::min(pixels, first + kRun);
        for (std::size_t p = first; p < last; p += kBlock) square(plane, p, std::min(kBlock, last - p));
    });
}

}  // namespace

void to_blocks(const float* x, float* y, std::size_t planes, std::size_t pixels, const Threads& threads) {
    share_squares(planes, pixels, threads, [=](std::size_t plane, std::size_t first, std::size_t count) {
        mirror(x + plane + first, pixels, kBlock, y + plane + first * kBlock, kBlock, count);
    });
}

void from_blocks(const float* x, float* y, std::size_t planes, std::size_t pixels, const Threads& threads) {
    share_squares(planes, pixels, threads, [=](std::size_t plane, std::size_t first, std::size_t count) {
        mirror(x + plane + first * kBlock, kBlock, count, y + plane + first, pixels, kBlock);
    });
}

Extents extents_out(const Window& window, const Extents& in) {
    Extents out{};
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
        const std::size_t padded = window.before[axis] + in[axis] + window.after[axis];
        out[axis] = padded < window.size[axis] ? 0 : (padded - window.size[axis]) / window.strides[axis] + 1;
    }
    return out;
}

void max_pool(const Window& window, const float* x, float* y, std::size_t planes, const Extents& in,
              const Threads& threads) {
    const Extents out = extents_out(window, in);
    // Where a window starts and ends inside the image.
    const auto range = [&](std::size_t axis, std::size_t at) {
        const std::size_t start = at * window.strides[axis], end = start + window.size[axis];
        const std::size_t before = window.before[axis];
        return std::pair{start > before ? start - before : 0, end > before ? std::min(in[axis], end - before) : 0};
    };
    threads.share(planes * out[0], [&](std::size_t index) {
        const float* from = x + index / out[0] * in[0] * in[1] * in[2] * kBlock;
        float* to = y + index * out[1] * out[2] * kBlock;
        const auto [front, back] = range(0, index % out[0]);
        for (std::size_t i = 0; i < out[1]; ++i) {
            const auto [top, bottom] = range(1, i);
            for (std::size_t j = 0; j < out[2]; ++j, to += kBlock) {
                const auto [left, right] = range(2, j);
                Vec most = broadcast(-std::numeric_limits<float>::infinity());
                for (std::size_t d = front; d < back; ++d)
                    for (std::size_t h = top; h < bottom; ++h)
                        for (std::size_t w = left; w < right; ++w)
                            most = larger(load(from + ((d * in[1] + h) * in[2] + w) * kBlock), most);
                store(to, most);
            }
        }
    });
}

}  // namespace intarsia
