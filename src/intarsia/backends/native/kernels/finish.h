// The last step of a convolution, on a vector of sums.
#pragma once

#include "kernel.h"
#include "vector.h"

namespace intarsia {

inline Vec finished(Vec v, const Finish& finish) {
    if (finish.slope != 1) v = multiply_where_negative(v, broadcast(finish.slope));
    return clamp(v, broadcast(finish.low), broadcast(finish.high));
}

}  // namespace intarsia
