// The operators `BlockedScale`, `BlockedPRelu` and `BlockedAffine`, for values [N, C, sizes] with whole blocks of channels.
#pragma once

#include "blocked.h"
#include "blocks/channelwise.h"

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

class AffineNode;

// Inputs: x, factors and shifts for each channel, and optionally factors and shifts for what comes of that. Attributes:
// `low` and `high`, which hold the result.
struct AffineOperator : SameShapeOperator<AffineOperator, AffineNode> {
    static constexpr std::size_t kInputs = 5, kRequiredInputs = 3;

    explicit AffineOperator(const ort::Functions& functions) : SameShapeOperator(functions, "BlockedAffine") {}
};

class AffineNode {
  public:
    AffineNode(const AffineOperator& op, const OrtKernelInfo* info)
        : op_(op), low_(attribute(op.ort, info, "low")), high_(attribute(op.ort, info, "high")) {}

    void compute(OrtKernelContext* context) const;

    const AffineOperator& op() const { return op_; }

  private:
    const AffineOperator& op_;
    float low_, high_;
};

}  // namespace intarsia
