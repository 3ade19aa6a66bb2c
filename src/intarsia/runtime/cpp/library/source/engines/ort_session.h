// A session of ONNX Runtime over mapped weights, bound to the plan's memory.
#pragma once

#include "engines/executable.h"
#include "engines/ort_engine.h"

namespace intarsia {

// A weight that the model names, and where its bytes lie.
struct Initializer {
    std::string name;
    intarsia_dtype dtype;
    std::vector<std::int64_t> shape;
    const char* data;
    std::size_t bytes;
    std::shared_ptr<char[]> copy;  // what `data` points into, where it does not lie in the artifact as it is
};

// What our own operators call for a partition of another engine: 0, or not where it failed.
using Callback = int (*)(std::int64_t partition, void** inputs, void** outputs, std::int64_t input_count,
                         std::int64_t output_count, const std::int64_t* elements);

// Calls the `Visit` of the session that runs on this thread.
int call_partition(std::int64_t partition, void** inputs, void** outputs, std::int64_t input_count,
                   std::int64_t output_count, const std::int64_t* elements);

// Opens a model; its inputs and outputs must be those of the plan. `visit` may be empty.
std::unique_ptr<Executable> open_session(const OrtEngine& engine, std::string_view model, OrtSessionOptions* options,
                                         const std::vector<Initializer>& initializers,
                                         const std::vector<Border>& inputs, const std::vector<Border>& outputs,
                                         Visit visit);

}  // namespace intarsia
