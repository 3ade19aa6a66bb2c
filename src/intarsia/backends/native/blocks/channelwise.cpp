#include "blocks/channelwise.h"

#include <algorithm>

#include "kernels/vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kRun = 256;  // pixels that one thread takes at a time

// Lets threads share work(plane, where a run of its pixels starts, how many there are).
template <typename Work>
void share_runs(const Planes& planes, const Threads& threads, const Work& work) {
    const std::size_t runs = steps(planes.pixels, kRun);
    threads.share(planes.images * planes.blocks * runs, [&](std::size_t index) {
        const std::size_t plane = index / runs, first = index % runs * kRun;
        work(plane, (plane * planes.pixels + first) * kBlock, std::min(planes.pixels - first, kRun));
    });
}

// Gives each vector of a plane to what `begin` makes for the plane.
template <typename Begin>
void share_pixels(const Planes& planes, const float* x, float* y, const Threads& threads, const Begin& begin) {
    share_runs(planes, threads, [&](std::size_t plane, std::size_t start, std::size_t pixels) {
        const auto each = begin(plane);
        for (std::size_t at = start; at < start + pixels * kBlock; at += kBlock) store(y + at, each(load(x + at)));
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

void affine_pixels(const Affine& asked, std::size_t block, const float* x, float* y, std::size_t pixels) {
    const Vec least = broadcast(asked.low), most = broadcast(asked.high);
    Vec factor = load(asked.factors + block * kBlock), shift = load(asked.shifts + block * kBlock);
    if (asked.then) {
        const Vec next = load(asked.then->factors + block * kBlock);
        factor = factor * next;
        shift = multiply_add(shift, next, load(asked.then->shifts + block * kBlock));
    }
    for (std::size_t at = 0; at < pixels * kBlock; at += kBlock) {
        store(y + at, clamp(multiply_add(load(x + at), factor, shift), least, most));
    }
}

void affine(const Planes& planes, const Affine& asked, const float* x, float* y, const Threads& threads) {
    share_runs(planes, threads, [&](std::size_t plane, std::size_t at, std::size_t pixels) {
        affine_pixels(asked, plane % planes.blocks, x + at, y + at, pixels);
    });
}

}  // namespace intarsia
