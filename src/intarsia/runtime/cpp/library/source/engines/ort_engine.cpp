#include "engines/ort_engine.h"

#include <cstdlib>
#include <mutex>

#include "error.h"
#include "engines/executable.h"
#include "engines/library.h"

namespace intarsia {
namespace {

constexpr const char* kFix = "install ONNX Runtime (pip install onnxruntime, or its release for C)";

OrtEngine* opened(const std::vector<std::string>& folders) {
    // Read once, while the library loads; a value that the process has stays.
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 0);
    const auto library = Library::of_engine("libonnxruntime.so", "INTARSIA_ONNXRUNTIME_LIBRARY", folders, kFix);
    const auto get_base = library->function<const OrtApiBase* (*)()>("OrtGetApiBase");
    if (get_base == nullptr) {
        throw UnavailableError("libonnxruntime.so has no OrtGetApiBase, so it is no ONNX Runtime");
    }
    const OrtApiBase* const base = get_base();
    const OrtApi* const table = base->GetApi(ort::kApiVersion);
    if (table == nullptr) {
        throw UnavailableError(std::string("ONNX Runtime ") + base->GetVersionString() + " is too old; " + kFix);
    }
    auto* const engine = new OrtEngine{base, ort::Api(table), base->GetVersionString(), nullptr, nullptr, nullptr};
    engine->check(engine->api.create_env(ort::kLogFatal, "intarsia", &engine->env));
    engine->check(engine->api.disable_telemetry(engine->env));
    engine->check(engine->api.create_memory_info(ort::kArenaAllocator, ort::kDefaultMemory, &engine->memory));
    engine->check(engine->api.default_allocator(&engine->allocator));
    return engine;
}

}  // namespace

const OrtEngine& OrtEngine::of(const std::vector<std::string>& folders) {
    static std::mutex mutex;
    static OrtEngine* engine = nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    if (engine == nullptr) {
        engine = opened(folders);
    }
    return *engine;
}

void OrtEngine::check(OrtStatus* status) const {
    if (status != nullptr) {
        throw LoadError("onnxruntime", taken(status));
    }
}

std::string OrtEngine::taken(OrtStatus* status) const {
    const std::string text = api.error_message(status);
    api.release_status(status);
    return text;
}

std::string onnxruntime_version(const std::vector<std::string>& folders) { return OrtEngine::of(folders).version; }

}  // namespace intarsia
