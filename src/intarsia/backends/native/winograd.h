// 3x3 convolutions of stride 1 and padding 1 by Winograd's minimal filtering, over a host engine's blocked layout and
// on its threads. Which convolutions come here is the host's to decide.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace intarsia {

using Task = void (*)(void* context, std::size_t index);
// Runs task(context, 0 .. count - 1) on the host engine's threads, and returns when all are done.
using ParallelFor = void (*)(void* pool, Task task, std::size_t count, void* context);

// Channels in a block of the layout: 16 with AVX-512F, else 8. Called B below.
int block();

using Memory = std::unique_ptr<float[], void (*)(void*)>;

class Winograd {
  public:
    // Bias [K] or null, which is copied.
    Winograd(int channels_in, int channels_out, const float* bias);

    // y = clamp(conv(x) + bias + sum, low, high) for x [N][C/B][H][W][B] and y, sum [N][K/B][H][W][B]. `sum` may be
    // null, or be y itself. Weights [K/B][C/B][3][3][B in][B out] are the same in each call; they are the host's, and
    // read when a shape first asks for them in another form. Any number of threads may call this at once.
    void run(int batch, int height, int width, const float* weights, const float* x, const float* sum, float* y,
             float low, float high, ParallelFor parallel_for, void* pool) const;

  private:
    // Transformed when a shape first asks for them: one that prefers the other tile may never come.
    struct Weights {
        std::once_flag once;
        Memory data{nullptr, nullptr};  // [frequency][panel][C][blocks of the panel][B], two blocks to a panel
    };

    template <std::size_t Out>
    const float* transformed(Weights& weights, const float* taps) const;

    std::size_t blocks_in_, blocks_out_;
    std::vector<float> bias_;
    mutable Weights tiles_of_2_, tiles_of_4_;
};

}  // namespace intarsia
