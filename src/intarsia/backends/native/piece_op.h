// `intarsia::Piece`, as it is registered.
#pragma once

#include "ort_call.h"

namespace intarsia {

struct PieceOperator : OrtCustomOp {
    explicit PieceOperator(const ort::Functions& functions);

    const ort::Functions ort;
};

}  // namespace intarsia
