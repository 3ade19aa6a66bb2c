#include "expansion_op.h"

#include <array>

#include "kernels/vector.h"

namespace intarsia {
namespace {

constexpr std::size_t kRank = 2;
constexpr std::int64_t kMostEdge = 2, kMostStride = 2;

// Throws where the second convolution is none that is computed.
void set_steps(Expansion& expansion, const std::string& name, const Dimensions& strides, const Dimensions& pads) {
    const auto between = [](std::int64_t least, std::int64_t most) {
        return [=](std::int64_t each) { return least <= each && each <= most; };
    };
    if (strides.size() != kRank || pads.size() != 2 * kRank ||
        !std::all_of(strides.begin(), strides.end(), between(1, kMostStride)) ||
        !std::all_of(pads.begin(), pads.end(), between(0, kMostEdge))) {
        throw std::runtime_error("the strides or pads of " + name + " are not those of its kernel");
    }
    expansion.strides = extents(strides, 0, kRank, 1);
    expansion.before = extents(pads, 0, kRank, 0);
    expansion.after = extents(pads, kRank, kRank, 0);
}

Ending ending(const ort::Functions& ort, const OrtKernelInfo* info, const std::string& prefix) {
    std::int64_t is_swish = 0;
    check(ort, ort.integer(info, (prefix + "swish").c_str(), &is_swish));
    return {{attribute(ort, info, (prefix + "low").c_str()), attribute(ort, info, (prefix + "high").c_str())},
            is_swish != 0};
}

}  // namespace

void ExpansionOperator::infer(OrtShapeInferContext* context) const {
    Dimensions shape = inferred_dimensions(ort, context, 0), strides(kRank, 1), pads(2 * kRank);
    const Dimensions weights = inferred_dimensions(ort, context, 1);
    if (!are_known(shape) || shape.size() != kRank + 2 || !are_known(weights)) {
        return;
    }
    read_integers(ort, context, "strides", strides);
    read_integers(ort, context, "pads", pads);
    Expansion expansion{};
    set_steps(expansion, name, strides, pads);
    const Extents out = extents_out(expansion, extents(shape, 2, kRank, 1));
    shape = {shape[0], weights[0], static_cast<std::int64_t>(out[1]), static_cast<std::int64_t>(out[2])};
    infer_output(ort, context, shape);
}

ExpansionNode::ExpansionNode(const ExpansionOperator& op, const OrtKernelInfo* info) : op_(op), expansion_{} {
    set_steps(expansion_, op.name, integers(op.ort, info, "strides"), integers(op.ort, info, "pads"));
    expansion_.between = ending(op.ort, info, "");
    expansion_.last = ending(op.ort, info, "last_");
}

void ExpansionNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const Blocked x = blocked_input(ort, op_.name, context);
    std::array<Dimensions, 5> shapes;
    std::array<const float*, 5> data{};
    for (std::size_t index = 1; index < shapes.size(); ++index) {
        const OrtValue* value = nullptr;
        check(ort, ort.input(context, index, &value));
        shapes[index] = dimensions_of(ort, value);
        data[index] = data_of(ort, value);
    }
    const std::int64_t channels = shapes[2].size() == 1 ? shapes[2][0] : 0;
    const bool fits = x.rank == kRank && channels > 0 && channels % static_cast<std::int64_t>(kBlock) == 0 &&
                      shapes[1] == Dimensions{channels, x.shape[1], 1, 1} && shapes[3] == Dimensions{channels, 1, 3, 3} &&
                      shapes[4] == shapes[2];
    if (!fits) {
        throw std::runtime_error("the shapes of " + op_.name + " do not fit");
    }
    Expansion asked = expansion_;
    asked.channels_in = static_cast<std::size_t>(x.shape[1]);
    asked.channels = static_cast<std::size_t>(channels);
    asked.weights = data[1];
    asked.bias = data[2];
    asked.filters = data[3];
    asked.shifts = data[4];
    const Extents in = x.sizes(), out = extents_out(asked, in);
    const Dimensions shape{x.shape[0], channels, static_cast<std::int64_t>(out[1]), static_cast<std::int64_t>(out[2])};
    float* y = blocked_output(ort, context, shape);
    if (count_of(shape) == 0) {
        return;
    }
    SessionPool pool{ort, context};
    expand(asked, data_of(ort, x.value), y, x.images, in, pool.threads());
}

}  // namespace intarsia
