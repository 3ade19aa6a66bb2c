// The check of what a caller gives: no engine sees an array of the wrong name, type or shape.
#include <algorithm>
#include <cstdint>

#include "error.h"
#include "model.h"

namespace intarsia {
namespace {

std::string shape_text(const intarsia_tensor& tensor) {
    std::string text = "[";
    for (std::size_t axis = 0; axis < tensor.rank; ++axis) {
        text += (axis == 0 ? "" : ",") + std::to_string(tensor.shape[axis]);
    }
    return text + "]";
}

// In what a tensor is not the border's; "" if it is.
std::string fault(const Border& border, const intarsia_tensor& tensor) {
    if (tensor.dtype != border.dtype) {
        return std::string("as ") + name_of(tensor.dtype);
    }
    if (tensor.rank > 0 && tensor.shape == nullptr) {
        return "without a shape";
    }
    const bool is_alike = tensor.rank == border.shape.size() &&
                          std::equal(border.shape.begin(), border.shape.end(), tensor.shape);
    if (!is_alike) {
        return "the shape " + (tensor.rank > 64 ? std::string("of too many dimensions") : shape_text(tensor));
    }
    if (tensor.bytes != border.bytes) {
        return std::to_string(tensor.bytes) + " bytes, and it has " + std::to_string(border.bytes);
    }
    if (tensor.data == nullptr && border.bytes > 0) {
        return "a null pointer";
    }
    if (reinterpret_cast<std::uintptr_t>(tensor.data) % bytes_of(border.dtype) != 0) {
        return "memory that is not aligned to its type";
    }
    return "";
}

std::string names_of(const std::vector<Border>& borders) {
    std::string text;
    for (const Border& border : borders) {
        text += (text.empty() ? "" : ", ") + border.name;
    }
    return text.empty() ? "(none)" : text;
}

}  // namespace

std::vector<const intarsia_tensor*> matched(const std::vector<Border>& borders, const intarsia_tensor* tensors,
                                            std::size_t count, bool is_input) {
    const std::string side = is_input ? "input" : "output";
    std::vector<const intarsia_tensor*> found(borders.size(), nullptr);
    std::string problems;
    const auto tell = [&](const std::string& problem) { problems += (problems.empty() ? "" : "; ") + problem; };
    if (count > 0 && tensors == nullptr) {
        throw FeedError("the " + side + "s are a null pointer");
    }
    for (std::size_t number = 0; number < count; ++number) {
        const intarsia_tensor& tensor = tensors[number];
        std::size_t place = number;
        if (tensor.name != nullptr) {
            const auto named = std::find_if(borders.begin(), borders.end(),
                                            [&](const Border& border) { return border.name == tensor.name; });
            place = static_cast<std::size_t>(named - borders.begin());
        }
        if (place >= borders.size()) {
            tell("the model has no " + side + " " +
                 (tensor.name == nullptr ? "at place " + std::to_string(number) : shown(tensor.name)) + "; the " +
                 side + "s are " + names_of(borders));
            continue;
        }
        if (found[place] != nullptr) {
            tell(side + " " + borders[place].name + " is given twice");
        }
        const std::string wrong = fault(borders[place], tensor);
        if (!wrong.empty()) {
            tell(side + " " + described(borders[place]) + " was given " + wrong);
        }
        found[place] = &tensor;
    }
    for (std::size_t place = 0; is_input && place < borders.size(); ++place) {
        if (found[place] == nullptr) {
            tell("input " + described(borders[place]) + " is missing");
        }
    }
    if (!problems.empty()) {
        throw FeedError(problems);
    }
    return found;
}

void check_apart(const std::vector<const intarsia_tensor*>& inputs,
                 const std::vector<const intarsia_tensor*>& outputs) {
    const auto overlap = [](const intarsia_tensor& one, const intarsia_tensor& other) {
        const auto first = reinterpret_cast<std::uintptr_t>(one.data);
        const auto second = reinterpret_cast<std::uintptr_t>(other.data);
        return first < second + other.bytes && second < first + one.bytes;
    };
    for (std::size_t place = 0; place < outputs.size(); ++place) {
        if (outputs[place] == nullptr) {
            continue;
        }
        for (const intarsia_tensor* const input : inputs) {
            if (overlap(*outputs[place], *input)) {
                throw FeedError("an output is to be written over an input; give it memory of its own");
            }
        }
        for (std::size_t other = 0; other < place; ++other) {
            if (outputs[other] != nullptr && overlap(*outputs[place], *outputs[other])) {
                throw FeedError("two outputs are to be written to the same memory; give each its own");
            }
        }
    }
}

}  // namespace intarsia
