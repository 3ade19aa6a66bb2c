// The operators `BlockedScale` and `BlockedPRelu`, for values [N, C, sizes] with whole blocks of channels.
#pragma once

#include "blocked.h"
#include "kernels/channelwise.h"

namespace intarsia {

class ChannelwiseNode;

// Inputs: x, and a number for each channel, or for each channel of each image.
struct ChannelwiseOperator : SameShapeOperator<ChannelwiseOperator, ChannelwiseNode> {
    static constexpr std::size_t kInputs = 2, kRequiredInputs = 2;
    using Compute = decltype(&scale);

    ChannelwiseOperator(const ort::Functions& functions, const char* name, Compute compute)
        : SameShapeOperator(functions, name), compute(compute) {}

    const Compute compute;
};

class ChannelwiseNode {
  public:
    ChannelwiseNode(const ChannelwiseOperator& op, const OrtKernelInfo*) : op_(op) {}

    void compute(OrtKernelContext* context) const;

    const ChannelwiseOperator& op() const { return op_; }

  private:
    const ChannelwiseOperator& op_;
};

}  // namespace intarsia
