#include "blocks_op.h"

#include "kernels/vector.h"

namespace intarsia {
namespace {

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

// Adds the rows before and behind to the sizes of a shape.
void widen(Dimensions& shape, const Dimensions& pads) {
    const std::size_t rank = pads.size() / 2;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        shape[axis + 2] += pads[axis] + pads[axis + rank];
    }
}

// What becomes of the shape of a picture where `step` * `step` channels become one; false where it does not fit.
bool shuffle(Dimensions& shape, std::int64_t step) {
    constexpr auto block = static_cast<std::int64_t>(kBlock);
    if (shape.size() != 4 || step < 1 || step > 64 || shape[1] % (step * step * block) != 0) {
        return false;
    }
    shape = {shape[0], shape[1] / (step * step), shape[2] * step, shape[3] * step};
    return true;
}

constexpr auto kLastEdge = static_cast<std::int64_t>(Edge::kNearest);

}  // namespace

void ReorderNode::compute(OrtKernelContext* context) const {
    const Blocked x = blocked_input(op_.ort, op_.name, context);
    float* y = blocked_output(op_.ort, context, x.shape);
    SessionPool pool{op_.ort, context};
    op_.reorder(data_of(op_.ort, x.value), y, x.planes, x.pixels(), pool.threads());
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
    const Extents in = x.sizes(), out = extents_out(window_, in);
    std::copy_n(out.end() - rank_, rank_, x.shape.begin() + 2);
    float* y = blocked_output(op_.ort, context, x.shape);
    SessionPool pool{op_.ort, context};
    max_pool(window_, data_of(op_.ort, x.value), y, x.planes, in, pool.threads());
}

void PadOperator::infer(OrtShapeInferContext* context) const {
    Dimensions shape = inferred_dimensions(ort, context, 0);
    if (!are_known(shape) || shape.size() < 3 || shape.size() > 5) {
        return;
    }
    Dimensions pads(2 * (shape.size() - 2));
    read_integers(ort, context, "pads", pads);
    widen(shape, pads);
    infer_output(ort, context, shape);
}

PadNode::PadNode(const PadOperator& op, const OrtKernelInfo* info)
    : op_(op), padding_{}, pads_(integers(op.ort, info, "pads")) {
    const std::size_t rank = pads_.size() / 2;
    std::int64_t edge = 0;
    check(op.ort, op.ort.integer(info, "edge", &edge));
    if (rank < 1 || rank > 3 || pads_.size() % 2 != 0 || !are_known(pads_) || edge < 0 || edge > kLastEdge) {
        throw std::runtime_error("the padding of " + op.name + " is not stated for one to three dimensions");
    }
    padding_ = {static_cast<Edge>(edge), attribute(op.ort, info, "value"), extents(pads_, 0, rank, 0),
                extents(pads_, rank, rank, 0)};
}

void PadNode::compute(OrtKernelContext* context) const {
    Blocked x = blocked_input(op_.ort, op_.name, context);
    const Extents in = x.sizes();
    if (2 * x.rank != pads_.size() || !fits(padding_, in)) {
        throw std::runtime_error(op_.name + " was given a shape that does not fit its padding");
    }
    widen(x.shape, pads_);
    float* y = blocked_output(op_.ort, context, x.shape);
    SessionPool pool{op_.ort, context};
    pad(padding_, data_of(op_.ort, x.value), y, x.planes, in, pool.threads());
}

void DepthToSpaceOperator::infer(OrtShapeInferContext* context) const {
    Dimensions shape = inferred_dimensions(ort, context, 0), step(1);
    read_integers(ort, context, "blocksize", step);
    if (are_known(shape) && shuffle(shape, step[0])) {
        infer_output(ort, context, shape);
    }
}

DepthToSpaceNode::DepthToSpaceNode(const DepthToSpaceOperator& op, const OrtKernelInfo* info) : op_(op) {
    check(op.ort, op.ort.integer(info, "blocksize", &step_));
    check(op.ort, op.ort.integer(info, "result_first", &result_first_));
}

void DepthToSpaceNode::compute(OrtKernelContext* context) const {
    Blocked x = blocked_input(op_.ort, op_.name, context);
    const Extents in = x.sizes();
    if (!shuffle(x.shape, step_)) {
        throw std::runtime_error(op_.name + " was given a shape that does not fit its step");
    }
    float* y = blocked_output(op_.ort, context, x.shape);
    const auto order = result_first_ != 0 ? ChannelOrder::kResultFirst : ChannelOrder::kPlaceFirst;
    SessionPool pool{op_.ort, context};
    depth_to_space(static_cast<std::size_t>(step_), order, data_of(op_.ort, x.value), y, x.images,
                   static_cast<std::size_t>(x.shape[1]) / kBlock, in, pool.threads());
}

}  // namespace intarsia
