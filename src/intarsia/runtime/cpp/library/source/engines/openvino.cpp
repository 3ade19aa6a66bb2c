// Steps of OpenVINO: its own format with constants that lie in the mapped artifact, compiled while it is loaded.
#include <cstdlib>
#include <mutex>

#include "error.h"
#include "engines/executable.h"
#include "engines/library.h"
#include "machine.h"
#include "engines/openvino_api.h"
#include "engines/openvino_text.h"

namespace intarsia {
namespace {

constexpr const char* kName = "openvino";
constexpr const char* kFix = "install OpenVINO (pip install openvino, or its archive for C++)";

struct Engine {
    ov::Api api{};
    ov::Core* core = nullptr;
    std::string version;

    void check(int status) const {
        if (status != 0) {
            throw LoadError(kName, text(status));
        }
    }

    std::string text(int status) const {
        const char* const last = api.last_error();
        return last != nullptr && *last != '\0' ? last : "status " + std::to_string(status);
    }
};

template <typename Function>
void bind(const Library& library, const char* name, Function& function) {
    function = library.function<Function>(name);
    if (function == nullptr) {
        throw UnavailableError(std::string("OpenVINO's C library has no ") + name + "; " + kFix);
    }
}

Engine* opened(const std::vector<std::string>& folders) {
    // What oneDNN keeps of kernels that it made; read while its library loads, and a value that is there stays.
    ::setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64", 0);
    const auto library = Library::of_engine("libopenvino_c.so", "INTARSIA_OPENVINO_LIBRARY", folders, kFix);
    auto engine = std::make_unique<Engine>();
    ov::Api& api = engine->api;
    bind(*library, "ov_get_openvino_version", api.version);
    bind(*library, "ov_version_free", api.version_free);
    bind(*library, "ov_get_last_err_msg", api.last_error);
    bind(*library, "ov_core_create", api.core_create);
    bind(*library, "ov_core_read_model_from_memory_buffer", api.read_model);
    bind(*library, "ov_core_compile_model", api.compile_model);
    bind(*library, "ov_model_free", api.model_free);
    bind(*library, "ov_compiled_model_inputs_size", api.inputs_size);
    bind(*library, "ov_compiled_model_outputs_size", api.outputs_size);
    bind(*library, "ov_compiled_model_input_by_index", api.input_at);
    bind(*library, "ov_compiled_model_output_by_index", api.output_at);
    bind(*library, "ov_const_port_get_shape", api.port_shape);
    bind(*library, "ov_port_get_element_type", api.port_type);
    bind(*library, "ov_output_const_port_free", api.port_free);
    bind(*library, "ov_shape_free", api.shape_free);
    bind(*library, "ov_compiled_model_create_infer_request", api.create_request);
    bind(*library, "ov_compiled_model_free", api.compiled_free);
    bind(*library, "ov_infer_request_set_input_tensor_by_index", api.set_input);
    bind(*library, "ov_infer_request_set_output_tensor_by_index", api.set_output);
    bind(*library, "ov_infer_request_infer", api.infer);
    bind(*library, "ov_infer_request_free", api.request_free);
    bind(*library, "ov_tensor_create_from_host_ptr", api.create_tensor);
    bind(*library, "ov_tensor_free", api.tensor_free);
    ov::Version version{};
    engine->check(api.version(&version));
    engine->version = version.build_number;
    api.version_free(&version);
    engine->check(api.core_create(&engine->core));
    return engine.release();
}

// One of each in a process, as long as that: its threads outlive every model.
const Engine& engine_of(const std::vector<std::string>& folders) {
    static std::mutex mutex;
    static Engine* engine = nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    if (engine == nullptr) {
        engine = opened(folders);
    }
    return *engine;
}

int type_of(intarsia_dtype dtype) {
    switch (dtype) {
        case INTARSIA_FLOAT32: return ov::kF32;
        case INTARSIA_UINT8: return ov::kU8;
        case INTARSIA_INT8: return ov::kI8;
        case INTARSIA_UINT16: return ov::kU16;
        case INTARSIA_INT16: return ov::kI16;
        case INTARSIA_INT32: return ov::kI32;
        case INTARSIA_INT64: return ov::kI64;
        case INTARSIA_BOOL: return ov::kBool;
        case INTARSIA_FLOAT16: return ov::kF16;
        case INTARSIA_FLOAT64: return ov::kF64;
        case INTARSIA_UINT32: return ov::kU32;
        case INTARSIA_UINT64: return ov::kU64;
        case INTARSIA_BFLOAT16: return ov::kBf16;
    }
    return 0;
}

template <typename Thing>
using Held = std::unique_ptr<Thing, void (*)(Thing*)>;

Held<ov::Tensor> tensor(const Engine& engine, int type, std::vector<std::int64_t> shape, void* data) {
    alignas(64) static char nothing[64];  // what is empty has an address, too
    ov::Tensor* made = nullptr;
    const ov::Shape sizes{static_cast<std::int64_t>(shape.size()), shape.data()};
    engine.check(engine.api.create_tensor(type, sizes, data == nullptr ? nothing : data, &made));
    return {made, engine.api.tensor_free};
}

struct Port {
    const Border* border;
    std::size_t index;
    const void* at;
};

class OpenVino : public Executable {
  public:
    OpenVino(const Engine& engine, const StoredStep& step, const std::vector<std::string>& left,
             ov::CompiledModel* compiled)
        : engine_(engine), compiled_(compiled, engine.api.compiled_free) {
        inputs_.resize(step.inputs.size());
        for (std::size_t place = 0; place < step.inputs.size(); ++place) {
            inputs_[place] = {&step.inputs[place], left.size(), nullptr};
            for (std::size_t index = 0; index < left.size(); ++index) {
                inputs_[place].index = left[index] == step.inputs[place].name ? index : inputs_[place].index;
            }
        }
        for (const Border& border : step.outputs) {
            outputs_.push_back({&border, outputs_.size(), nullptr});
        }
        absent_ = left.size();
        check_side(inputs_, left.size(), engine.api.inputs_size, engine.api.input_at);
        check_side(outputs_, outputs_.size(), engine.api.outputs_size, engine.api.output_at);
        ov::Request* request = nullptr;
        engine.check(engine.api.create_request(compiled, &request));
        request_ = {request, engine.api.request_free};
    }

    void place_input(std::size_t index, const void* data) override {
        if (inputs_[index].index != absent_) {  // what no operator looks at vanished while the model was converted
            point(inputs_[index], const_cast<void*>(data), engine_.api.set_input);
        }
    }

    void place_output(std::size_t index, void* data) override { point(outputs_[index], data, engine_.api.set_output); }

    void run() override {
        const int status = engine_.api.infer(request_.get());
        if (status != 0) {
            throw RunError(kName, engine_.text(status));
        }
    }

  private:
    template <typename Set>
    void point(Port& port, void* data, Set set) {
        if (port.at == data && data != nullptr) {
            return;
        }
        const auto made = tensor(engine_, type_of(port.border->dtype), port.border->shape, data);
        engine_.check(set(request_.get(), port.index, made.get()));
        port.at = data;
    }

    template <typename Count, typename At>
    void check_side(const std::vector<Port>& side, std::size_t wanted, Count count_of, At at) const {
        std::size_t count = 0;
        engine_.check(count_of(compiled_.get(), &count));
        bool fits = count == wanted;
        for (const Port& port : side) {
            if (!fits || port.index >= count) {
                continue;
            }
            ov::ConstPort* raw = nullptr;
            engine_.check(at(compiled_.get(), port.index, &raw));
            const Held<ov::ConstPort> held(raw, engine_.api.port_free);
            int type = 0;
            ov::Shape shape{};
            engine_.check(engine_.api.port_type(raw, &type));
            engine_.check(engine_.api.port_shape(raw, &shape));
            const std::vector<std::int64_t> sizes(shape.sizes, shape.sizes + shape.rank);
            engine_.api.shape_free(&shape);
            fits = type == type_of(port.border->dtype) && sizes == port.border->shape;
        }
        if (!fits) {
            throw LoadError(kName, "its model has other inputs or outputs than the plan; compile it anew");
        }
    }

    const Engine& engine_;
    Held<ov::CompiledModel> compiled_;
    Held<ov::Request> request_{nullptr, nullptr};
    std::vector<Port> inputs_, outputs_;
    std::size_t absent_ = 0;
};

std::vector<std::string> texts(const Json& list, const std::string& at) {
    std::vector<std::string> found;
    for (const Json& each : list.list(at)) {
        found.push_back(each.text(at));
    }
    return found;
}

}  // namespace

std::unique_ptr<Executable> load_openvino(const Source& source, const StoredStep& step) {
    const std::string at = step.at + " (native)";
    const Engine& engine = engine_of(source.folders);
    const std::string_view text = source.container.read(step.native.get("model", at).text(at + ".model"));
    const std::string_view file = source.container.bytes();
    check_constants(text, file.size());
    const std::vector<std::string> left = texts(step.native.get("inputs", at), at + ".inputs");
    const std::int64_t threads = step.native.get("threads", at).integer(at + ".threads");
    if (threads < 1 || threads > kMostThreads) {
        throw ArtifactError(at + ".threads: " + std::to_string(threads) + " is no number of threads");
    }
    const std::string hint = step.native.get("performance_hint", at).text(at + ".performance_hint");
    const std::string precision = step.native.get("inference_precision", at).text(at + ".inference_precision");
    // Each model pins its threads from the first core on, so two at work on some of the cores would share those.
    const char* const pins = threads >= thread_budget() ? "YES" : "NO";
    const std::string count = std::to_string(threads);
    const auto weights = tensor(engine, ov::kU8, {static_cast<std::int64_t>(file.size())},
                                const_cast<char*>(file.data()));
    ov::Model* model = nullptr;
    engine.check(engine.api.read_model(engine.core, text.data(), text.size(), weights.get(), &model));
    const Held<ov::Model> held(model, engine.api.model_free);
    ov::CompiledModel* compiled = nullptr;
    engine.check(engine.api.compile_model(
        engine.core, model, "CPU", 12, &compiled, "INFERENCE_NUM_THREADS", count.c_str(), "ENABLE_CPU_PINNING", pins,
        "NUM_STREAMS", "1", "PERFORMANCE_HINT", hint.c_str(), "INFERENCE_PRECISION_HINT", precision.c_str(),
        "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0"));
    return std::make_unique<OpenVino>(engine, step, left, compiled);
}

std::string openvino_version(const std::vector<std::string>& folders) { return engine_of(folders).version; }

}  // namespace intarsia
