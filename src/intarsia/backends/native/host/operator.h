// What all operators of ours that run on ONNX Runtime's threads have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "ort_call.h"

// What is done once for a call need not be unrolled: a ninth of the library was that.
#pragma GCC optimize("O2")

namespace intarsia {

using Dimensions = std::vector<std::int64_t>;
using OwnedShape = std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(ort::Functions::release_shape)>;

inline Dimensions dimensions_in(const ort::Functions& ort, const OrtTensorTypeAndShapeInfo* shape) {
    std::size_t count = 0;
    check(ort, ort.dimensions_count(shape, &count));
    Dimensions dimensions(count);
    check(ort, ort.dimensions(shape, dimensions.data(), count));
    return dimensions;
}

inline Dimensions dimensions_of(const ort::Functions& ort, const OrtValue* value) {
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    check(ort, ort.shape_of(value, &raw));
    return dimensions_in(ort, OwnedShape(raw, ort.release_shape).get());
}

inline Dimensions inferred_dimensions(const ort::Functions& ort, const OrtShapeInferContext* context,
                                      std::size_t input) {
    OrtTensorTypeAndShapeInfo* shape = nullptr;
    check(ort, ort.inferred_input(context, input, &shape));
    return dimensions_in(ort, shape);
}

// Whether all dimensions are known: ONNX Runtime plans memory by them. Where one is not it finds out while it runs.
inline bool are_known(const Dimensions& dimensions) {
    return !dimensions.empty() && std::all_of(dimensions.begin(), dimensions.end(), [](std::int64_t size) { return size >= 0; });
}

inline void infer_output(const ort::Functions& ort, OrtShapeInferContext* context, const Dimensions& dimensions,
                         std::size_t output = 0) {
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    check(ort, ort.create_shape(&raw));
    const OwnedShape shape(raw, ort.release_shape);
    check(ort, ort.set_element_type(raw, ort::kFloat));
    check(ort, ort.set_dimensions(raw, dimensions.data(), dimensions.size()));
    check(ort, ort.infer_output(context, output, raw));
}

// Those of a shape or of pads from a place on, behind what stands for the dimensions that are not there.
inline Extents extents(const Dimensions& numbers, std::size_t from, std::size_t rank, std::size_t missing) {
    Extents found{missing, missing, missing};
    for (std::size_t axis = 0; axis < rank; ++axis) {
        found[found.size() - rank + axis] = static_cast<std::size_t>(numbers[from + axis]);
    }
    return found;
}

inline std::size_t product(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

// Whether the host knows the attribute that was asked for; it says no by an error.
inline bool is_stated(const ort::Functions& ort, OrtStatus* status) {
    if (status != nullptr) {
        ort.release_status(status);
    }
    return status == nullptr;
}

// An attribute of integers as it is known before there is a node; `numbers` stay as they are if it is not stated.
inline void read_integers(const ort::Functions& ort, const OrtShapeInferContext* context, const char* name,
                          Dimensions& numbers) {
    const OrtOpAttr* stated = nullptr;
    if (is_stated(ort, ort.inferred_attribute(context, name, &stated)) && stated != nullptr) {
        std::size_t bytes = 0;
        check(ort, ort.read_attribute(stated, ort::kIntegers, numbers.data(), numbers.size() * sizeof numbers[0], &bytes));
    }
}

// The pool of the session that calls, as `ParallelFor` wants it.
struct SessionPool {
    const ort::Functions& ort;
    const OrtKernelContext* context;

    static void run(void* pool, Task task, std::size_t count, void* context) {
        const auto& self = *static_cast<const SessionPool*>(pool);
        check(self.ort, self.ort.parallel_for(self.context, task, count, 0, context));
    }

    Threads threads() { return {run, this}; }
};

// What ONNX Runtime is told of an operator with inputs and one output of floats: the callbacks call the members of
// `Self`, an operator that is derived from this, and of `Node`, which it makes of a node of a graph:
// Node(const Self&, const OrtKernelInfo*), node.compute(OrtKernelContext*), self.infer(OrtShapeInferContext*).
template <typename Self, typename Node>
struct Operator : OrtCustomOp {
    Operator(const ort::Functions& functions, const char* name)
        : OrtCustomOp{}, ort(functions), plain_name(name), name(std::string("intarsia::") + name) {
        version = ort::kApiVersion;
        GetName = [](const OrtCustomOp* op) { return self_of(op).plain_name; };
        GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // null: the CPU
        GetInputType = [](const OrtCustomOp*, std::size_t) { return ort::kFloat; };
        GetOutputType = [](const OrtCustomOp*, std::size_t) { return ort::kFloat; };
        GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return Self::kInputs; };
        GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
        GetInputCharacteristic = [](const OrtCustomOp*, std::size_t index) {
            return index < Self::kRequiredInputs ? ort::kRequired : ort::kOptional;
        };
        GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return ort::kRequired; };
        GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return ort::kDefaultMemory; };
        CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** node) {
            const Self& self = self_of(op);
            return guarded(self.ort, [&] { *node = new Node(self, info); });
        };
        KernelComputeV2 = [](void* node, OrtKernelContext* context) {
            const auto* self = static_cast<const Node*>(node);
            return guarded(self->op().ort, [&] { self->compute(context); });
        };
        KernelDestroy = [](void* node) { delete static_cast<Node*>(node); };
        InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) {
            const Self& self = self_of(op);
            return guarded(self.ort, [&] { self.infer(context); });
        };
    }

    static const Self& self_of(const OrtCustomOp* op) { return *static_cast<const Self*>(op); }

    const ort::Functions ort;
    const char* const plain_name;
    const std::string name;  // with the domain, for messages
};

}  // namespace intarsia
