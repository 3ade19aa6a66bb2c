// The operator `PackedProduct`: x [.., rows] times a matrix in few bits, and a bias where there is one. Inputs: x, the
// matrix as `PackedWeight` has it, and the bias.
#pragma once

#include "host/blocked.h"
#include "kernels/packed_product.h"

namespace intarsia {

class ProductNode;

struct ProductOperator : Operator<ProductOperator, ProductNode> {
    static constexpr std::size_t kInputs = 3, kRequiredInputs = 2;

    explicit ProductOperator(const ort::Functions& functions);

    void infer(OrtShapeInferContext* context) const;
};

class ProductNode {
  public:
    ProductNode(const ProductOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const ProductOperator& op() const { return op_; }

  private:
    const ProductOperator& op_;
    PackedWeight weight_;
};

}  // namespace intarsia
