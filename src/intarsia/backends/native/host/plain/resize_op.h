// The operator `WeightedResize` over plain values [.., H, W]. Inputs: x, places and weights of rows, those of columns: each
// [results, taps].
#pragma once

#include "host/blocked.h"
#include "blocks/weighted_resize.h"

namespace intarsia {

class ResizeNode;

struct ResizeOperator : Operator<ResizeOperator, ResizeNode> {
    static constexpr std::size_t kInputs = 5, kRequiredInputs = 5;

    explicit ResizeOperator(const ort::Functions& functions) : Operator(functions, "WeightedResize") {}

    void infer(OrtShapeInferContext* context) const;
};

class ResizeNode {
  public:
    ResizeNode(const ResizeOperator& op, const OrtKernelInfo*) : op_(op) {}

    void compute(OrtKernelContext* context) const;

    const ResizeOperator& op() const { return op_; }

  private:
    Weighing weighing(const OrtKernelContext* context, std::size_t input) const;

    const ResizeOperator& op_;
};

}  // namespace intarsia
