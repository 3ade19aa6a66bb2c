// What every kernel over the host engine's blocked layout is: made once for a node of the host's graph, and called with
// the shapes of the moment, on the host's threads. Which nodes come here is the host's to decide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace intarsia {

using Task = void (*)(void* context, std::size_t index);
// Runs task(context, 0 .. count - 1) on the host engine's threads, and returns when all are done.
using ParallelFor = void (*)(void* pool, Task task, std::size_t count, void* context);

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

// ceil(whole / step)
constexpr std::size_t steps(std::size_t whole, std::size_t step) { return (whole + step - 1) / step; }

// Depth, height and width; a depth of 1 where there are two dimensions.
using Extents = std::array<std::size_t, 3>;

// A convolution: what is known before there is an image.
struct Filter {
    std::size_t groups, channels_in, channels_out;  // channels of all groups together
    const float* bias;                              // [K] or null; copied
    Extents taps, before, after;                    // rows of zeros in front of the image and behind it
    std::size_t tile;                               // of results, where a kernel has several; 0: it chooses itself
    Extents strides{1, 1, 1}, dilations{1, 1, 1};
    std::size_t bits = 32;  // of the numbers that are multiplied, where a kernel has several: 32, as floats, or 16
    // Each pixel is spread over taps of the result, instead of summed from them; then `before` and `after` are rows that
    // are left out of the result, and `extra` are rows behind it that no pixel need reach.
    bool is_transposed = false;
    Extents extra{0, 0, 0};
};

// What a sum goes through at last: below zero it is multiplied by a slope, and then held between two numbers.
struct Finish {
    float low, high, slope = 1;
};

struct Affine;

// One call, with blocks of B channels. y = finished(conv(x) + bias + sum) for x [N][C/B][D][H][W][B], and y and sum
// [N][K/B][D'][H'][W'][B]. `sum` may be null, or be y itself. `weights` are the same in each call; they are the host's,
// and read when a shape first asks for them in another form.
struct Call {
    std::size_t batch;
    Extents in, out;
    const float *weights, *x, *sum;
    float* y;
    Finish finish;
    const Affine* before = nullptr;  // what x goes through first; only of kernels that say that they do that
};

class Kernel {
  public:
    virtual ~Kernel() = default;
    // Any number of threads may call this at once.
    virtual void run(const Call& call, const Threads& threads) const = 0;
};

// A copy, with zeros where there is none.
inline std::vector<float> bias_of(const Filter& filter) {
    if (filter.bias == nullptr) return std::vector<float>(filter.channels_out);
    return {filter.bias, filter.bias + filter.channels_out};
}

// Extents of the result, none where the filter does not fit.
inline Extents extents_out(const Filter& filter, const Extents& in) {
    Extents out{};
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
        const std::size_t span = (filter.taps[axis] - 1) * filter.dilations[axis] + 1, stride = filter.strides[axis];
        const std::size_t edges = filter.before[axis] + filter.after[axis];
        if (filter.is_transposed) {
            const std::size_t whole = in[axis] > 0 ? (in[axis] - 1) * stride + span + filter.extra[axis] : 0;
            out[axis] = whole < edges ? 0 : whole - edges;
        } else {
            out[axis] = in[axis] + edges < span ? 0 : (in[axis] + edges - span) / stride + 1;
        }
    }
    return out;
}

}  // namespace intarsia
