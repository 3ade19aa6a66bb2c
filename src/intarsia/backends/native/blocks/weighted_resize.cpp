#include "blocks/weighted_resize.h"

#include <algorithm>

#include "kernels/memory.h"

namespace intarsia {

bool fits(const Weighing& weighing, std::size_t size) {
    const auto count = static_cast<float>(size);
    return std::all_of(weighing.places, weighing.places + weighing.results * weighing.taps,
                       [count](float place) { return 0 <= place && place < count; });
}

void weighted_resize(const Weighing& rows, const Weighing& columns, const float* x, float* y, std::size_t planes,
                     std::size_t height, std::size_t width, const Threads& threads) {
    threads.share(planes * rows.results, [&](std::size_t index) {
        const std::size_t row = index % rows.results;
        const float* plane = x + index / rows.results * height * width;
        float* sums = scratch(width);
        std::fill_n(sums, width, 0.0f);
        for (std::size_t tap = row * rows.taps; tap < (row + 1) * rows.taps; ++tap) {
            const float* line = plane + static_cast<std::size_t>(rows.places[tap]) * width;
            const float weight = rows.weights[tap];
            for (std::size_t i = 0; i < width; ++i) sums[i] += weight * line[i];
        }
        float* to = y + index * columns.results;
        for (std::size_t i = 0; i < columns.results; ++i) {
            float sum = 0;
            for (std::size_t tap = i * columns.taps; tap < (i + 1) * columns.taps; ++tap)
                sum += columns.weights[tap] * sums[static_cast<std::size_t>(columns.places[tap])];
            to[i] = sum;
        }
    });
}

}  // namespace intarsia
