#include "channelwise_op.h"

#include <functional>
#include <numeric>

namespace intarsia {

void ChannelwiseNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const Blocked x = blocked_input(ort, op_.name, context);
    const OrtValue* numbers = nullptr;
    check(ort, ort.input(context, 1, &numbers));
    const Dimensions shape = dimensions_of(ort, numbers);
    const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    const bool is_of_image = count == x.shape[0] * x.shape[1];
    if (!is_of_image && count != x.shape[1]) {
        throw std::runtime_error("the second input of " + op_.name + " has not one number for each channel");
    }
    float* y = blocked_output(ort, context, x.shape);
    SessionPool pool{ort, context};
    const Planes planes{x.images, x.planes / std::max<std::size_t>(1, x.images), x.pixels()};
    op_.compute(planes, data_of(ort, x.value), data_of(ort, numbers), is_of_image, y, pool.threads());
}

}  // namespace intarsia
