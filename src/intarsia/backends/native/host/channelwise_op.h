// The operators `BlockedScale`, `BlockedPRelu` and `BlockedAffine`, for values [N, C, sizes] with whole blocks of channels,
// and `Elu`, for numbers in any order.
#pragma once

#include "blocked.h"
#include "blocks/channelwise.h"
#include "blocks/elu.h"

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

class EluNode;

// Attribute: `alpha`.
struct EluOperator : SameShapeOperator<EluOperator, EluNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;

    explicit EluOperator(const ort::Functions& functions) : SameShapeOperator(functions, "Elu") {}
};

class EluNode {
  public:
    EluNode(const EluOperator& op, const OrtKernelInfo* info) : op_(op), alpha_(attribute(op.ort, info, "alpha")) {}

    void compute(OrtKernelContext* context) const {
        const OrtValue* x = nullptr;
        check(op_.ort, op_.ort.input(context, 0, &x));
        const Dimensions shape = dimensions_of(op_.ort, x);
        float* y = blocked_output(op_.ort, context, shape);
        SessionPool pool{op_.ort, context};
        elu(alpha_, data_of(op_.ort, x), y, static_cast<std::size_t>(count_of(shape)), pool.threads());
    }

    const EluOperator& op() const { return op_; }

  private:
    const EluOperator& op_;
    float alpha_;
};

}  // namespace intarsia
