#include "convolution_op.h"

#include "blocked.h"
#include "blocks/channelwise.h"
#include "kernels/vector.h"

namespace intarsia {
namespace {

using ort::Functions;

enum Input : std::size_t { kX, kWeights, kBias, kSum, kBefore = kSum };

const OrtValue* constant(const Functions& ort, const OrtKernelInfo* info, Input index) {
    int is_constant = 0;
    const OrtValue* value = nullptr;
    check(ort, ort.constant_input(info, index, &is_constant, &value));
    return is_constant != 0 ? value : nullptr;
}

std::int64_t integer_or(const Functions& ort, const OrtKernelInfo* info, const char* name, std::int64_t missing) {
    std::int64_t value = 0;
    return is_stated(ort, ort.integer(info, name, &value)) ? value : missing;
}

Filter filter_of(const ConvolutionOperator& op, const OrtKernelInfo* info) {
    const Functions& ort = op.ort;
    const OrtValue* weights = constant(ort, info, kWeights);
    if (weights == nullptr) {
        throw std::runtime_error("the weights of " + op.name + " are not constant");
    }
    const std::int64_t groups = integer_or(ort, info, "group", 1), tile = integer_or(ort, info, "tile", 0);
    const std::size_t rank = op.kernel.rank;
    Dimensions pads(2 * rank, 1);
    std::size_t count = 0;
    if (is_stated(ort, ort.integers(info, "pads", nullptr, &count))) {
        pads.resize(count);
        check(ort, ort.integers(info, "pads", pads.data(), &count));
    }
    const Dimensions shape = dimensions_of(ort, weights);
    const bool has_pads = pads.size() == 2 * rank && are_known(pads);
    const Extents taps = shape.size() == rank + 2 ? extents(shape, 2, rank, 1) : Extents{};
    const bool has_taps = std::equal(taps.begin(), taps.end(), op.kernel.taps.begin(), [](auto own, auto taken) {
        return own > 0 && (taken == 0 || own == taken);
    });
    constexpr auto block = static_cast<std::int64_t>(kBlock);
    if (!has_pads || !has_taps || groups < 1 || tile < 0 || shape[0] % (block * groups) != 0 || shape[1] % block != 0) {
        throw std::runtime_error("the weights, groups, pads or tile of " + op.name + " do not fit blocks of " +
                                 std::to_string(block));
    }
    const OrtValue* bias = constant(ort, info, kBias);
    return {static_cast<std::size_t>(groups),
            static_cast<std::size_t>(shape[1] * groups),
            static_cast<std::size_t>(shape[0]),
            bias == nullptr ? nullptr : data_of(ort, bias),
            taps,
            extents(pads, 0, rank, 0),
            extents(pads, rank, rank, 0),
            static_cast<std::size_t>(tile)};
}

}  // namespace

ConvolutionNode::ConvolutionNode(const ConvolutionOperator& op, const OrtKernelInfo* info)
    : op_(op),
      filter_(filter_of(op, info)),
      kernel_(op.kernel.make(filter_)),
      low_(attribute(op.ort, info, "low")),
      high_(attribute(op.ort, info, "high")),
      before_low_(op.kernel.has_before ? attribute(op.ort, info, "before_low") : 0),
      before_high_(op.kernel.has_before ? attribute(op.ort, info, "before_high") : 0) {}

void ConvolutionNode::compute(OrtKernelContext* context) const {
    const Functions& ort = op_.ort;
    const std::size_t rank = op_.kernel.rank;
    const OrtValue* x = input(context, kX);
    const OrtValue* sum = op_.kernel.has_before ? nullptr : input(context, kSum);
    if (filter_.bias == nullptr && input(context, kBias) != nullptr) {
        throw std::runtime_error("the bias of " + op_.name + " is not constant");
    }
    Dimensions shape = dimensions_of(ort, x);
    if (shape.size() != rank + 2 || shape[1] != static_cast<std::int64_t>(filter_.channels_in)) {
        throw std::runtime_error(op_.name + " has weights for " + std::to_string(filter_.channels_in) +
                                 " channels, and was given an input of another shape");
    }
    const Extents in = extents(shape, 2, rank, 1), out = extents_out(filter_, in);
    const std::int64_t shape_in = shape[1];
    shape[1] = static_cast<std::int64_t>(filter_.channels_out);
    std::copy_n(out.end() - rank, rank, shape.begin() + 2);
    if (sum != nullptr && dimensions_of(ort, sum) != shape) {
        throw std::runtime_error("the sum input of " + op_.name + " has another shape than its output");
    }
    OrtValue* y = nullptr;
    check(ort, ort.output(context, 0, shape.data(), shape.size(), &y));
    if (shape[0] == 0 || product(out) == 0) {
        return;
    }
    Affine then{}, before{};
    if (op_.kernel.has_before) {
        const float* each[4] = {};
        for (std::size_t index = 0; index < 4; ++index) {
            const OrtValue* numbers = input(context, kBefore + index);
            each[index] = numbers == nullptr ? nullptr : data_of(ort, numbers);
            if (numbers != nullptr && count_of(dimensions_of(ort, numbers)) != shape_in) {
                throw std::runtime_error("an input of " + op_.name + " has not one number for each channel");
            }
        }
        if (each[0] == nullptr || each[1] == nullptr || (each[2] == nullptr) != (each[3] == nullptr)) {
            throw std::runtime_error(op_.name + " lacks factors or shifts");
        }
        then = {each[2], each[3], nullptr, 0, 0};
        before = {each[0], each[1], each[2] ? &then : nullptr, before_low_, before_high_};
    }
    SessionPool pool{ort, context};
    kernel_->run({static_cast<std::size_t>(shape[0]), in, out, data_of(ort, input(context, kWeights)),
                  data_of(ort, x), sum == nullptr ? nullptr : data_of(ort, sum), data_of(ort, y), low_, high_, op_.kernel.has_before ? &before : nullptr},
                 pool.threads());
}

const OrtValue* ConvolutionNode::input(const OrtKernelContext* context, std::size_t index) const {
    std::size_t count = 0;
    check(op_.ort, op_.ort.input_count(context, &count));
    const OrtValue* value = nullptr;
    if (index < count) {
        check(op_.ort, op_.ort.input(context, index, &value));
    }
    return value;
}

ConvolutionOperator::ConvolutionOperator(const Functions& functions, const Registered& kernel)
    : Operator(functions, kernel.name), kernel(kernel) {
    if (kernel.has_before) {
        return;
    }
    // The output may take the place of `sum`, which a kernel reads before it writes.
    GetMayInplace = [](int** inputs, int** outputs) -> std::size_t {
        *inputs = new int[1]{kSum};
        *outputs = new int[1]{0};
        return 1;
    };
    ReleaseMayInplace = [](int* inputs, int* outputs) {
        delete[] inputs;
        delete[] outputs;
    };
}

void ConvolutionOperator::infer(OrtShapeInferContext* context) const {
    const std::size_t rank = kernel.rank;
    const Dimensions weights = inferred_dimensions(ort, context, kWeights);
    Dimensions shape = inferred_dimensions(ort, context, kX);
    if (shape.size() != rank + 2 || weights.size() != rank + 2 || !are_known(shape)) {
        return;
    }
    Dimensions pads(2 * rank, 1);
    read_integers(ort, context, "pads", pads);
    shape[1] = weights[0];
    for (std::size_t axis = 0; axis < rank; ++axis) {
        auto& size = shape[axis + 2];
        size = std::max<std::int64_t>(0, size + pads[axis] + pads[axis + rank] - weights[axis + 2] + 1);
    }
    infer_output(ort, context, shape);
}

}  // namespace intarsia
