// Volumes: as winograd_volume.cpp, for filters of 5x5 in height and width.
#include "kernels/kernels.h"
#include "winograd.h"

namespace intarsia {

std::unique_ptr<Kernel> winograd_volume_5x5(const Filter& filter) {
    return std::make_unique<Winograd<5, 2, 4>>(filter, plain_weights);
}

}  // namespace intarsia
