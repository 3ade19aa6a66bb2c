// `intarsia::Partition`, as it is registered.
#pragma once

#include "ort_call.h"

namespace intarsia {

struct PartitionOperator : OrtCustomOp {
    explicit PartitionOperator(const ort::Functions& functions);

    const ort::Functions ort;
};

}  // namespace intarsia
