#include "channelwise.h"

#include <algorithm>

#include "vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 256;  // pixels that one thread takes at a time

// Gives each vector of a plane to what `begin` makes for the plane.
template <typename Begin>
void share_pixels(const Planes& planes, const float* x, float* y, const Threads& threads, const Begin& begin) {
    const std::size_t runs = (planes.pixels + kRun - 1) / kRun;
    threads.share(planes.images * planes.blocks * runs, [&](std::size_t index) {
        const std::size_t plane = index / runs, first = index % runs * kRun;
        const std::size_t last = std::min(planes.pixels, first + kRun), start = plane * planes.pixels * kBlock;
        const auto each = begin(plane);
        for (std::size_t at = start + first * kBlock; at < start + last * kBlock; at += kBlock) {
            store(y + at, each(load(x + at)));
        }
    });
}

// The numbers of a plane's channels.
Vec own(const Planes& planes, const float* numbers, bool is_of_image, std::size_t plane) {
    return load(numbers + (is_of_image ? plane : plane % planes.blocks) * kBlock);
}

}  // namespace

void scale(const Planes& planes, const float* x, const float* factors, bool is_of_image, float* y,
           const Threads& threads) {
    share_pixels(planes, x, y, threads, [&](std::size_t plane) {
        return [factor = own(planes, factors, is_of_image, plane)](Vec value) { return value * factor; };
    });
}

void prelu(const Planes& planes, const float* x, const float* slopes, bool is_of_image, float* y,
           const Threads& threads) {
    share_pixels(planes, x, y, threads, [&](std::size_t plane) {
        return [slope = own(planes, slopes, is_of_image, plane)](Vec value) {
            return multiply_where_negative(value, slope);
        };
    });
}

void affine(const Planes& planes, const Affine& asked, const float* x, float* y, const Threads& threads) {
    const Vec least = broadcast(asked.low), most = broadcast(asked.high);
    share_pixels(planes, x, y, threads, [&](std::size_t plane) {
        Vec factor = own(planes, asked.factors, false, plane), shift = own(planes, asked.shifts, false, plane);
        if (asked.then) {
            const Vec next = own(planes, asked.then->factors, false, plane);
            factor = factor * next;
            shift = multiply_add(shift, next, own(planes, asked.then->shifts, false, plane));
        }
        return [=](Vec value) { return clamp(multiply_add(value, factor, shift), least, most); };
    });
}

}  // namespace intarsia
