// The operators `ToBlocks`, `FromBlocks`, `BlockedMaxPool`, `BlockedPad` and `BlockedDepthToSpace`.
#pragma once

#include "blocked.h"
#include "blocks/blocks.h"
#include "blocks/padding.h"
#include "blocks/pixel_shuffle.h"

namespace intarsia {

class ReorderNode;

// Changes the order of the contents, and not the shape.
struct ReorderOperator : SameShapeOperator<ReorderOperator, ReorderNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;
    using Reorder = decltype(&to_blocks);

    ReorderOperator(const ort::Functions& functions, const char* name, Reorder reorder)
        : SameShapeOperator(functions, name), reorder(reorder) {}

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

class PadNode;

// Attributes: `pads` of the sizes, those before and then those behind; `edge`, the number of an `Edge`; and `value`.
struct PadOperator : Operator<PadOperator, PadNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;

    explicit PadOperator(const ort::Functions& functions) : Operator(functions, "BlockedPad") {}

    void infer(OrtShapeInferContext* context) const;
};

class PadNode {
  public:
    PadNode(const PadOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const PadOperator& op() const { return op_; }

  private:
    const PadOperator& op_;
    Padding padding_;
    Dimensions pads_;
};

class DepthToSpaceNode;

// Attributes: `blocksize` as ONNX has it, and `result_first`, 1 for its mode CRD.
struct DepthToSpaceOperator : Operator<DepthToSpaceOperator, DepthToSpaceNode> {
    static constexpr std::size_t kInputs = 1, kRequiredInputs = 1;

    explicit DepthToSpaceOperator(const ort::Functions& functions) : Operator(functions, "BlockedDepthToSpace") {}

    void infer(OrtShapeInferContext* context) const;
};

class DepthToSpaceNode {
  public:
    DepthToSpaceNode(const DepthToSpaceOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const DepthToSpaceOperator& op() const { return op_; }

  private:
    const DepthToSpaceOperator& op_;
    std::int64_t step_ = 0, result_first_ = 0;
};

}  // namespace intarsia
