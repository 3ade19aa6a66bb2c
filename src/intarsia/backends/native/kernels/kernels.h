// The kernels, and the operators that they are registered as.
#pragma once

#include "kernel.h"

namespace intarsia {

std::unique_ptr<Kernel> few_outputs(const Filter& filter);
std::unique_ptr<Kernel> pointwise(const Filter& filter);
std::unique_ptr<Kernel> winograd_3x3(const Filter& filter);
std::unique_ptr<Kernel> winograd_5x5(const Filter& filter);
std::unique_ptr<Kernel> winograd_volume(const Filter& filter);

struct Registered {
    const char* name;
    std::size_t rank;  // of the image: 2 or 3
    Extents taps;      // of the filters that it takes; 0 where any number will do
    std::unique_ptr<Kernel> (*make)(const Filter& filter);
    bool has_before;  // whether it takes `Call::before`, and no sum
};

constexpr Registered kKernels[] = {
    {"FewOutputs", 2, {1, 0, 0}, few_outputs, false},
    {"Pointwise", 2, {1, 1, 1}, pointwise, false},
    {"PointwiseAffine", 2, {1, 1, 1}, pointwise, true},
    {"Winograd3x3", 2, {1, 3, 3}, winograd_3x3, false},
    {"Winograd5x5", 2, {1, 5, 5}, winograd_5x5, false},
    {"WinogradVolume", 3, {0, 3, 3}, winograd_volume, false},
};

}  // namespace intarsia
