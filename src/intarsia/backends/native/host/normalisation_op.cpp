#include "normalisation_op.h"

#include "kernels/vector.h"

namespace intarsia {

LocalResponseNode::LocalResponseNode(const LocalResponseOperator& op, const OrtKernelInfo* info)
    : op_(op),
      asked_{0, attribute(op.ort, info, "alpha"), attribute(op.ort, info, "beta"), attribute(op.ort, info, "bias")} {
    std::int64_t size = 0;
    check(op.ort, op.ort.integer(info, "size", &size));
    if (size < 1) {
        throw std::runtime_error("the size of " + op.name + " is not positive");
    }
    asked_.size = static_cast<std::size_t>(size);
}

void LocalResponseNode::compute(OrtKernelContext* context) const {
    const Blocked x = blocked_input(op_.ort, op_.name, context);
    float* y = blocked_output(op_.ort, context, x.shape);
    SessionPool pool{op_.ort, context};
    local_response(asked_, data_of(op_.ort, x.value), y, x.images, x.planes / std::max<std::size_t>(1, x.images),
                   x.pixels(), pool.threads());
}

InstanceNormalisationNode::InstanceNormalisationNode(const InstanceNormalisationOperator& op, const OrtKernelInfo* info)
    : op_(op),
      epsilon_(attribute(op.ort, info, "epsilon")),
      low_(attribute(op.ort, info, "low")),
      high_(attribute(op.ort, info, "high")) {}

void InstanceNormalisationNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const Blocked x = blocked_input(ort, op_.name, context);
    const float* each[2];
    for (std::size_t index = 0; index < 2; ++index) {
        const OrtValue* value = nullptr;
        check(ort, ort.input(context, index + 1, &value));
        if (dimensions_of(ort, value) != Dimensions{x.shape[1]}) {
            throw std::runtime_error("the scale or bias of " + op_.name + " has not one number for each channel");
        }
        each[index] = data_of(ort, value);
    }
    float* y = blocked_output(ort, context, x.shape);
    SessionPool pool{ort, context};
    instance_normalisation({each[0], each[1], epsilon_, low_, high_}, data_of(ort, x.value), y, x.images,
                           x.planes / std::max<std::size_t>(1, x.images), x.pixels(), pool.threads());
}

}  // namespace intarsia
