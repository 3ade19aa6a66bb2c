// The operator `PackedProduct`: x [.., rows] times a matrix in few bits, and its ending. Inputs: x, the matrix as
// `PackedWeight` has it, and where there are such, a bias, and as many numbers as the result has, which are added and
// whose shape it gets. Attributes: `sizes`, which are bits, rows and columns; `adds`, 1 where there are such numbers;
// `gelu`, 1 where that comes last. Both are 0 elsewhere.
#pragma once

#include "host/blocked.h"
#include "kernels/products/packed_product.h"

namespace intarsia {

class ProductNode;

struct ProductOperator : Operator<ProductOperator, ProductNode> {
    static constexpr std::size_t kInputs = 4, kRequiredInputs = 2;

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
    bool is_gelu_;
};

}  // namespace intarsia
