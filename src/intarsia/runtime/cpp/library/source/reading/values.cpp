// Types, shapes and borders, as they stand in a manifest.
#include <algorithm>
#include <array>

#include "error.h"
#include "reading/manifest.h"

namespace intarsia {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;  // 64 TiB, which no machine has
constexpr std::size_t kMostDims = 64;

struct Type {
    const char* name;
    intarsia_dtype dtype;
    std::size_t bytes;
};

constexpr std::array<Type, 13> kTypes{{
    {"float32", INTARSIA_FLOAT32, 4},
    {"uint8", INTARSIA_UINT8, 1},
    {"int8", INTARSIA_INT8, 1},
    {"uint16", INTARSIA_UINT16, 2},
    {"int16", INTARSIA_INT16, 2},
    {"int32", INTARSIA_INT32, 4},
    {"int64", INTARSIA_INT64, 8},
    {"bool", INTARSIA_BOOL, 1},
    {"float16", INTARSIA_FLOAT16, 2},
    {"float64", INTARSIA_FLOAT64, 8},
    {"uint32", INTARSIA_UINT32, 4},
    {"uint64", INTARSIA_UINT64, 8},
    {"bfloat16", INTARSIA_BFLOAT16, 2},
}};

const Type* type_of(intarsia_dtype dtype) {
    const auto* const found =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) { return type.dtype == dtype; });
    return found == kTypes.end() ? nullptr : found;
}

}  // namespace

const char* name_of(intarsia_dtype dtype) {
    const Type* const type = type_of(dtype);
    return type == nullptr ? "no type" : type->name;
}

std::size_t bytes_of(intarsia_dtype dtype) {
    const Type* const type = type_of(dtype);
    return type == nullptr ? 0 : type->bytes;
}

intarsia_dtype dtype_of(const std::string& name, const std::string& at) {
    const auto* const found =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) { return name == type.name; });
    if (found == kTypes.end()) {
        throw ArtifactError(at + ": the runtime cpp has no arrays of type " + shown(name) + "; run it from Python");
    }
    return found->dtype;
}

std::size_t array_bytes(const std::vector<std::int64_t>& shape, intarsia_dtype dtype, const std::string& at) {
    if (shape.size() > kMostDims) {
        throw ArtifactError(at + ": a rank of " + std::to_string(shape.size()) + " is more than 64");
    }
    std::uint64_t most = bytes_of(dtype);  // of what it would be if no size were 0
    bool is_empty = false;
    for (const std::int64_t size : shape) {
        if (size < 0 || static_cast<std::uint64_t>(size) > kMostBytes) {
            throw ArtifactError(at + ": " + std::to_string(size) + " is no size of a dimension");
        }
        is_empty = is_empty || size == 0;
        const std::uint64_t factor = size == 0 ? 1 : static_cast<std::uint64_t>(size);
        if (most > kMostBytes / factor) {
            throw ArtifactError(at + ": it has more elements than any machine can hold");
        }
        most *= factor;
    }
    return is_empty ? 0 : static_cast<std::size_t>(most);
}

std::size_t Border::elements() const { return bytes / bytes_of(dtype); }

std::string described(const Border& border) {
    std::string text = border.name + " " + name_of(border.dtype) + "[";
    for (std::size_t axis = 0; axis < border.shape.size(); ++axis) {
        text += (axis == 0 ? "" : ",") + std::to_string(border.shape[axis]);
    }
    return text + "]";
}

std::vector<std::int64_t> shape_in(const Json& list, const std::string& at) {
    std::vector<std::int64_t> found;
    for (const Json& size : list.list(at)) {
        found.push_back(size.integer(at));
    }
    return found;
}

std::vector<Border> rows_in(const Json& list, const std::string& at) {
    std::vector<Border> found;
    for (const Json& row : list.list(at)) {
        const auto& fields = row.list(at);
        if (fields.size() != 3 || fields[2].is_null()) {
            throw ArtifactError(at + ": should be names, types and shapes, three each");
        }
        const intarsia_dtype dtype = dtype_of(fields[1].text(at), at);
        Border border{fields[0].text(at), dtype, shape_in(fields[2], at), 0};
        border.bytes = array_bytes(border.shape, dtype, at);
        found.push_back(std::move(border));
    }
    return found;
}

}  // namespace intarsia
