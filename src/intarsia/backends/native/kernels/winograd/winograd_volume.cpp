// Volumes: filters of 3x3 in height and width and of any depth, with stride 1 and any padding. Winograd's method is over
// height and width; the slices of a filter are summed in the product.
#include "kernels/kernels.h"
#include "winograd.h"

namespace intarsia {

std::unique_ptr<Kernel> winograd_volume(const Filter& filter) {
    return std::make_unique<Winograd<3, 2, 4, 6>>(filter, plain_weights);
}

}  // namespace intarsia
