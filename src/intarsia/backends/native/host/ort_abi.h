// The part of ONNX Runtime's C ABI that a custom operator needs, as facts: slot numbers and signatures.
//
// `OrtApi` is a table of function pointers that only ever grows at its end. The numbers below were counted in the
// published listing of that table (csharp/src/Microsoft.ML.OnnxRuntime/NativeMethods.shared.cs of
// microsoft/onnxruntime) and agree with the anchors that onnxruntime itself asserts at compile time: slot 101 ends
// version 1 of the API, 124 version 3, 149 version 5, 161 version 7, 169 version 8. Signatures, `OrtCustomOp` and the
// enumerators are those of include/onnxruntime/core/session/onnxruntime_c_api.h. An engine that is too old for
// `kApiVersion` answers `GetApi` with a null pointer, and nothing is registered.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct OrtApi;
struct OrtCustomOpDomain;
struct OrtKernelContext;
struct OrtKernelInfo;
struct OrtOpAttr;
struct OrtSessionOptions;
struct OrtShapeInferContext;
struct OrtStatus;
struct OrtTensorTypeAndShapeInfo;
struct OrtValue;

struct OrtApiBase {
    const OrtApi* (*GetApi)(std::uint32_t version);
    const char* (*GetVersionString)();
};

// One operator: its schema and the life of its kernels. Members behind `version` 18 do not exist for us.
struct OrtCustomOp {
    std::uint32_t version;
    void* (*CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*);
    const char* (*GetName)(const OrtCustomOp*);
    const char* (*GetExecutionProviderType)(const OrtCustomOp*);
    int (*GetInputType)(const OrtCustomOp*, std::size_t index);
    std::size_t (*GetInputTypeCount)(const OrtCustomOp*);
    int (*GetOutputType)(const OrtCustomOp*, std::size_t index);
    std::size_t (*GetOutputTypeCount)(const OrtCustomOp*);
    void (*KernelCompute)(void* kernel, OrtKernelContext*);
    void (*KernelDestroy)(void* kernel);
    int (*GetInputCharacteristic)(const OrtCustomOp*, std::size_t index);
    int (*GetOutputCharacteristic)(const OrtCustomOp*, std::size_t index);
    int (*GetInputMemoryType)(const OrtCustomOp*, std::size_t index);
    int (*GetVariadicInputMinArity)(const OrtCustomOp*);
    int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
    int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
    int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
    OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel);
    OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext*);
    OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*);
    int (*GetStartVersion)(const OrtCustomOp*);
    int (*GetEndVersion)(const OrtCustomOp*);
    std::size_t (*GetMayInplace)(int** input_index, int** output_index);
    void (*ReleaseMayInplace)(int* input_index, int* output_index);
    std::size_t (*GetAliasMap)(int** input_index, int** output_index);
    void (*ReleaseAliasMap)(int* input_index, int* output_index);
};

}  // extern "C"

namespace intarsia::ort {

constexpr std::uint32_t kApiVersion = 18;  // the first with GetMayInplace; KernelContext_ParallelFor came with 17

constexpr int kFloat = 1;            // ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
constexpr int kBytes = 2;            // ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8
constexpr int kRequired = 0;         // INPUT_OUTPUT_REQUIRED
constexpr int kOptional = 1;         // INPUT_OUTPUT_OPTIONAL
constexpr int kVariadic = 2;         // INPUT_OUTPUT_VARIADIC
constexpr int kDefaultMemory = 0;    // OrtMemTypeDefault
constexpr int kIntegers = 2;          // ORT_OP_ATTR_INTS
constexpr int kRuntimeException = 6;  // ORT_RUNTIME_EXCEPTION

// The functions in use, each read from its slot once. A null status means success.
struct Functions {
    explicit Functions(const OrtApi* api)
        : create_status(slot<0>(api)),
          release_status(slot<93>(api)),
          error_message(slot<2>(api)),
          create_domain(slot<26>(api)),
          add_to_domain(slot<27>(api)),
          add_domain(slot<28>(api)),
          tensor_data(slot<51>(api)),
          dimensions_count(slot<61>(api)),
          dimensions(slot<62>(api)),
          create_shape(slot<57>(api)),
          set_element_type(slot<58>(api)),
          set_dimensions(slot<59>(api)),
          shape_of(slot<65>(api)),
          release_shape(slot<99>(api)),
          inferred_input(slot<268>(api)),
          inferred_attribute(slot<269>(api)),
          infer_output(slot<270>(api)),
          read_attribute(slot<272>(api)),
          attribute(slot<85>(api)),
          integer(slot<86>(api)),
          integers(slot<163>(api)),
          input_count(slot<88>(api)),
          input(slot<90>(api)),
          output(slot<91>(api)),
          constant_input(slot<249>(api)),
          parallel_for(slot<274>(api)) {}

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
    OrtStatus* (*create_status)(int code, const char* message);
    void (*release_status)(OrtStatus*);
    const char* (*error_message)(const OrtStatus*);
    OrtStatus* (*create_domain)(const char* name, OrtCustomOpDomain**);
    OrtStatus* (*add_to_domain)(OrtCustomOpDomain*, const OrtCustomOp*);
    OrtStatus* (*add_domain)(OrtSessionOptions*, OrtCustomOpDomain*);
    OrtStatus* (*tensor_data)(OrtValue*, void** data);
    OrtStatus* (*dimensions_count)(const OrtTensorTypeAndShapeInfo*, std::size_t*);
    OrtStatus* (*dimensions)(const OrtTensorTypeAndShapeInfo*, std::int64_t* values, std::size_t count);
    OrtStatus* (*create_shape)(OrtTensorTypeAndShapeInfo**);
    OrtStatus* (*set_element_type)(OrtTensorTypeAndShapeInfo*, int type);
    OrtStatus* (*set_dimensions)(OrtTensorTypeAndShapeInfo*, const std::int64_t* values, std::size_t count);
    OrtStatus* (*shape_of)(const OrtValue*, OrtTensorTypeAndShapeInfo**);
    void (*release_shape)(OrtTensorTypeAndShapeInfo*);
    // The context keeps what `inferred_input` and `inferred_attribute` give; it copies what `infer_output` takes.
    OrtStatus* (*inferred_input)(const OrtShapeInferContext*, std::size_t index, OrtTensorTypeAndShapeInfo**);
    OrtStatus* (*inferred_attribute)(const OrtShapeInferContext*, const char* name, const OrtOpAttr**);
    OrtStatus* (*infer_output)(const OrtShapeInferContext*, std::size_t index, const OrtTensorTypeAndShapeInfo*);
    // Needs room for all of it: `room` bytes.
    OrtStatus* (*read_attribute)(const OrtOpAttr*, int type, void* data, std::size_t room, std::size_t* bytes);
    OrtStatus* (*attribute)(const OrtKernelInfo*, const char* name, float*);
    OrtStatus* (*integer)(const OrtKernelInfo*, const char* name, std::int64_t*);
    // A null `values` asks for the count only.
    OrtStatus* (*integers)(const OrtKernelInfo*, const char* name, std::int64_t* values, std::size_t* count);
    OrtStatus* (*input_count)(const OrtKernelContext*, std::size_t*);
    OrtStatus* (*input)(const OrtKernelContext*, std::size_t index, const OrtValue**);
    OrtStatus* (*output)(OrtKernelContext*, std::size_t index, const std::int64_t* dims, std::size_t count, OrtValue**);
    OrtStatus* (*constant_input)(const OrtKernelInfo*, std::size_t index, int* is_constant, const OrtValue**);
    // `batches` 0: the pool hands out single indices.
    OrtStatus* (*parallel_for)(const OrtKernelContext*, void (*task)(void*, std::size_t), std::size_t count,
                               std::size_t batches, void* context);
};

}  // namespace intarsia::ort
