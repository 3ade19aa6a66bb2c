// Calls of ONNX Runtime's functions with C++ manners: a status becomes an exception, and an exception a status.
#pragma once

#include <stdexcept>
#include <string>

#include "ort_abi.h"

namespace intarsia {

inline void check(const ort::Functions& ort, OrtStatus* status) {
    if (status == nullptr) {
        return;
    }
    const std::string message = ort.error_message(status);
    ort.release_status(status);
    throw std::runtime_error(message);
}

// No exception may cross the C boundary: whatever is thrown inside becomes a status.
template <typename Body>
OrtStatus* guarded(const ort::Functions& ort, Body body) noexcept {
    try {
        body();
        return nullptr;
    } catch (const std::exception& error) {
        return ort.create_status(ort::kRuntimeException, error.what());
    } catch (...) {
        return ort.create_status(ort::kRuntimeException, "unknown error in an operator of Intarsia");
    }
}

inline float* data_of(const ort::Functions& ort, const OrtValue* value) {
    void* data = nullptr;
    check(ort, ort.tensor_data(const_cast<OrtValue*>(value), &data));
    return static_cast<float*>(data);
}

}  // namespace intarsia
