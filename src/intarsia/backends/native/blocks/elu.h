// The exponential linear unit: x where it is not negative, else alpha * (e^x - 1), in whatever order numbers lie.
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

void elu(float alpha, const float* x, float* y, std::size_t count, const Threads& threads);

}  // namespace intarsia
