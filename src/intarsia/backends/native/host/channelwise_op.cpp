#include "channelwise_op.h"

namespace intarsia {

namespace {

Planes planes_of(const Blocked& x) {
    return {x.images, x.planes / std::max<std::size_t>(1, x.images), x.pixels()};
}

// An input of numbers for channels; null where there is none.
struct Numbers {
    const float* data;
    std::int64_t count;
};

Numbers numbers_of(const ort::Functions& ort, const OrtKernelContext* context, std::size_t index) {
    std::size_t inputs = 0;
    check(ort, ort.input_count(context, &inputs));
    const OrtValue* value = nullptr;
    if (index < inputs) {
        check(ort, ort.input(context, index, &value));
    }
    if (value == nullptr) {
        return {nullptr, 0};
    }
    return {data_of(ort, value), count_of(dimensions_of(ort, value))};
}

void require(bool fits, const std::string& name) {
    if (!fits) {
        throw std::runtime_error("an input of " + name + " has not one number for each channel");
    }
}

}  // namespace

void ChannelwiseNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const Blocked x = blocked_input(ort, op_.name, context);
    const Numbers numbers = numbers_of(ort, context, 1);
    const bool is_of_image = numbers.count == x.shape[0] * x.shape[1];
    require(is_of_image || numbers.count == x.shape[1], op_.name);
    float* y = blocked_output(ort, context, x.shape);
    SessionPool pool{ort, context};
    op_.compute(planes_of(x), data_of(ort, x.value), numbers.data, is_of_image, y, pool.threads());
}

void AffineNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const Blocked x = blocked_input(ort, op_.name, context);
    const float* each[4] = {};
    for (std::size_t index = 0; index < 4; ++index) {
        const Numbers numbers = numbers_of(ort, context, index + 1);
        require((numbers.data == nullptr && index > 1) || numbers.count == x.shape[1], op_.name);
        each[index] = numbers.data;
    }
    require((each[2] == nullptr) == (each[3] == nullptr), op_.name);
    float* y = blocked_output(ort, context, x.shape);
    SessionPool pool{ort, context};
    const Affine then{each[2], each[3], nullptr, 0, 0};
    affine(planes_of(x), {each[0], each[1], each[2] ? &then : nullptr, low_, high_}, data_of(ort, x.value), y,
           pool.threads());
}

}  // namespace intarsia
