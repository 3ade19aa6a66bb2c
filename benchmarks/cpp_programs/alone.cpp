// One engine by its own C interface, with its defaults but for the threads: loads an ONNX file and runs it once on
// zeros. Arguments: onnxruntime or openvino, the library, the model, threads. Inputs have fixed shapes.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engines/openvino_api.h"
#include "engines/ort_api.h"

namespace {

void need(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "%s failed\n", what);
        std::_Exit(1);
    }
}

template <typename Function>
Function found(void* library, const char* name) {
    void* const symbol = dlsym(library, name);
    need(symbol != nullptr, name);
    return reinterpret_cast<Function>(symbol);
}

void onnxruntime(void* library, const char* path, int threads) {
    const auto* const table = found<const OrtApiBase* (*)()>(library, "OrtGetApiBase")()->GetApi(18);
    const intarsia::ort::Api api(table);
    const auto create = reinterpret_cast<OrtStatus* (*)(const OrtEnv*, const char*, const OrtSessionOptions*, OrtSession**)>(
        reinterpret_cast<void* const*>(table)[7]);  // CreateSession, from a path
    OrtEnv* env = nullptr;
    OrtSessionOptions* options = nullptr;
    OrtSession* session = nullptr;
    OrtMemoryInfo* memory = nullptr;
    void* allocator = nullptr;
    need(api.create_env(4, "alone", &env) == nullptr, "CreateEnv");
    need(api.create_options(&options) == nullptr, "CreateSessionOptions");
    need(api.set_intra_threads(options, threads) == nullptr, "SetIntraOpNumThreads");
    need(create(env, path, options, &session) == nullptr, "CreateSession");
    need(api.create_memory_info(1, 0, &memory) == nullptr, "CreateCpuMemoryInfo");
    need(api.default_allocator(&allocator) == nullptr, "GetAllocatorWithDefaultOptions");
    std::size_t reads = 0, writes = 0;
    need(api.input_count(session, &reads) == nullptr && api.output_count(session, &writes) == nullptr, "counts");
    std::vector<char*> names(reads), wanted(writes);
    std::vector<OrtValue*> values(reads), results(writes, nullptr);
    std::vector<std::vector<char>> zeros;
    for (std::size_t place = 0; place < reads; ++place) {
        OrtTypeInfo* type = nullptr;
        const OrtTensorTypeAndShapeInfo* info = nullptr;
        std::size_t rank = 0;
        int element = 0;
        need(api.input_name(session, place, allocator, &names[place]) == nullptr, "SessionGetInputName");
        need(api.input_type(session, place, &type) == nullptr, "SessionGetInputTypeInfo");
        need(api.tensor_info(type, &info) == nullptr, "CastTypeInfoToTensorInfo");
        need(api.element_type(info, &element) == nullptr && api.dimensions_count(info, &rank) == nullptr, "types");
        std::vector<std::int64_t> shape(rank);
        need(api.dimensions(info, shape.data(), rank) == nullptr, "GetDimensions");
        std::size_t bytes = element == 7 ? 8 : 4;
        for (const std::int64_t size : shape) {
            bytes *= static_cast<std::size_t>(size);
        }
        zeros.emplace_back(bytes);
        need(api.create_tensor(memory, zeros.back().data(), bytes, shape.data(), rank, element, &values[place]) == nullptr,
             "CreateTensorWithDataAsOrtValue");
    }
    for (std::size_t place = 0; place < writes; ++place) {
        need(api.output_name(session, place, allocator, &wanted[place]) == nullptr, "SessionGetOutputName");
    }
    need(api.run(session, nullptr, names.data(), values.data(), reads, wanted.data(), writes, results.data()) == nullptr,
         "Run");
}

void openvino(void* library, const char* path, int threads) {
    namespace ov = intarsia::ov;
    ov::Core* core = nullptr;
    ov::Model* model = nullptr;
    ov::CompiledModel* compiled = nullptr;
    ov::Request* request = nullptr;
    const std::string count = std::to_string(threads);
    need(found<int (*)(ov::Core**)>(library, "ov_core_create")(&core) == 0, "ov_core_create");
    using Read = int (*)(const ov::Core*, const char*, const char*, ov::Model**);
    need(found<Read>(library, "ov_core_read_model")(core, path, nullptr, &model) == 0, "ov_core_read_model");
    const auto compile = found<decltype(ov::Api::compile_model)>(library, "ov_core_compile_model");
    need(compile(core, model, "CPU", 2, &compiled, "INFERENCE_NUM_THREADS", count.c_str()) == 0, "ov_core_compile_model");
    const auto create = found<decltype(ov::Api::create_request)>(library, "ov_compiled_model_create_infer_request");
    need(create(compiled, &request) == 0, "ov_compiled_model_create_infer_request");
    // The request has memory of its own for inputs, which is not set here: what it holds changes no time.
    need(found<decltype(ov::Api::infer)>(library, "ov_infer_request_infer")(request) == 0, "ov_infer_request_infer");
}

}  // namespace

int main(int count, char** words) {
    need(count == 5, "four arguments");
    void* const library = dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
    need(library != nullptr, words[2]);
    (std::strcmp(words[1], "openvino") == 0 ? openvino : onnxruntime)(library, words[3], std::atoi(words[4]));
    std::_Exit(0);
}
