#include "host/plain/attention_op.h"

namespace intarsia {
namespace {

constexpr const char* kSizes = "sizes";    // images, heads, key heads, rows, width, whether rows bring keys, hides odd
constexpr const char* kPlaces = "places";  // of query, key, value and result: offset, and steps of image, row and head
constexpr const char* kShape = "shape";    // of the result
constexpr std::size_t kCount = 7, kPlaceCount = 16, kRank = 4, kMostDimensions = 8;

Dimensions with_rows(Dimensions cached, std::int64_t rows) {
    cached[2] += rows;
    return cached;
}

// Steps through a mask whose dimensions are 1 or those of [images][heads][rows][keys], from the last one on. Throws
// where they are not.
void read_mask(const Dimensions& shape, const Dimensions& scores, AttentionCall& call) {
    std::size_t steps[kRank] = {}, step = 1;
    if (shape.size() > kRank) throw std::runtime_error("a mask of attention has too many dimensions");
    for (std::size_t back = 1; back <= shape.size(); ++back) {
        const std::int64_t size = shape[shape.size() - back];
        if (size != 1 && size != scores[kRank - back]) throw std::runtime_error("a mask of attention does not fit");
        steps[kRank - back] = size == 1 ? 0 : step;
        step *= static_cast<std::size_t>(size);
    }
    call.masks = {steps[0], steps[2], steps[1]};
    call.mask_step = steps[3];
}

}  // namespace

AttentionOperator::AttentionOperator(const ort::Functions& functions) : Operator(functions, "CachedAttention") {
    GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 3; };
    GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t index) {
        return index == 0 ? ort::kRequired : ort::kOptional;
    };
}

void AttentionOperator::infer(OrtShapeInferContext* context) const {
    Dimensions shape(kMostDimensions, -1), sizes(kCount, 0);
    read_integers(ort, context, kShape, shape);
    read_integers(ort, context, kSizes, sizes);
    shape.erase(std::find(shape.begin(), shape.end(), -1), shape.end());
    infer_output(ort, context, shape);
    const Dimensions cached = inferred_dimensions(ort, context, 1);
    if (sizes[5] != 0 && are_known(cached) && cached.size() == kRank) {
        infer_output(ort, context, with_rows(cached, sizes[3]), 1);
        infer_output(ort, context, with_rows(cached, sizes[3]), 2);
    }
}

AttentionNode::AttentionNode(const AttentionOperator& op, const OrtKernelInfo* info)
    : op_(op), shape_(integers(op.ort, info, kShape)) {
    const Dimensions sizes = integers(op.ort, info, kSizes), places = integers(op.ort, info, kPlaces);
    const auto is_negative = [](std::int64_t number) { return number < 0; };
    if (sizes.size() != kCount || places.size() != kPlaceCount || std::any_of(sizes.begin(), sizes.end(), is_negative) ||
        std::any_of(places.begin(), places.end(), is_negative)) {
        throw std::runtime_error("the sizes or places of " + op.name + " are not as many as there must be, or negative");
    }
    const auto size = [&](std::size_t i) { return static_cast<std::size_t>(sizes[i]); };
    const float scale = attribute(op.ort, info, "scale");
    attention_ = {size(0), size(1), size(2), size(3), size(4), sizes[5] != 0, sizes[6] != 0, scale};
    if (size(2) == 0 || size(1) % size(2) != 0 || size(4) % kBlock != 0) {
        throw std::runtime_error("the heads of " + op.name + " cannot share those of the keys, or have no whole blocks");
    }
    std::size_t next = 0;
    for (Place* place : {&query_, &key_, &value_, &result_}) {
        const auto number = [&] { return static_cast<std::size_t>(places[next++]); };
        place->offset = number();
        place->steps.image = number();
        place->steps.row = number();
        place->steps.head = number();
    }
}

void AttentionNode::check_place(const Place& place, std::size_t heads, const Dimensions& shape) const {
    const auto last = [](std::size_t count) { return count == 0 ? 0 : count - 1; };
    const std::size_t end = place.offset + last(attention_.images) * place.steps.image +
                            last(attention_.rows) * place.steps.row + last(heads) * place.steps.head + attention_.width;
    if (end > static_cast<std::size_t>(count_of(shape))) {
        throw std::runtime_error("heads of " + op_.name + " lie beyond the value that is to hold them");
    }
}

void AttentionNode::compute(OrtKernelContext* context) const {
    const ort::Functions& ort = op_.ort;
    const OrtValue* values[AttentionOperator::kInputs] = {};
    std::size_t inputs = 0;
    check(ort, ort.input_count(context, &inputs));
    for (std::size_t i = 0; i < std::min(inputs, AttentionOperator::kInputs); ++i) {
        check(ort, ort.input(context, i, &values[i]));
    }
    const auto [query, cached_keys, cached_values, key, value, mask] = values;
    const Attention& a = attention_;
    const Dimensions cached = dimensions_of(ort, cached_keys);
    const auto wide = [](std::size_t number) { return static_cast<std::int64_t>(number); };
    if (cached.size() != kRank || dimensions_of(ort, cached_values) != cached || cached[2] < 0 ||
        cached != Dimensions{wide(a.images), wide(a.key_heads), cached[2], wide(a.width)}) {
        throw std::runtime_error("cached keys and values of " + op_.name + " do not fit its sizes");
    }
    check_place(query_, a.heads, dimensions_of(ort, query));
    check_place(result_, a.heads, shape_);
    AttentionCall call{};
    call.cached = static_cast<std::size_t>(cached[2]);
    call.query = data_of(ort, query) + query_.offset;
    call.queries = query_.steps;
    call.results = result_.steps;
    call.cached_keys = data_of(ort, cached_keys);
    call.cached_values = data_of(ort, cached_values);
    if (a.adds) {
        check_place(key_, a.key_heads, dimensions_of(ort, key));
        check_place(value_, a.key_heads, dimensions_of(ort, value));
        call.key = data_of(ort, key) + key_.offset;
        call.value = data_of(ort, value) + value_.offset;
        call.keys = key_.steps;
        call.values = value_.steps;
        const Dimensions all = with_rows(cached, wide(a.rows));
        call.all_keys = blocked_output(ort, context, all, 1);
        call.all_values = blocked_output(ort, context, all, 2);
    }
    if (mask != nullptr) {
        const std::int64_t keys = cached[2] + (a.adds ? wide(a.rows) : 0);
        read_mask(dimensions_of(ort, mask), {wide(a.images), wide(a.heads), wide(a.rows), keys}, call);
        call.mask = data_of(ort, mask);
    }
    call.y = blocked_output(ort, context, shape_) + result_.offset;
    SessionPool pool{ort, context};
    cached_attention(a, call, pool.threads());
}

}  // namespace intarsia
