#include "blocks/padding.h"

#include <algorithm>
#include <vector>

#include "kernels/vector.h"

namespace intarsia {

namespace {

constexpr std::size_t kNothing = static_cast<std::size_t>(-1);

// From where in the image each place along a dimension comes; kNothing where it is the constant.
std::vector<std::size_t> sources(const Padding& padding, std::size_t axis, std::size_t size) {
    std::vector<std::size_t> found;
    for (std::size_t at = padding.before[axis]; at > 0; --at) {
        found.push_back(padding.edge == Edge::kConstant ? kNothing : padding.edge == Edge::kReflect ? at : 0);
    }
    for (std::size_t at = 0; at < size; ++at) found.push_back(at);
    for (std::size_t at = 1; at <= padding.after[axis]; ++at) {
        const std::size_t last = size - 1;
        found.push_back(padding.edge == Edge::kConstant ? kNothing : padding.edge == Edge::kReflect ? last - at : last);
    }
    return found;
}

}  // namespace

bool fits(const Padding& padding, const Extents& in) {
    for (std::size_t axis = 0; axis < in.size(); ++axis) {
        const std::size_t most = std::max(padding.before[axis], padding.after[axis]);
        const std::size_t needed = padding.edge == Edge::kReflect ? most + 1 : 1;
        if (padding.edge != Edge::kConstant && most > 0 && in[axis] < needed) return false;
    }
    return true;
}

void pad(const Padding& padding, const float* x, float* y, std::size_t planes, const Extents& in,
         const Threads& threads) {
    const std::vector<std::size_t> depth = sources(padding, 0, in[0]), height = sources(padding, 1, in[1]),
                                   width = sources(padding, 2, in[2]);
    const std::size_t rows = depth.size() * height.size(), line = width.size() * kBlock;
    const Vec constant = broadcast(padding.value);
    threads.share(planes * depth.size(), [&](std::size_t index) {
        const std::size_t slice = depth[index % depth.size()], plane = index / depth.size();
        float* to = y + (plane * rows + index % depth.size() * height.size()) * line;
        for (const std::size_t row : height) {
            const bool is_outside = slice == kNothing || row == kNothing;
            const float* from = is_outside ? nullptr : x + ((plane * in[0] + slice) * in[1] + row) * in[2] * kBlock;
            for (const std::size_t column : width) {
                store(to, is_outside || column == kNothing ? constant : load(from + column * kBlock));
                to += kBlock;
            }
        }
    });
}

}  // namespace intarsia
