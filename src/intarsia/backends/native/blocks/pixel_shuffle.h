// Moves channels into the picture: a step of 2 makes four channels one of twice the height and width.
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

// Which of the `step` * `step` channels that become one lie together: those of one place, for all results, or all that
// become one.
enum class ChannelOrder { kPlaceFirst, kResultFirst };

// x is [N][C * step * step / B][D][H][W][B] with a depth of 1, and y [N][C / B][D][H * step][W * step][B]; `blocks` of C.
void depth_to_space(std::size_t step, ChannelOrder order, const float* x, float* y, std::size_t images,
                    std::size_t blocks, const Extents& in, const Threads& threads);

}  // namespace intarsia
