// Operators that convolve by a kernel of ours, inside a blocked layout and on ONNX Runtime's thread pool.
//
// Inputs: X [N, C, sizes], weights [K, C / group, taps], or [C, K, taps] where each pixel is spread over taps (constant),
// bias [K] (constant, optional), sum [N, K, sizes] (optional). Attributes: `pads`, rows of zeros in front along each
// dimension and then behind (1 where it is left out), or rows that are left out of a result that is spread;
// `strides` (1), `dilations` (1), `output_padding` (0) and `group` (1), as ONNX has them; `tile`, of results that a kernel
// computes together (0: it chooses); `low` and `high`, between which results are held; `slope`, by which those below zero are multiplied
// before (1). In place of the sum, an
// operator that works on X first has what `BlockedAffine` has behind X, and the attributes `before_low` and
// `before_high` for it. Shapes are the plain ones; contents are blocked, but for an X of few channels.
#pragma once

#include "kernels/kernels.h"
#include "operator.h"

namespace intarsia {

class ConvolutionNode;

struct ConvolutionOperator : Operator<ConvolutionOperator, ConvolutionNode> {
    static constexpr std::size_t kInputs = 7, kRequiredInputs = 2;

    ConvolutionOperator(const ort::Functions& functions, const Registered& kernel);

    void infer(OrtShapeInferContext* context) const;

    const Registered kernel;
};

class ConvolutionNode {
  public:
    ConvolutionNode(const ConvolutionOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const ConvolutionOperator& op() const { return op_; }

  private:
    const OrtValue* input(const OrtKernelContext* context, std::size_t index) const;

    const ConvolutionOperator& op_;
    Filter filter_;
    std::unique_ptr<Kernel> kernel_;
    Finish finish_;
    float before_low_, before_high_;
};

}  // namespace intarsia
