// The C interface of intarsia.h for C++17: a model that frees itself, and errors as exceptions.
//
//     intarsia::Model model("resnet18.intarsia");
//     std::vector<float> image(model.inputs()[0].elements()), scores(model.outputs()[0].elements());
//     model.run({{"data", image}}, {{"scores", scores}});
#ifndef INTARSIA_HPP
#define INTARSIA_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "intarsia.h"

namespace intarsia {

// What a call failed with: its status, and its text as `what()`.
class Failure : public std::runtime_error {
  public:
    explicit Failure(intarsia_status status) : std::runtime_error(intarsia_error_text()), status_(status) {}
    intarsia_status status() const { return status_; }

  private:
    intarsia_status status_;
};

inline void check(intarsia_status status) {
    if (status != INTARSIA_OK) {
        throw Failure(status);
    }
}

// The number of an element type. Types that C++ has no name for are handed over as `Array`s made by hand.
template <typename Element>
constexpr intarsia_dtype dtype_of() {
    using T = std::remove_const_t<Element>;
    if constexpr (std::is_same_v<T, float>) {
        return INTARSIA_FLOAT32;
    } else if constexpr (std::is_same_v<T, double>) {
        return INTARSIA_FLOAT64;
    } else if constexpr (std::is_same_v<T, bool>) {
        return INTARSIA_BOOL;
    } else {
        static_assert(std::is_integral_v<T>, "no type of arrays");
        constexpr bool is_signed = std::is_signed_v<T>;
        return sizeof(T) == 1   ? (is_signed ? INTARSIA_INT8 : INTARSIA_UINT8)
               : sizeof(T) == 2 ? (is_signed ? INTARSIA_INT16 : INTARSIA_UINT16)
               : sizeof(T) == 4 ? (is_signed ? INTARSIA_INT32 : INTARSIA_UINT32)
                                : (is_signed ? INTARSIA_INT64 : INTARSIA_UINT64);
    }
}

// An input or output as the model has it.
struct Value {
    std::string name;
    intarsia_dtype dtype;
    std::vector<std::int64_t> shape;
    std::size_t bytes;

    std::size_t elements() const {
        std::size_t count = 1;
        for (const std::int64_t size : shape) {
            count *= static_cast<std::size_t>(size);
        }
        return count;
    }
};

// Memory of the caller for an input or output, which has the model's shape.
struct Array {
    std::string name;
    intarsia_dtype dtype;
    void* data;
    std::size_t bytes;

    Array(std::string own, intarsia_dtype type, void* at, std::size_t size)
        : name(std::move(own)), dtype(type), data(at), bytes(size) {}

    // A vector, or whatever else has `data()` and `size()`.
    template <typename Container>
    Array(std::string own, Container& values)
        : Array(std::move(own), dtype_of<std::remove_reference_t<decltype(*values.data())>>(),
                const_cast<void*>(static_cast<const void*>(values.data())), values.size() * sizeof(*values.data())) {}
};

struct Step {
    std::string engine, target;
    std::size_t node_count;
    int threads;
};

// A model that is loaded. It may be moved, and called from several threads, which take turns.
class Model {
  public:
    // Throws `Failure`, as all that follows.
    explicit Model(const std::string& path) : Model(intarsia_load, path, nullptr) {}
    Model(const std::string& path, const intarsia_options& options) : Model(intarsia_load, path, &options) {}

    // An artifact that is linked into the program, by its name.
    static Model linked(const std::string& name) { return {intarsia_load_linked, name, nullptr}; }
    static Model linked(const std::string& name, const intarsia_options& options) {
        return {intarsia_load_linked, name, &options};
    }

    const std::vector<Value>& inputs() const { return inputs_; }
    const std::vector<Value>& outputs() const { return outputs_; }
    int threads() const { return intarsia_threads(model_.get()); }
    std::string remarks() const { return intarsia_remarks(model_.get()); }

    std::vector<Step> steps() const {
        std::vector<Step> found;
        for (std::size_t place = 0; place < intarsia_step_count(model_.get()); ++place) {
            intarsia_step step{};
            check(intarsia_step_at(model_.get(), place, &step));
            found.push_back({step.engine, step.target, step.node_count, step.threads});
        }
        return found;
    }

    // Run once: all inputs, and those outputs that are wanted.
    void run(const std::vector<Array>& inputs, const std::vector<Array>& outputs) {
        const auto given = tensors(inputs, inputs_), wanted = tensors(outputs, outputs_);
        check(intarsia_run(model_.get(), given.data(), given.size(), wanted.data(), wanted.size()));
    }

  private:
    using Load = intarsia_status (*)(const char*, const intarsia_options*, intarsia_model**);

    Model(Load load, const std::string& from, const intarsia_options* options) {
        intarsia_model* model = nullptr;
        check(load(from.c_str(), options, &model));
        model_.reset(model);
        inputs_ = values(intarsia_input_count(model), intarsia_input);
        outputs_ = values(intarsia_output_count(model), intarsia_output);
    }

    template <typename Describe>
    std::vector<Value> values(std::size_t count, Describe describe) const {
        std::vector<Value> found;
        for (std::size_t place = 0; place < count; ++place) {
            intarsia_value value{};
            check(describe(model_.get(), place, &value));
            found.push_back({value.name, value.dtype, {value.shape, value.shape + value.rank}, value.bytes});
        }
        return found;
    }

    static std::vector<intarsia_tensor> tensors(const std::vector<Array>& arrays, const std::vector<Value>& values) {
        std::vector<intarsia_tensor> found;
        for (const Array& array : arrays) {
            intarsia_tensor tensor{array.name.c_str(), array.dtype, 0, nullptr, array.data, array.bytes};
            for (const Value& value : values) {
                if (value.name == array.name) {
                    tensor.rank = value.shape.size();
                    tensor.shape = value.shape.data();
                }
            }
            found.push_back(tensor);
        }
        return found;
    }

    struct Free {
        void operator()(intarsia_model* model) const { intarsia_free(model); }
    };
    std::unique_ptr<intarsia_model, Free> model_;
    std::vector<Value> inputs_, outputs_;
};

}  // namespace intarsia

#endif
