// The operator `intarsia::Partition`: a node that another engine computes while the session runs. Its kernel hands
// the memory of inputs and outputs to a callback, on the thread that runs the session, and lends it the session's pool.
//
// Inputs and outputs: any number, all float. Attributes: `partition`, the number that the callback is told; `dims`, the
// shapes of the outputs, each as its rank followed by its dimensions.
#include "partition_op.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "openmp_pool.h"

namespace intarsia {
namespace {

using ort::Functions;

// The elements that lie at each address, of the inputs and then of the outputs. Nonzero: the callback failed, and has
// kept why.
using Callback = int (*)(std::int64_t partition, void** inputs, void** outputs, std::int64_t input_count,
                         std::int64_t output_count, const std::int64_t* elements);

// Kernels are made while a session is opened, on the thread that opens it; those keep what stands here then.
thread_local Callback g_callback = nullptr;

struct Pool {
    const Functions& ort;
    const OrtKernelContext* context;

    static void run(void* pool, void (*task)(void*, std::size_t), std::size_t count, void* data) {
        const auto& self = *static_cast<const Pool*>(pool);
        check(self.ort, self.ort.parallel_for(self.context, task, count, 0, data));
    }
};

class Kernel {
  public:
    Kernel(const Functions& ort, const OrtKernelInfo* info) : ort_(ort), callback_(g_callback) {
        if (callback_ == nullptr) {
            throw std::runtime_error("a model with intarsia::Partition in it runs only inside Intarsia");
        }
        check(ort, ort.integer(info, "partition", &partition_));
        std::size_t count = 0;
        check(ort, ort.integers(info, "dims", nullptr, &count));
        std::vector<std::int64_t> numbers(count);
        check(ort, ort.integers(info, "dims", numbers.data(), &count));
        for (std::size_t at = 0; at < count; at += 1 + static_cast<std::size_t>(numbers[at])) {
            if (numbers[at] < 0 || static_cast<std::size_t>(numbers[at]) > count - at - 1) {
                throw std::runtime_error("the attribute dims of intarsia::Partition does not hold whole shapes");
            }
            const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at) + 1;
            shapes_.emplace_back(first, first + numbers[at]);
        }
    }

    void compute(OrtKernelContext* context) const {
        std::vector<void*> inputs;
        std::vector<std::int64_t> elements;
        std::size_t count = 0;
        check(ort_, ort_.input_count(context, &count));
        for (std::size_t index = 0; index < count; ++index) {
            const OrtValue* value = nullptr;
            check(ort_, ort_.input(context, index, &value));
            inputs.push_back(data_of(ort_, value));
            elements.push_back(elements_of(value));
        }
        std::vector<void*> outputs;
        for (const auto& shape : shapes_) {
            OrtValue* value = nullptr;
            check(ort_, ort_.output(context, outputs.size(), shape.data(), shape.size(), &value));
            outputs.push_back(data_of(ort_, value));
            elements.push_back(elements_of(value));
        }
        Pool pool{ort_, context};
        const LentPool lent(Pool::run, &pool);
        const auto reads = static_cast<std::int64_t>(inputs.size());
        const auto writes = static_cast<std::int64_t>(outputs.size());
        if (callback_(partition_, inputs.data(), outputs.data(), reads, writes, elements.data()) != 0) {
            throw std::runtime_error("partition " + std::to_string(partition_) + " failed");
        }
    }

    const Functions& ort() const { return ort_; }

  private:
    std::int64_t elements_of(const OrtValue* value) const {
        OrtTensorTypeAndShapeInfo* raw = nullptr;
        check(ort_, ort_.shape_of(value, &raw));
        const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(Functions::release_shape)> shape(
            raw, ort_.release_shape);
        std::size_t count = 0;
        check(ort_, ort_.dimensions_count(raw, &count));
        std::vector<std::int64_t> dimensions(count);
        check(ort_, ort_.dimensions(raw, dimensions.data(), count));
        std::int64_t product = 1;
        for (const std::int64_t size : dimensions) {
            product *= size;
        }
        return product;
    }

    const Functions& ort_;
    Callback callback_;
    std::int64_t partition_ = 0;
    std::vector<std::vector<std::int64_t>> shapes_;
};

}  // namespace

PartitionOperator::PartitionOperator(const Functions& functions) : OrtCustomOp{}, ort(functions) {
    version = ort::kApiVersion;
    GetName = [](const OrtCustomOp*) { return "Partition"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // null: the CPU
    GetInputType = [](const OrtCustomOp*, std::size_t) { return ort::kFloat; };
    GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
    GetOutputType = GetInputType;
    GetOutputTypeCount = GetInputTypeCount;
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return ort::kVariadic; };
    GetOutputCharacteristic = GetInputCharacteristic;
    GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return ort::kDefaultMemory; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputMinArity = GetVariadicInputMinArity;
    GetVariadicOutputHomogeneity = GetVariadicInputHomogeneity;
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
        const Functions& ort = static_cast<const PartitionOperator*>(op)->ort;
        return guarded(ort, [&] { *kernel = new Kernel(ort, info); });
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
        const auto* self = static_cast<const Kernel*>(kernel);
        return guarded(self->ort(), [&] { self->compute(context); });
    };
}

}  // namespace intarsia

// Who is called by the partitions of sessions that this thread opens from now on.
extern "C" __attribute__((visibility("default"))) void intarsia_set_sized_callback(intarsia::Callback callback) {
    intarsia::g_callback = callback;
}
