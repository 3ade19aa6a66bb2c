// Filters of 5x5, with stride 1 and any padding, in one group or several.
#include "kernels/kernels.h"
#include "winograd.h"

namespace intarsia {

std::unique_ptr<Kernel> winograd_5x5(const Filter& filter) {
    return std::make_unique<Winograd<5, 2, 4>>(filter, blocked_weights);
}

}  // namespace intarsia
