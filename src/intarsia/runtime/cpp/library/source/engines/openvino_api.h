// The part of OpenVINO's C API that compiles and runs models, as facts: names and signatures of the headers in
// include/openvino/c of its packages (ov_core.h, ov_model.h, ov_compiled_model.h, ov_infer_request.h, ov_tensor.h,
// ov_common.h), which are the same from 2023.1 on. A status of 0 means success.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intarsia::ov {

struct Version {
    const char* build_number;
    const char* description;
};

struct Shape {
    std::int64_t rank;
    std::int64_t* sizes;
};

// Numbers of element types (`ov_element_type_e`).
enum Type : int {
    kBool = 1, kBf16 = 2, kF16 = 3, kF32 = 4, kF64 = 5, kI8 = 7, kI16 = 8, kI32 = 9, kI64 = 10, kU8 = 16, kU16 = 17,
    kU32 = 18, kU64 = 19
};

struct Core;
struct Model;
struct CompiledModel;
struct Request;
struct Tensor;
struct ConstPort;

struct Api {
    int (*version)(Version*);
    void (*version_free)(Version*);
    const char* (*last_error)();  // null where it has none
    int (*core_create)(Core**);
    int (*read_model)(const Core*, const char* text, std::size_t size, const Tensor* weights, Model**);
    // Names and values of properties behind the last one, all strings; `count` is of both together.
    int (*compile_model)(const Core*, const Model*, const char* device, std::size_t count, CompiledModel**, ...);
    void (*model_free)(Model*);
    int (*inputs_size)(const CompiledModel*, std::size_t*);
    int (*outputs_size)(const CompiledModel*, std::size_t*);
    int (*input_at)(const CompiledModel*, std::size_t index, ConstPort**);
    int (*output_at)(const CompiledModel*, std::size_t index, ConstPort**);
    int (*port_shape)(const ConstPort*, Shape*);
    int (*port_type)(const ConstPort*, int*);
    void (*port_free)(ConstPort*);
    int (*shape_free)(Shape*);
    int (*create_request)(const CompiledModel*, Request**);
    void (*compiled_free)(CompiledModel*);
    int (*set_input)(Request*, std::size_t index, const Tensor*);
    int (*set_output)(Request*, std::size_t index, const Tensor*);
    int (*infer)(Request*);
    void (*request_free)(Request*);
    int (*create_tensor)(int type, Shape, void* memory, Tensor**);
    void (*tensor_free)(Tensor*);
};

}  // namespace intarsia::ov
