// The operator `Elu`, for numbers in any order. Attribute: `alpha`.
#pragma once

#include "blocked.h"
#include "blocks/elu.h"

namespace intarsia {

class EluNode;

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
