#include "blocks_op.h"

#include "kernels/vector.h"

namespace intarsia {
namespace {

struct Blocked {
    const OrtValue* value;
    Dimensions shape;
    std::size_t planes, rank;  // N * C / B, and how many sizes there are
};

Blocked blocked_input(const ort::Functions& ort, const std::string& name, const OrtKernelContext* context) {
    Blocked found{};
    check(ort, ort.input(context, 0, &found.value));
    found.shape = dimensions_of(ort, found.value);
    if (found.shape.size() < 3 || found.shape.size() > 5 || found.shape[1] % static_cast<std::int64_t>(kBlock) != 0) {
        throw std::runtime_error(name + " was given a shape that does not fit blocks of " + std::to_string(kBlock));
    }
    found.planes = static_cast<std::size_t>(found.shape[0] * found.shape[1]) / kBlock;
    found.rank = found.shape.size() - 2;
    return found;
}

Dimensions integers(const ort::Functions& ort, const OrtKernelInfo* info, const char* name) {
    std::size_t count = 0;
    check(ort, ort.integers(info, name, nullptr, &count));
    Dimensions numbers(count);
    check(ort, ort.integers(info, name, numbers.data(), &count));
    return numbers;
}

// Throws where these are not the attributes of a window over one to three dimensions.
Window window_of(const std::string& name, const Dimensions& size, const Dimensions& strides, const Dimensions& pads) {
    const std::size_t rank = size.size();
    const auto is_positive = [](std::int64_t each) { return each > 0; };
    if (rank < 1 || rank > 3 || strides.size() != rank || pads.size() != 2 * rank || !are_known(pads) ||
        !std::all_of(size.begin(), size.end(), is_positive) ||
        !std::all_of(strides.begin(), strides.end(), is_positive)) {
        throw std::runtime_error("the window of " + name + " is not stated for one to three dimensions");
    }
    return {extents(size, 0, rank, 1), extents(strides, 0, rank, 1), extents(pads, 0, rank, 0),
            extents(pads, rank, rank, 0)};
}

}  // namespace

void ReorderNode::compute(OrtKernelContext* context) const {
    const Blocked x = blocked_input(op_.ort, op_.name, context);
    OrtValue* y = nullptr;
    check(op_.ort, op_.ort.output(context, 0, x.shape.data(), x.shape.size(), &y));
    SessionPool pool{op_.ort, context};
    op_.reorder(data_of(op_.ort, x.value), data_of(op_.ort, y), x.planes, product(extents(x.shape, 2, x.rank, 1)),
                pool.threads());
}

void ReorderOperator::infer(OrtShapeInferContext* context) const {
    const Dimensions shape = inferred_dimensions(ort, context, 0);
    if (are_known(shape)) {
        infer_output(ort, context, shape);
    }
}

void MaxPoolOperator::infer(OrtShapeInferContext* context) const {
    Dimensions shape = inferred_dimensions(ort, context, 0);
    if (!are_known(shape) || shape.size() < 3 || shape.size() > 5) {
        return;
    }
    const std::size_t rank = shape.size() - 2;
    Dimensions size(rank), strides(rank), pads(2 * rank);
    read_integers(ort, context, "kernel_shape", size);
    read_integers(ort, context, "strides", strides);
    read_integers(ort, context, "pads", pads);
    const Extents out = extents_out(window_of(name, size, strides, pads), extents(shape, 2, rank, 1));
    std::copy_n(out.end() - rank, rank, shape.begin() + 2);
    infer_output(ort, context, shape);
}

MaxPoolNode::MaxPoolNode(const MaxPoolOperator& op, const OrtKernelInfo* info) : op_(op), window_{}, rank_(0) {
    const Dimensions size = integers(op.ort, info, "kernel_shape");
    window_ = window_of(op.name, size, integers(op.ort, info, "strides"), integers(op.ort, info, "pads"));
    rank_ = size.size();
}

void MaxPoolNode::compute(OrtKernelContext* context) const {
    Blocked x = blocked_input(op_.ort, op_.name, context);
    if (x.rank != rank_) {
        throw std::runtime_error(op_.name + " was given a shape with another number of dimensions than its window");
    }
    const Extents in = extents(x.shape, 2, rank_, 1), out = extents_out(window_, in);
    Dimensions shape = std::move(x.shape);  // a copy would ask for a newer C++ library than the wheel is built for
    std::copy_n(out.end() - rank_, rank_, shape.begin() + 2);
    OrtValue* y = nullptr;
    check(op_.ort, op_.ort.output(context, 0, shape.data(), shape.size(), &y));
    SessionPool pool{op_.ort, context};
    max_pool(window_, data_of(op_.ort, x.value), data_of(op_.ort, y), x.planes, in, pool.threads());
}

}  // namespace intarsia
