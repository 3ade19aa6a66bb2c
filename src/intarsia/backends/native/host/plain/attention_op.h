// The operator `CachedAttention`. Inputs: what holds the query, cached keys and values [images, key heads, cached, width],
// what holds the key and the value, and a mask. Outputs: the results, and keys and values with those of the rows, where
// these bring some.
#pragma once

#include "host/blocked.h"
#include "kernels/cached_attention.h"
#include "kernels/vector.h"

namespace intarsia {

class AttentionNode;

struct AttentionOperator : Operator<AttentionOperator, AttentionNode> {
    static constexpr std::size_t kInputs = 6, kRequiredInputs = 5;

    explicit AttentionOperator(const ort::Functions& functions);

    void infer(OrtShapeInferContext* context) const;
};

class AttentionNode {
  public:
    AttentionNode(const AttentionOperator& op, const OrtKernelInfo* info);

    void compute(OrtKernelContext* context) const;

    const AttentionOperator& op() const { return op_; }

  private:
    // Vectors in a value: from where on, and how far apart.
    struct Place {
        std::size_t offset;
        HeadSteps steps;
    };

    // Throws where vectors of so many heads would lie beyond the value.
    void check_place(const Place& place, std::size_t heads, const Dimensions& shape) const;

    const AttentionOperator& op_;
    Attention attention_;
    Place query_, key_, value_, result_;
    Dimensions shape_;  // of the result
};

}  // namespace intarsia
