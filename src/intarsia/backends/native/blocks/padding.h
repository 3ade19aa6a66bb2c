// Padding of values in blocks: [N * C/B][depth][height][width][B].
#pragma once

#include "kernels/kernel.h"

namespace intarsia {

enum class Edge : std::size_t { kConstant, kReflect, kNearest };

// Rows before and after along each dimension. Reflection leaves out the edge itself, as ONNX's "reflect".
struct Padding {
    Edge edge;
    float value;  // of kConstant
    Extents before, after;
};

// Whether an image has the rows that a reflection needs.
bool fits(const Padding& padding, const Extents& in);

void pad(const Padding& padding, const float* x, float* y, std::size_t planes, const Extents& in,
         const Threads& threads);

}  // namespace intarsia
