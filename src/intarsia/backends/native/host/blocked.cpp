#include "blocked.h"

#include <functional>
#include <numeric>

#include "kernels/vector.h"

namespace intarsia {

Blocked blocked_input(const ort::Functions& ort, const std::string& name, const OrtKernelContext* context) {
    Blocked found{};
    check(ort, ort.input(context, 0, &found.value));
    found.shape = dimensions_of(ort, found.value);
    if (found.shape.size() < 3 || found.shape.size() > 5 || found.shape[1] % static_cast<std::int64_t>(kBlock) != 0) {
        throw std::runtime_error(name + " was given a shape that does not fit blocks of " + std::to_string(kBlock));
    }
    found.images = static_cast<std::size_t>(found.shape[0]);
    found.planes = static_cast<std::size_t>(found.shape[0] * found.shape[1]) / kBlock;
    found.rank = found.shape.size() - 2;
    return found;
}

float* blocked_output(const ort::Functions& ort, OrtKernelContext* context, const Dimensions& shape,
                      std::size_t output) {
    OrtValue* y = nullptr;
    check(ort, ort.output(context, output, shape.data(), shape.size(), &y));
    return data_of(ort, y);
}

std::int64_t count_of(const Dimensions& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Dimensions integers(const ort::Functions& ort, const OrtKernelInfo* info, const char* name) {
    std::size_t count = 0;
    check(ort, ort.integers(info, name, nullptr, &count));
    Dimensions numbers(count);
    check(ort, ort.integers(info, name, numbers.data(), &count));
    return numbers;
}

float attribute(const ort::Functions& ort, const OrtKernelInfo* info, const char* name) {
    float value = 0;
    check(ort, ort.attribute(info, name, &value));
    return value;
}

}  // namespace intarsia
