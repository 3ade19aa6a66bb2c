#include "channelwise.h"

#include <algorithm>

#include "vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 256;  // pixels that one thread takes at a time

template <typename Each>
void share_pixels(const Planes& planes, const float* x, const float* numbers, bool is_of_image, float* y,
                  const Threads& threads, const Each& each) {
    const std::size_t runs = (planes.pixels + kRun - 1) / kRun;
    threads.share(planes.images * planes.blocks * runs, [&](std::size_t index) {
        const std::size_t plane = index / runs, first = index % runs * kRun;
        const std::size_t last = std::min(planes.pixels, first + kRun);
        const Vec own = load(numbers + (is_of_image ? plane : plane % planes.blocks) * kBlock);
        const std::size_t start = plane * planes.pixels * kBlock;
        for (std::size_t at = start + first * kBlock; at < start + last * kBlock; at += kBlock) {
            store(y + at, each(load(x + at), own));
        }
    });
}

}  // namespace

void scale(const Planes& planes, const float* x, const float* factors, bool is_of_image, float* y,
           const Threads& threads) {
    share_pixels(planes, x, factors, is_of_image, y, threads, [](Vec value, Vec factor) { return value * factor; });
}

void prelu(const Planes& planes, const float* x, const float* slopes, bool is_of_image, float* y,
           const Threads& threads) {
    share_pixels(planes, x, slopes, is_of_image, y, threads, [](Vec value, Vec slope) {
        return multiply_where_negative(value, slope);
    });
}

}  // namespace intarsia
