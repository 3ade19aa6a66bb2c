// The kernels, and the operators that they are registered as.
#pragma once

#include <limits>

#include "kernel.h"

namespace intarsia {

std::unique_ptr<Kernel> direct(const Filter& filter);
std::unique_ptr<Kernel> direct_in_blocks(const Filter& filter);
std::unique_ptr<Kernel> direct_transposed(const Filter& filter);
std::unique_ptr<Kernel> few_inputs(const Filter& filter);
std::unique_ptr<Kernel> few_outputs(const Filter& filter);
std::unique_ptr<Kernel> narrow_groups(const Filter& filter);
std::unique_ptr<Kernel> pointwise(const Filter& filter);
std::unique_ptr<Kernel> winograd_3x3(const Filter& filter);
std::unique_ptr<Kernel> winograd_5x5(const Filter& filter);
std::unique_ptr<Kernel> winograd_volume(const Filter& filter);
std::unique_ptr<Kernel> winograd_volume_5x5(const Filter& filter);

// What kinds of convolutions there are beside those of whole blocks.
enum class Form {
    kBlocks,
    kNarrow,      // a block holds several groups, as wide in the result as in the image
    kPlainImage,  // the image is not in blocks, and has any number of channels
    kTransposed,  // with weights [C, K, taps]
};

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

struct Registered {
    const char* name;
    std::size_t rank;  // of the image
    Extents taps;      // of the filters that it takes; 0 where any number will do
    std::unique_ptr<Kernel> (*make)(const Filter& filter);
    bool has_before = false;  // whether it takes `Call::before`, and no sum
    Form form = Form::kBlocks;
    std::int64_t largest_stride = 1, largest_dilation = 1;
};

constexpr Registered kKernels[] = {
    {"DirectPicture", 2, {1, 0, 0}, direct_in_blocks, false, Form::kBlocks, kAny, kAny},
    {"DirectSignal", 1, {1, 1, 0}, direct, false, Form::kBlocks, kAny, kAny},
    {"DirectVolume", 3, {0, 0, 0}, direct, false, Form::kBlocks, kAny, kAny},
    {"FewInputsSignal", 1, {1, 1, 0}, few_inputs, false, Form::kPlainImage, kAny, kAny},
    {"FewInputsVolume", 3, {0, 0, 0}, few_inputs, false, Form::kPlainImage, kAny, kAny},
    {"FewOutputs", 2, {1, 0, 0}, few_outputs},
    {"NarrowGroups", 2, {1, 3, 3}, narrow_groups, false, Form::kNarrow, 2},
    {"Pointwise", 2, {1, 1, 1}, pointwise},
    {"PointwiseAffine", 2, {1, 1, 1}, pointwise, true},
    {"TransposedPicture", 2, {1, 0, 0}, direct_transposed, false, Form::kTransposed, kAny, kAny},
    {"TransposedSignal", 1, {1, 1, 0}, direct_transposed, false, Form::kTransposed, kAny, kAny},
    {"TransposedVolume", 3, {0, 0, 0}, direct_transposed, false, Form::kTransposed, kAny, kAny},
    {"Winograd3x3", 2, {1, 3, 3}, winograd_3x3},
    {"Winograd5x5", 2, {1, 5, 5}, winograd_5x5},
    {"WinogradVolume", 3, {0, 3, 3}, winograd_volume},
    {"WinogradVolume5x5", 3, {0, 5, 5}, winograd_volume_5x5},
};

}  // namespace intarsia
