// The part of ONNX Runtime's C API that opens and runs sessions, as facts: slot numbers and signatures.
//
// `OrtApi` is a table of function pointers that only ever grows at its end. The numbers were counted in the published
// listing of that table (csharp/src/Microsoft.ML.OnnxRuntime/NativeMethods.shared.cs of microsoft/onnxruntime), and agree
// with the anchors that onnxruntime itself asserts at compile time: slot 101 ends version 1 of the API, 124 version 3, 149
// version 5, 161 version 7, 169 version 8, 209 version 11, 218 version 12. Signatures and enumerators are those of
// include/onnxruntime/core/session/onnxruntime_c_api.h. An engine that is too old for `kApiVersion` answers `GetApi` with
// a null pointer.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct OrtApi;
struct OrtEnv;
struct OrtMemoryInfo;
struct OrtRunOptions;
struct OrtSession;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtTensorTypeAndShapeInfo;
struct OrtTypeInfo;
struct OrtValue;

struct OrtApiBase {
    const OrtApi* (*GetApi)(std::uint32_t version);
    const char* (*GetVersionString)();
};

}  // extern "C"

namespace intarsia::ort {

constexpr std::uint32_t kApiVersion = 18;  // as our operators ask for
constexpr int kLogFatal = 4;               // ORT_LOGGING_LEVEL_FATAL
constexpr int kArenaAllocator = 1;         // OrtArenaAllocator
constexpr int kDefaultMemory = 0;          // OrtMemTypeDefault
constexpr int kTensor = 1;                 // ONNX_TYPE_TENSOR

// The functions in use, each read from its slot once. A null status means success.
struct Api {
    explicit Api(const OrtApi* api)
        : error_message(slot<2>(api)),
          create_env(slot<3>(api)),
          disable_telemetry(slot<6>(api)),
          create_session(slot<8>(api)),
          run(slot<9>(api)),
          create_options(slot<10>(api)),
          set_execution_mode(slot<13>(api)),
          set_log_level(slot<22>(api)),
          set_optimization_level(slot<23>(api)),
          set_intra_threads(slot<24>(api)),
          set_inter_threads(slot<25>(api)),
          input_count(slot<30>(api)),
          output_count(slot<31>(api)),
          input_type(slot<33>(api)),
          output_type(slot<34>(api)),
          input_name(slot<36>(api)),
          output_name(slot<37>(api)),
          create_tensor(slot<49>(api)),
          tensor_info(slot<55>(api)),
          kind_of_type(slot<56>(api)),
          element_type(slot<60>(api)),
          dimensions_count(slot<61>(api)),
          dimensions(slot<62>(api)),
          create_memory_info(slot<69>(api)),
          free_name(slot<76>(api)),
          default_allocator(slot<78>(api)),
          release_status(slot<93>(api)),
          release_session(slot<95>(api)),
          release_value(slot<96>(api)),
          release_type(slot<98>(api)),
          release_options(slot<100>(api)),
          add_config(slot<130>(api)),
          add_initializers(slot<210>(api)) {}

  private:
    // A slot's content, which takes the type of the member that it is put in.
    struct Slot {
        const void* function;
        template <typename Function>
        operator Function() const {
            return reinterpret_cast<Function>(const_cast<void*>(function));
        }
    };

    template <std::size_t kNumber>
    static Slot slot(const OrtApi* api) {
        return {reinterpret_cast<const void* const*>(api)[kNumber]};
    }

  public:
    const char* (*error_message)(const OrtStatus*);
    OrtStatus* (*create_env)(int log_level, const char* log_id, OrtEnv**);
    OrtStatus* (*disable_telemetry)(const OrtEnv*);
    OrtStatus* (*create_session)(const OrtEnv*, const void* model, std::size_t size, const OrtSessionOptions*,
                                 OrtSession**);
    OrtStatus* (*run)(OrtSession*, const OrtRunOptions*, const char* const* input_names, const OrtValue* const* inputs,
                      std::size_t input_count, const char* const* output_names, std::size_t output_count,
                      OrtValue** outputs);
    OrtStatus* (*create_options)(OrtSessionOptions**);
    OrtStatus* (*set_execution_mode)(OrtSessionOptions*, int mode);
    OrtStatus* (*set_log_level)(OrtSessionOptions*, int level);
    OrtStatus* (*set_optimization_level)(OrtSessionOptions*, int level);
    OrtStatus* (*set_intra_threads)(OrtSessionOptions*, int threads);
    OrtStatus* (*set_inter_threads)(OrtSessionOptions*, int threads);
    OrtStatus* (*input_count)(const OrtSession*, std::size_t*);
    OrtStatus* (*output_count)(const OrtSession*, std::size_t*);
    OrtStatus* (*input_type)(const OrtSession*, std::size_t index, OrtTypeInfo**);
    OrtStatus* (*output_type)(const OrtSession*, std::size_t index, OrtTypeInfo**);
    // A name is the caller's to free, by the allocator that it was made with.
    OrtStatus* (*input_name)(const OrtSession*, std::size_t index, void* allocator, char**);
    OrtStatus* (*output_name)(const OrtSession*, std::size_t index, void* allocator, char**);
    OrtStatus* (*create_tensor)(const OrtMemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape,
                                std::size_t rank, int element_type, OrtValue**);
    // What these two give is part of the type, and goes with it.
    OrtStatus* (*tensor_info)(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**);
    OrtStatus* (*kind_of_type)(const OrtTypeInfo*, int*);
    OrtStatus* (*element_type)(const OrtTensorTypeAndShapeInfo*, int*);
    OrtStatus* (*dimensions_count)(const OrtTensorTypeAndShapeInfo*, std::size_t*);
    OrtStatus* (*dimensions)(const OrtTensorTypeAndShapeInfo*, std::int64_t* values, std::size_t count);
    OrtStatus* (*create_memory_info)(int allocator, int memory, OrtMemoryInfo**);
    OrtStatus* (*free_name)(void* allocator, void* name);
    OrtStatus* (*default_allocator)(void** allocator);
    void (*release_status)(OrtStatus*);
    void (*release_session)(OrtSession*);
    void (*release_value)(OrtValue*);
    void (*release_type)(OrtTypeInfo*);
    void (*release_options)(OrtSessionOptions*);
    OrtStatus* (*add_config)(OrtSessionOptions*, const char* key, const char* value);
    OrtStatus* (*add_initializers)(OrtSessionOptions*, const char* const* names, const OrtValue* const* values,
                                   std::size_t count);
};

}  // namespace intarsia::ort
