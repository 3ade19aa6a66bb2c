// What operators over values in blocks have in common: [N, C, sizes] with whole blocks of channels.
#pragma once

#include <utility>

#include "operator.h"

namespace intarsia {

// The first input.
struct Blocked {
    const OrtValue* value;
    Dimensions shape;
    std::size_t images, planes, rank;  // N, N * C / B, and how many sizes there are

    Extents sizes() const { return extents(shape, 2, rank, 1); }
    std::size_t pixels() const { return product(sizes()); }
};

// Throws where the shape does not fit.
Blocked blocked_input(const ort::Functions& ort, const std::string& name, const OrtKernelContext* context);

// The memory of an output of this shape.
float* blocked_output(const ort::Functions& ort, OrtKernelContext* context, const Dimensions& shape,
                      std::size_t output = 0);

// How many numbers a shape holds.
std::int64_t count_of(const Dimensions& shape);

// The attributes of a node.
Dimensions integers(const ort::Functions& ort, const OrtKernelInfo* info, const char* name);
float attribute(const ort::Functions& ort, const OrtKernelInfo* info, const char* name);

// An operator whose output has the shape of its first input.
template <typename Self, typename Node>
struct SameShapeOperator : Operator<Self, Node> {
    using Operator<Self, Node>::Operator;

    void infer(OrtShapeInferContext* context) const {
        const Dimensions shape = inferred_dimensions(this->ort, context, 0);
        if (are_known(shape)) {
            infer_output(this->ort, context, shape);
        }
    }
};

}  // namespace intarsia
