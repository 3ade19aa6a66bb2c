// `intarsia::Placeholder`, as it is registered.
#pragma once

#include "ort_call.h"

namespace intarsia {

struct PlaceholderOperator : OrtCustomOp {
    explicit PlaceholderOperator(const ort::Functions& functions);

    const ort::Functions ort;
};

}  // namespace intarsia
