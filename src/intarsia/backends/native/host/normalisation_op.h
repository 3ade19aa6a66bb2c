// The operators `BlockedLRN` and `BlockedInstanceNormalization`, for values [N, C, sizes] with whole blocks of channels.
#pragma once

#include "blocked.h"
#include "blocks/normalisation.h"

namespace intarsia {

class LocalResponseNode;

// Attributes: `size`, `alpha`, `beta` and `bias` as ONNX has them.
struct LocalResponseOperator : SameShapeOperator<LocalResponseOperator, LocalResponseNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;

    explicit LocalResponseOperator(const ort::Functions& functions) : SameShapeOperator(functions, "BlockedLRN") {}
};

class LocalResponseNode {
  public:
    LocalResponseNode(const LocalResponseOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const LocalResponseOperator& op() const { return op_; }

  private:
    const LocalResponseOperator& op_;
    LocalResponse asked_;
};

class InstanceNormalisationNode;

// Inputs: x, scale and bias, as ONNX has them. Attributes: `epsilon`, and `low` and `high`, which hold what comes out.
struct InstanceNormalisationOperator : SameShapeOperator<InstanceNormalisationOperator, InstanceNormalisationNode> {
    static constexpr std::size_t kInputs = 3, kRequiredInputs = 3;

    explicit InstanceNormalisationOperator(const ort::Functions& functions)
        : SameShapeOperator(functions, "BlockedInstanceNormalization") {}
};

class InstanceNormalisationNode {
  public:
    InstanceNormalisationNode(const InstanceNormalisationOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const InstanceNormalisationOperator& op() const { return op_; }

  private:
    const InstanceNormalisationOperator& op_;
    float epsilon_, low_, high_;
};

}  // namespace intarsia
