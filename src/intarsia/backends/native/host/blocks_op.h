// The operators `ToBlocks`, `FromBlocks` and `BlockedMaxPool`, for values [N, C, sizes] with whole blocks of channels.
#pragma once

#include "kernels/blocks.h"
#include "operator.h"

namespace intarsia {

class ReorderNode;

// Changes the order of the contents, and not the shape.
struct ReorderOperator : Operator<ReorderOperator, ReorderNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;
    using Reorder = decltype(&to_blocks);

    ReorderOperator(const ort::Functions& functions, const char* name, Reorder reorder)
        : Operator(functions, name), reorder(reorder) {}

    void infer(OrtShapeInferContext* context) const;

    const Reorder reorder;
};

class ReorderNode {
  public:
    ReorderNode(const ReorderOperator& op, const OrtKernelInfo*) : op_(op) {}

    void compute(OrtKernelContext* context) const;

    const ReorderOperator& op() const { return op_; }

  private:
    const ReorderOperator& op_;
};

class MaxPoolNode;

// Attributes: `kernel_shape`, `strides` and `pads` as ONNX has them.
struct MaxPoolOperator : Operator<MaxPoolOperator, MaxPoolNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;

    explicit MaxPoolOperator(const ort::Functions& functions) : Operator(functions, "BlockedMaxPool") {}

    void infer(OrtShapeInferContext* context) const;
};

class MaxPoolNode {
  public:
    MaxPoolNode(const MaxPoolOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const MaxPoolOperator& op() const { return op_; }

  private:
    const MaxPoolOperator& op_;
    Window window_;
    std::size_t rank_;
};

}  // namespace intarsia
