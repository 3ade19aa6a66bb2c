// Filters of 3x3, with stride 1 and any padding, in one group or several.
#include "kernels/kernels.h"
#include "winograd.h"

namespace intarsia {

std::unique_ptr<Kernel> winograd_3x3(const Filter& filter) {
    return std::make_unique<Winograd<3, 2, 4, 6>>(filter, blocked_weights);
}

}  // namespace intarsia
