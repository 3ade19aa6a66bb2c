// The operator `intarsia::Winograd3x3`: what `com.microsoft.nchwc::Conv` computes for a 3x3 kernel with stride 1 and one
// pixel of padding, inside ONNX Runtime's blocked layout and on its thread pool. The arithmetic is in winograd.h.
//
// Inputs: X [N, C, H, W], weights [K, C, 3, 3] (constant), bias [K] (constant, optional), sum [N, K, H, W] (optional).
// Attributes: `low` and `high`, between which results are clamped. Shapes are the plain ones; contents are blocked.
#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "ort_call.h"
#include "partition_op.h"
#include "winograd.h"

namespace {

using intarsia::check;
using intarsia::data_of;
using intarsia::guarded;
using intarsia::ort::Functions;
using Dimensions = std::array<std::int64_t, 4>;

enum Input : std::size_t { kX, kWeights, kBias, kSum, kInputs };

// The dimensions of a shape; all unknown (-1) unless there are four.
Dimensions dimensions_in(const Functions& ort, const OrtTensorTypeAndShapeInfo* shape) {
    std::size_t count = 0;
    check(ort, ort.dimensions_count(shape, &count));
    Dimensions dimensions{-1, -1, -1, -1};
    if (count == dimensions.size()) {
        check(ort, ort.dimensions(shape, dimensions.data(), dimensions.size()));
    }
    return dimensions;
}

using Shape = std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(Functions::release_shape)>;

Dimensions dimensions_of(const Functions& ort, const OrtValue* value) {
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    check(ort, ort.shape_of(value, &raw));
    return dimensions_in(ort, Shape(raw, ort.release_shape).get());
}

const OrtValue* constant(const Functions& ort, const OrtKernelInfo* info, Input index) {
    int is_constant = 0;
    const OrtValue* value = nullptr;
    check(ort, ort.constant_input(info, index, &is_constant, &value));
    return is_constant != 0 ? value : nullptr;
}

const OrtValue* weights_of(const Functions& ort, const OrtKernelInfo* info) {
    const OrtValue* weights = constant(ort, info, kWeights);
    if (weights == nullptr) {
        throw std::runtime_error("the weights of intarsia::Winograd3x3 are not constant");
    }
    const Dimensions shape = dimensions_of(ort, weights);
    const int block = intarsia::block();
    if (shape[0] % block != 0 || shape[1] % block != 0 || shape[2] != 3 || shape[3] != 3) {
        throw std::runtime_error("the weights of intarsia::Winograd3x3 are not 3x3 in blocks of " +
                                 std::to_string(block));
    }
    return weights;
}

const float* bias_of(const Functions& ort, const OrtKernelInfo* info) {
    const OrtValue* bias = constant(ort, info, kBias);
    return bias == nullptr ? nullptr : data_of(ort, bias);
}

float attribute(const Functions& ort, const OrtKernelInfo* info, const char* name) {
    float value = 0;
    check(ort, ort.attribute(info, name, &value));
    return value;
}

// The pool of the session that calls, as `intarsia::ParallelFor` wants it.
struct Pool {
    const Functions& ort;
    const OrtKernelContext* context;

    static void run(void* pool, intarsia::Task task, std::size_t count, void* context) {
        const auto& self = *static_cast<const Pool*>(pool);
        check(self.ort, self.ort.parallel_for(self.context, task, count, 0, context));
    }
};

class Kernel {
  public:
    Kernel(const Functions& ort, const OrtKernelInfo* info) : Kernel(ort, info, weights_of(ort, info)) {}

    void compute(OrtKernelContext* context) const {
        const OrtValue* x = input(context, kX);
        const OrtValue* sum = input(context, kSum);
        if (!has_bias_ && input(context, kBias) != nullptr) {
            throw std::runtime_error("the bias of intarsia::Winograd3x3 is not constant");
        }
        Dimensions shape = dimensions_of(ort_, x);
        if (shape[1] != channels_in_) {
            throw std::runtime_error("intarsia::Winograd3x3 has weights for " + std::to_string(channels_in_) +
                                     " channels, and was given " + std::to_string(shape[1]));
        }
        shape[1] = channels_out_;
        if (sum != nullptr && dimensions_of(ort_, sum) != shape) {
            throw std::runtime_error("the sum input of intarsia::Winograd3x3 has another shape than its output");
        }
        OrtValue* y = nullptr;
        check(ort_, ort_.output(context, 0, shape.data(), shape.size(), &y));
        Pool pool{ort_, context};
        winograd_.run(static_cast<int>(shape[0]), static_cast<int>(shape[2]), static_cast<int>(shape[3]),
                      data_of(ort_, input(context, kWeights)), data_of(ort_, x),
                      sum == nullptr ? nullptr : data_of(ort_, sum), data_of(ort_, y), low_, high_, Pool::run, &pool);
    }

    const Functions& ort() const { return ort_; }

  private:
    Kernel(const Functions& ort, const OrtKernelInfo* info, const OrtValue* weights)
        : ort_(ort),
          channels_out_(dimensions_of(ort, weights)[0]),
          channels_in_(dimensions_of(ort, weights)[1]),
          has_bias_(bias_of(ort, info) != nullptr),
          low_(attribute(ort, info, "low")),
          high_(attribute(ort, info, "high")),
          winograd_(static_cast<int>(channels_in_), static_cast<int>(channels_out_), bias_of(ort, info)) {}

    const OrtValue* input(const OrtKernelContext* context, Input index) const {
        std::size_t count = 0;
        check(ort_, ort_.input_count(context, &count));
        const OrtValue* value = nullptr;
        if (index < count) {
            check(ort_, ort_.input(context, index, &value));
        }
        return value;
    }

    const Functions& ort_;
    std::int64_t channels_out_;
    std::int64_t channels_in_;
    bool has_bias_;
    float low_;
    float high_;
    intarsia::Winograd winograd_;
};

// What is registered: the callbacks that ONNX Runtime reads, and the functions that they need.
struct Operator : OrtCustomOp {
    explicit Operator(const Functions& functions);

    const Functions ort;
};

const Functions& functions_of(const OrtCustomOp* op) { return static_cast<const Operator*>(op)->ort; }

OrtStatus* create_kernel(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
    const Functions& ort = functions_of(op);
    return guarded(ort, [&] { *kernel = new Kernel(ort, info); });
}

OrtStatus* compute(void* kernel, OrtKernelContext* context) {
    const auto* self = static_cast<const Kernel*>(kernel);
    return guarded(self->ort(), [&] { self->compute(context); });
}

// Lets ONNX Runtime plan memory. Where a dimension is unknown it keeps finding out while it runs.
OrtStatus* infer_shape(const OrtCustomOp* op, OrtShapeInferContext* context) {
    const Functions& ort = functions_of(op);
    return guarded(ort, [&] {
        OrtTensorTypeAndShapeInfo* shape = nullptr;
        check(ort, ort.inferred_input(context, kWeights, &shape));
        const std::int64_t channels_out = dimensions_in(ort, shape)[0];
        check(ort, ort.inferred_input(context, kX, &shape));
        Dimensions dimensions = dimensions_in(ort, shape);
        dimensions[1] = channels_out;
        if (*std::min_element(dimensions.begin(), dimensions.end()) < 0) {
            return;
        }
        check(ort, ort.create_shape(&shape));
        const Shape y(shape, ort.release_shape);
        check(ort, ort.set_element_type(shape, intarsia::ort::kFloat));
        check(ort, ort.set_dimensions(shape, dimensions.data(), dimensions.size()));
        check(ort, ort.infer_output(context, 0, shape));
    });
}

// The output may take the place of `sum`, which the kernel reads before it writes.
std::size_t may_inplace(int** input_index, int** output_index) {
    *input_index = new int[1]{kSum};
    *output_index = new int[1]{0};
    return 1;
}

void release_may_inplace(int* input_index, int* output_index) {
    delete[] input_index;
    delete[] output_index;
}

Operator::Operator(const Functions& functions) : OrtCustomOp{}, ort(functions) {
    namespace abi = intarsia::ort;
    version = abi::kApiVersion;
    GetName = [](const OrtCustomOp*) { return "Winograd3x3"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // null: the CPU
    GetInputType = [](const OrtCustomOp*, std::size_t) { return abi::kFloat; };
    GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return kInputs; };
    GetOutputType = [](const OrtCustomOp*, std::size_t) { return abi::kFloat; };
    GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    GetInputCharacteristic = [](const OrtCustomOp*, std::size_t index) {
        return index < kBias ? abi::kRequired : abi::kOptional;
    };
    GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return abi::kRequired; };
    GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return abi::kDefaultMemory; };
    CreateKernelV2 = create_kernel;
    KernelComputeV2 = compute;
    InferOutputShapeFn = infer_shape;
    GetMayInplace = may_inplace;
    ReleaseMayInplace = release_may_inplace;
}

// One domain for every session of the process. It is never freed: sessions refer to it until the very end.
OrtCustomOpDomain* domain(const Functions& ort) {
    static const Operator winograd(ort);
    static const intarsia::PartitionOperator partition(ort);
    static OrtCustomOpDomain* const made = [&] {
        OrtCustomOpDomain* fresh = nullptr;
        check(ort, ort.create_domain("intarsia", &fresh));
        check(ort, ort.add_to_domain(fresh, &winograd));
        check(ort, ort.add_to_domain(fresh, &partition));
        return fresh;
    }();
    return made;
}

}  // namespace

// What `SessionOptions.register_custom_ops_library` calls. An ONNX Runtime that is too old gets no operators, and says
// so itself when it meets a node of the domain.
extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options,
                                                                               const OrtApiBase* base) {
    const OrtApi* api = base->GetApi(intarsia::ort::kApiVersion);
    if (api == nullptr) {
        return nullptr;
    }
    const Functions ort(api);
    return guarded(ort, [&] { check(ort, ort.add_domain(options, domain(ort))); });
}
