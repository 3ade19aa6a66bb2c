#include "host/plain/resize_op.h"

namespace intarsia {

void ResizeOperator::infer(OrtShapeInferContext* context) const {
    Dimensions shape = inferred_dimensions(ort, context, 0);
    const Dimensions rows = inferred_dimensions(ort, context, 1), columns = inferred_dimensions(ort, context, 3);
    if (!are_known(shape) || shape.size() < 2 || rows.size() != 2 || columns.size() != 2) {
        return;
    }
    shape[shape.size() - 2] = rows[0];
    shape[shape.size() - 1] = columns[0];
    infer_output(ort, context, shape);
}

Weighing ResizeNode::weighing(const OrtKernelContext* context, std::size_t index) const {
    const OrtValue *places = nullptr, *weights = nullptr;
    check(op_.ort, op_.ort.input(context, index, &places));
    check(op_.ort, op_.ort.input(context, index + 1, &weights));
    const Dimensions shape = dimensions_of(op_.ort, places);
    if (shape.size() != 2 || dimensions_of(op_.ort, weights) != shape) {
        throw std::runtime_error("places and weights of " + op_.name + " have unlike shapes");
    }
    return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]), data_of(op_.ort, places),
            data_of(op_.ort, weights)};
}

void ResizeNode::compute(OrtKernelContext* context) const {
    const OrtValue* x = nullptr;
    check(op_.ort, op_.ort.input(context, 0, &x));
    Dimensions shape = dimensions_of(op_.ort, x);
    const Weighing rows = weighing(context, 1), columns = weighing(context, 3);
    const std::size_t rank = shape.size();
    const auto height = static_cast<std::size_t>(rank < 2 ? 0 : shape[rank - 2]);
    const auto width = static_cast<std::size_t>(rank < 2 ? 0 : shape[rank - 1]);
    if (!fits(rows, height) || !fits(columns, width)) {
        throw std::runtime_error(op_.name + " was given places that its input does not have");
    }
    const std::size_t planes = height * width == 0 ? 0 : static_cast<std::size_t>(count_of(shape)) / height / width;
    shape[rank - 2] = static_cast<std::int64_t>(rows.results);
    shape[rank - 1] = static_cast<std::int64_t>(columns.results);
    float* y = blocked_output(op_.ort, context, shape);
    SessionPool pool{op_.ort, context};
    weighted_resize(rows, columns, data_of(op_.ort, x), y, planes, height, width, pool.threads());
}

}  // namespace intarsia
