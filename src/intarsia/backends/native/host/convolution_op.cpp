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

// Whether whole blocks of the result read whole blocks of the image, where it is in blocks.
bool fits_blocks(Form form, const Dimensions& shape, std::int64_t groups) {
    constexpr auto block = static_cast<std::int64_t>(kBlock);
    switch (form) {
        case Form::kNarrow:
            return shape[0] % block == 0 && shape[1] > 1 && block % shape[1] == 0 && shape[0] == shape[1] * groups;
        case Form::kPlainImage:
            return shape[0] % block == 0 && groups == 1;
        case Form::kTransposed:
            return shape[0] % block == 0 && shape[1] % block == 0 && groups == 1;
        default:
            return shape[0] % (block * groups) == 0 && shape[1] % block == 0;
    }
}

std::int64_t integer_or(const Functions& ort, const OrtKernelInfo* info, const char* name, std::int64_t missing) {
    std::int64_t value = 0;
    return is_stated(ort, ort.integer(info, name, &value)) ? value : missing;
}

// A filter with weights of a shape; `read(name, missing)` gives an attribute. Throws where these do not fit the kernel.
template <typename Read>
Filter filter_with(const Registered& kernel, const Dimensions& shape, std::int64_t groups, const Read& read) {
    const std::size_t rank = kernel.rank;
    const bool is_transposed = kernel.form == Form::kTransposed;
    const Dimensions pads = read("pads", Dimensions(2 * rank, 1)), strides = read("strides", Dimensions(rank, 1));
    const Dimensions dilations = read("dilations", Dimensions(rank, 1));
    const Dimensions extra = is_transposed ? read("output_padding", Dimensions(rank, 0)) : Dimensions(rank, 0);
    const auto are_steps = [rank](const Dimensions& numbers, std::int64_t most) {
        return numbers.size() == rank &&
               std::all_of(numbers.begin(), numbers.end(), [most](auto each) { return 1 <= each && each <= most; });
    };
    const bool has_shape = shape.size() == rank + 2 && groups > 0 && std::all_of(shape.begin(), shape.end(), [](auto size) {
        return size > 0;
    });
    const Extents taps = has_shape ? extents(shape, 2, rank, 1) : Extents{};
    const bool has_taps = std::equal(taps.begin(), taps.end(), kernel.taps.begin(), [](auto own, auto taken) {
        return own > 0 && (taken == 0 || own == taken);
    });
    const bool has_pads = pads.size() == 2 * rank && are_known(pads) && extra.size() == rank && are_known(extra);
    const bool has_steps = are_steps(strides, kernel.largest_stride) && are_steps(dilations, kernel.largest_dilation);
    if (!has_taps || !has_pads || !has_steps || !fits_blocks(kernel.form, shape, groups)) {
        throw std::runtime_error("the weights, groups, pads or strides of " + std::string(kernel.name) +
                                 " do not fit blocks of " + std::to_string(kBlock));
    }
    Filter filter{};
    filter.groups = static_cast<std::size_t>(groups);
    filter.channels_in = static_cast<std::size_t>(is_transposed ? shape[0] : shape[1] * groups);
    filter.channels_out = static_cast<std::size_t>(is_transposed ? shape[1] : shape[0]);
    filter.taps = taps;
    filter.before = extents(pads, 0, rank, 0);
    filter.after = extents(pads, rank, rank, 0);
    filter.strides = extents(strides, 0, rank, 1);
    filter.dilations = extents(dilations, 0, rank, 1);
    filter.is_transposed = is_transposed;
    filter.extra = extents(extra, 0, rank, 0);
    return filter;
}

Filter filter_of(const ConvolutionOperator& op, const OrtKernelInfo* info) {
    const Functions& ort = op.ort;
    const OrtValue* weights = constant(ort, info, kWeights);
    if (weights == nullptr) {
        throw std::runtime_error("the weights of " + op.name + " are not constant");
    }
    const auto read = [&](const char* name, Dimensions numbers) {
        std::size_t count = 0;
        if (is_stated(ort, ort.integers(info, name, nullptr, &count))) {
            numbers.resize(count);
            check(ort, ort.integers(info, name, numbers.data(), &count));
        }
        return numbers;
    };
    const std::int64_t tile = integer_or(ort, info, "tile", 0);
    const std::int64_t bits = integer_or(ort, info, "bits", 32);
    if (bits != 16 && bits != 32) {
        throw std::runtime_error("the products of " + op.name + " are neither of 16 bits nor of 32");
    }
    if (tile < 0) {
        throw std::runtime_error("the tile of " + op.name + " is negative");
    }
    Filter filter = filter_with(op.kernel, dimensions_of(ort, weights), integer_or(ort, info, "group", 1), read);
    filter.tile = static_cast<std::size_t>(tile);
    filter.bits = static_cast<std::size_t>(bits);
    const OrtValue* bias = constant(ort, info, kBias);
    filter.bias = bias == nullptr ? nullptr : data_of(ort, bias);
    return filter;
}

Finish finish_of(const Functions& ort, const OrtKernelInfo* info) {
    Finish finish{attribute(ort, info, "low"), attribute(ort, info, "high")};
    float slope = 0;
    if (is_stated(ort, ort.attribute(info, "slope", &slope))) {
        finish.slope = slope;
    }
    return finish;
}

}  // namespace

ConvolutionNode::ConvolutionNode(const ConvolutionOperator& op, const OrtKernelInfo* info)
    : op_(op),
      filter_(filter_of(op, info)),
      kernel_(op.kernel.make(filter_)),
      finish_(finish_of(op.ort, info)),
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
                  data_of(ort, x), sum == nullptr ? nullptr : data_of(ort, sum), data_of(ort, y), finish_, op_.kernel.has_before ? &before : nullptr},
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
    if (shape.size() != rank + 2 || !are_known(weights) || !are_known(shape)) {
        return;
    }
    const auto read = [&](const char* name, Dimensions numbers) {
        read_integers(ort, context, name, numbers);
        return numbers;
    };
    const bool has_groups = kernel.form != Form::kTransposed && weights.size() > 1 && weights[1] > 0;
    const Filter filter = filter_with(kernel, weights, has_groups ? shape[1] / weights[1] : 1, read);
    const Extents out = extents_out(filter, extents(shape, 2, rank, 1));
    shape[1] = static_cast<std::int64_t>(filter.channels_out);
    std::copy_n(out.end() - rank, rank, shape.begin() + 2);
    infer_output(ort, context, shape);
}

}  // namespace intarsia
