// What a session is opened with: options, libraries of operators, weights.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "error.h"
#include "engines/library.h"
#include "machine.h"
#include "engines/ort_session.h"

namespace intarsia {
namespace {

constexpr const char* kName = "onnxruntime";
constexpr const char* kKernels = "kernels.so";

using RegisterCustomOps = OrtStatus* (*)(OrtSessionOptions*, const OrtApiBase*);
using SetCallback = void (*)(Callback);

int choice(const StoredStep& step, const char* name, std::initializer_list<int> legal) {
    const std::string at = step.at + " (native)." + name;
    const std::int64_t value = step.native.get(name, step.at + " (native)").integer(at);
    const auto* const found = std::find(legal.begin(), legal.end(), value);
    if (found == legal.end()) {
        throw ArtifactError(at + ": there is no " + std::to_string(value));
    }
    return *found;
}

Held<OrtSessionOptions> options_of(const OrtEngine& engine, const StoredStep& step, Spin spin) {
    OrtSessionOptions* raw = nullptr;
    engine.check(engine.api.create_options(&raw));
    Held<OrtSessionOptions> options(raw, engine.api.release_options);
    const std::string at = step.at + " (native)";
    const std::int64_t threads = step.native.get("threads", at).integer(at + ".threads");
    if (threads < 1 || threads > kMostThreads) {
        throw ArtifactError(at + ".threads: " + std::to_string(threads) + " is no number of threads");
    }
    engine.check(engine.api.set_log_level(raw, ort::kLogFatal));
    engine.check(engine.api.set_optimization_level(raw, choice(step, "level", {0, 1, 2, 99})));
    engine.check(engine.api.set_execution_mode(raw, choice(step, "mode", {0, 1})));
    engine.check(engine.api.set_intra_threads(raw, static_cast<int>(threads)));
    engine.check(engine.api.set_inter_threads(raw, 1));
    // On x86 without VNNI products of uint8 and int8 would else be added in 16 bits, and saturate.
    engine.check(engine.api.add_config(raw, "session.x64quantprecision", "1"));
    if (spin == Spin::kCall) {
        engine.check(engine.api.add_config(raw, "session.force_spinning_stop", "1"));
    } else if (spin == Spin::kNever) {
        engine.check(engine.api.add_config(raw, "session.intra_op.allow_spinning", "0"));
    }
    return options;
}

void register_operators(const OrtEngine& engine, OrtSessionOptions* options, const Library& library) {
    const auto entry = library.function<RegisterCustomOps>("RegisterCustomOps");
    if (entry == nullptr) {
        throw LoadError(kName, "a library of operators has no function RegisterCustomOps");
    }
    engine.check(entry(options, engine.base));
}

// Our own operators, which stay as long as the process: ONNX Runtime keeps what they registered.
std::shared_ptr<Library> kernels_of(const Source& source, const StoredStep& step) {
    const std::string at = step.at + ".meta";
    const std::string fault = unserved_code(step);
    if (!fault.empty()) {
        throw LoadError(step.engine, "the artifact's native library cannot run here: " + fault);
    }
    const std::int64_t block = lacking({"avx512f"}).empty() ? 16 : 8;
    if (step.meta.get("block", at).integer(at + ".block") != block) {
        throw LoadError(step.engine, "compiled for another block of channels than ONNX Runtime has on this machine");
    }
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<Library>>;
    auto library = Library::of_code(source.file(step, kKernels), step.engine);
    const std::lock_guard<std::mutex> lock(mutex);
    if (std::find(kept->begin(), kept->end(), library) == kept->end()) {
        kept->push_back(library);
    }
    return library;
}

// A weight at an address that vectors are read from: a file of a step may begin anywhere.
Initializer aligned(std::string name, intarsia_dtype dtype, std::vector<std::int64_t> shape, std::string_view bytes) {
    constexpr std::size_t kAlignment = 64;
    Initializer made{std::move(name), dtype, std::move(shape), bytes.data(), bytes.size(), nullptr};
    if (reinterpret_cast<std::uintptr_t>(made.data) % kAlignment != 0) {
        made.copy.reset(new char[made.bytes + kAlignment]);
        const auto start = reinterpret_cast<std::uintptr_t>(made.copy.get());
        char* const place = made.copy.get() + (kAlignment - start % kAlignment);
        std::memcpy(place, made.data, made.bytes);
        made.data = place;
    }
    return made;
}

// Weights that lie in a file of the step: name, type, shape, and where each starts.
void own_weights(const Source& source, const StoredStep& step, std::vector<Initializer>& found) {
    const std::string at = step.at + ".meta.weights";
    const auto& rows = step.meta.get("weights", step.at + ".meta").list(at);
    const std::string_view file = rows.empty() ? "" : source.file(step, "weights.bin");
    for (const Json& row : rows) {
        const auto& fields = row.list(at);
        if (fields.size() != 4) {
            throw ArtifactError(at + ": should be names, types, shapes and offsets");
        }
        const std::string& name = fields[0].text(at);
        const intarsia_dtype dtype = dtype_of(fields[1].text(at), at);
        std::vector<std::int64_t> shape = shape_in(fields[2], at);
        const std::size_t bytes = array_bytes(shape, dtype, at);
        const std::int64_t offset = fields[3].integer(at);
        if (offset < 0 || static_cast<std::size_t>(offset) > file.size() ||
            file.size() - static_cast<std::size_t>(offset) < bytes) {
            throw ArtifactError(at + ": " + shown(name) + " is not inside weights.bin");
        }
        found.push_back(aligned(name, dtype, std::move(shape), file.substr(static_cast<std::size_t>(offset), bytes)));
    }
}

// Weights in less than fp32, a file each.
void private_weights(const Source& source, const StoredStep& step, std::vector<Initializer>& found) {
    const Json* const own = step.meta.find("own_weights");
    if (own == nullptr || own->is_null()) {
        return;
    }
    const std::string at = step.at + ".meta.own_weights";
    std::size_t number = 0;
    for (const Border& row : rows_in(own->get("rows", at), at + ".rows")) {
        const std::string_view file = source.file(step, "own-weight-" + std::to_string(number++));
        if (file.size() != row.bytes) {
            throw ArtifactError(at + ": " + shown(row.name) + " has another size in its file");
        }
        found.push_back(aligned(row.name, row.dtype, row.shape, file));
    }
}

}  // namespace

std::unique_ptr<Executable> load_onnxruntime(const Source& source, const StoredStep& step,
                                             const std::vector<Border>& inputs, const std::vector<Border>& outputs,
                                             Visit visit) {
    const OrtEngine& engine = OrtEngine::of(source.folders);
    const Held<OrtSessionOptions> options = options_of(engine, step, source.manifest.spin);
    const std::string at = step.at + " (native)";
    for (const Json& path : step.native.get("libraries", at).list(at + ".libraries")) {
        // Allowed by the caller, or loading had ended before.
        const auto library = Library::of_engine(path.text(at), "INTARSIA_NO_OTHER_FILE", {}, "put it back");
        register_operators(engine, options.get(), *library);
    }
    std::vector<Initializer> initializers;
    for (const std::string& name : step.weights) {
        const Weight& weight = source.manifest.weights.at(name);
        initializers.push_back({name, weight.dtype, weight.shape, source.weight(name), weight.bytes, nullptr});
    }
    SetCallback set_callback = nullptr;
    if (step.native.get("saved", at).boolean(at + ".saved")) {
        const auto kernels = kernels_of(source, step);
        register_operators(engine, options.get(), *kernels);
        own_weights(source, step, initializers);
        set_callback = kernels->function<SetCallback>("intarsia_set_sized_callback");
    }
    private_weights(source, step, initializers);
    if (visit && set_callback == nullptr) {
        throw LoadError(kName, "its native library is of an earlier Intarsia; compile the model anew");
    }
    // Kernels keep whom to call when they are made, which is while their session is opened.
    if (visit) {
        set_callback(call_partition);
    }
    struct Undo {
        SetCallback set;
        ~Undo() {
            if (set != nullptr) {
                set(nullptr);
            }
        }
    } const undo{visit ? set_callback : nullptr};
    return open_session(engine, source.file(step, "model.onnx"), options.get(), initializers, inputs, outputs,
                        std::move(visit));
}

}  // namespace intarsia
