#include "host/plain/product_op.h"

namespace intarsia {
namespace {

constexpr const char *kSizes = "sizes", *kAdds = "adds";
constexpr std::size_t kSum = 3;

// Throws where the weight has not as many bytes as that.
PackedWeight with_content(const ProductOperator& op, PackedWeight weight, const OrtValue* packed) {
    if (static_cast<std::size_t>(count_of(dimensions_of(op.ort, packed))) != packed_bytes(weight)) {
        throw std::runtime_error("the weight of " + op.name + " is not as large as its sizes say");
    }
    weight.content = reinterpret_cast<const std::uint8_t*>(data_of(op.ort, packed));
    return weight;
}

}  // namespace

ProductOperator::ProductOperator(const ort::Functions& functions) : Operator(functions, "PackedProduct") {
    GetInputType = [](const OrtCustomOp*, std::size_t index) { return index == 1 ? ort::kBytes : ort::kFloat; };
}

void ProductOperator::infer(OrtShapeInferContext* context) const {
    Dimensions sizes(3, 0), adds(1, 0);
    read_integers(ort, context, kSizes, sizes);
    read_integers(ort, context, kAdds, adds);
    Dimensions shape = inferred_dimensions(ort, context, adds[0] != 0 ? kSum : 0);
    if (are_known(shape)) {
        shape.back() = sizes[2];
        infer_output(ort, context, shape);
    }
}

ProductNode::ProductNode(const ProductOperator& op, const OrtKernelInfo* info) : op_(op), weight_{}, is_gelu_(false) {
    const Dimensions sizes = integers(op.ort, info, kSizes);
    if (sizes.size() != 3 || sizes[1] < 1 || sizes[2] < 1) {
        throw std::runtime_error("the sizes of " + op.name + " are not three, or not positive");
    }
    weight_ = {static_cast<std::size_t>(sizes[0]), static_cast<std::size_t>(sizes[1]), static_cast<std::size_t>(sizes[2]),
               nullptr};
    std::int64_t is_gelu = 0;
    check(op.ort, op.ort.integer(info, "gelu", &is_gelu));
    is_gelu_ = is_gelu != 0;
}

void ProductNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const OrtValue* values[ProductOperator::kInputs] = {};
    std::size_t inputs = 0;
    check(ort, ort.input_count(context, &inputs));
    for (std::size_t i = 0; i < std::min(inputs, ProductOperator::kInputs); ++i) {
        check(ort, ort.input(context, i, &values[i]));
    }
    const auto [x, packed, bias, sum] = values;
    Dimensions shape = dimensions_of(ort, x);
    const auto columns = static_cast<std::int64_t>(weight_.columns);
    if (shape.empty() || shape.back() != static_cast<std::int64_t>(weight_.rows)) {
        throw std::runtime_error("what " + op_.name + " multiplies does not fit its weight");
    }
    if (bias != nullptr && dimensions_of(ort, bias) != Dimensions{columns}) {
        throw std::runtime_error("the bias of " + op_.name + " has not one number for each column");
    }
    const PackedWeight weight = with_content(op_, weight_, packed);
    const std::size_t m = static_cast<std::size_t>(count_of(shape)) / weight.rows;
    shape.back() = columns;
    if (sum != nullptr) {
        Dimensions whole = dimensions_of(ort, sum);
        if (whole.empty() || whole.back() != columns || count_of(whole) != count_of(shape)) {
            throw std::runtime_error("what " + op_.name + " adds does not fit its result");
        }
        shape.swap(whole);
    }
    const auto numbers = [&](const OrtValue* value) { return value == nullptr ? nullptr : data_of(ort, value); };
    float* y = blocked_output(ort, context, shape);
    SessionPool pool{ort, context};
    packed_product(weight, data_of(ort, x), {numbers(bias), numbers(sum), is_gelu_}, y, m, pool.threads());
}

}  // namespace intarsia
