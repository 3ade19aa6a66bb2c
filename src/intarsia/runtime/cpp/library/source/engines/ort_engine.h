// ONNX Runtime's library and its environment, one of each in a process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engines/ort_api.h"

namespace intarsia {

struct OrtEngine {
    // Opened by the first who asks; later folders change nothing. Throws `UnavailableError`.
    static const OrtEngine& of(const std::vector<std::string>& folders);

    const OrtApiBase* base;
    ort::Api api;
    std::string version;
    OrtEnv* env;  // as long as the process: ONNX Runtime's own threads may outlive every session
    OrtMemoryInfo* memory;
    void* allocator;

    // Throws `LoadError` with the engine's text for a status that is one.
    void check(OrtStatus* status) const;
    // The text of a status, which is released.
    std::string taken(OrtStatus* status) const;
};

// What the engine gives, released by the function beside it.
template <typename Thing>
using Held = std::unique_ptr<Thing, void (*)(Thing*)>;

}  // namespace intarsia
