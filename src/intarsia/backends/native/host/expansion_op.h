// The operator `Expansion`: a 1x1 convolution and the depthwise one of 3x3 behind it, for pictures in blocks.
//
// Inputs: X [N, C, H, W], weights [E, C, 1, 1] and bias [E] of the first, weights [E, 1, 3, 3] and bias [E] of the second,
// in blocks. Attributes: `strides` and `pads` of the second; `low`, `high`, `swish` of what lies between, and `last_low`,
// `last_high`, `last_swish` of the result.
#pragma once

#include "blocked.h"
#include "kernels/expansion.h"

namespace intarsia {

class ExpansionNode;

struct ExpansionOperator : Operator<ExpansionOperator, ExpansionNode> {
    static constexpr std::size_t kInputs = 5, kRequiredInputs = 5;

    explicit ExpansionOperator(const ort::Functions& functions) : Operator(functions, "Expansion") {}

    void infer(OrtShapeInferContext* context) const;
};

class ExpansionNode {
  public:
    ExpansionNode(const ExpansionOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const ExpansionOperator& op() const { return op_; }

  private:
    const ExpansionOperator& op_;
    Expansion expansion_;
};

}  // namespace intarsia
