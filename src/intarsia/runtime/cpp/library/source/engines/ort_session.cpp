#include "engines/ort_session.h"

#include <algorithm>

#include "error.h"

namespace intarsia {
namespace {

constexpr const char* kName = "onnxruntime";

// Whose partitions the session calls that runs on this thread, and what one of them failed with.
struct Host {
    const Visit* visit;
    std::exception_ptr failure;
};
thread_local Host* t_host = nullptr;

class Session : public Executable {
  public:
    Session(const OrtEngine& engine, std::string_view model, OrtSessionOptions* options,
            const std::vector<Initializer>& initializers, const std::vector<Border>& inputs,
            const std::vector<Border>& outputs, Visit visit)
        : engine_(engine), inputs_(inputs), outputs_(outputs), visit_(std::move(visit)), kept_(initializers) {
        std::vector<const char*> names;
        std::vector<const OrtValue*> values;
        for (const Initializer& each : kept_) {
            names.push_back(each.name.c_str());
            held_.push_back(tensor(const_cast<char*>(each.data), each.bytes, each.shape, each.dtype));
            values.push_back(held_.back().get());
        }
        engine_.check(engine_.api.add_initializers(options, names.data(), values.data(), names.size()));
        OrtSession* session = nullptr;
        engine_.check(engine_.api.create_session(engine_.env, model.data(), model.size(), options, &session));
        session_ = {session, engine_.api.release_session};
        check_side(inputs_, engine_.api.input_count, engine_.api.input_name, engine_.api.input_type, true);
        check_side(outputs_, engine_.api.output_count, engine_.api.output_name, engine_.api.output_type, false);
        prepare(inputs_, input_names_, read_, read_at_);
        prepare(outputs_, output_names_, written_, written_at_);
    }

    void place_input(std::size_t index, const void* data) override {
        point(inputs_[index], read_[index], read_at_[index], const_cast<void*>(data));
    }

    void place_output(std::size_t index, void* data) override {
        point(outputs_[index], written_[index], written_at_[index], data);
    }

    void run() override {
        std::vector<const OrtValue*> given;
        std::vector<OrtValue*> wanted;
        for (std::size_t index : used_) {
            given.push_back(read_[index].get());
        }
        for (const auto& value : written_) {
            wanted.push_back(value.get());
        }
        Host host{&visit_, nullptr};
        Host* const outer = t_host;
        t_host = visit_ ? &host : outer;
        OrtStatus* const status = engine_.api.run(session_.get(), nullptr, used_names_.data(), given.data(),
                                                  given.size(), output_names_.data(), wanted.size(), wanted.data());
        t_host = outer;
        if (status != nullptr) {
            const std::string text = engine_.taken(status);
            if (host.failure != nullptr) {
                std::rethrow_exception(host.failure);
            }
            throw RunError(kName, text);
        }
    }

  private:
    Held<OrtValue> tensor(void* data, std::size_t bytes, const std::vector<std::int64_t>& shape,
                          intarsia_dtype dtype) const {
        static char nothing[64];  // what is empty has an address, too
        OrtValue* value = nullptr;
        engine_.check(engine_.api.create_tensor(engine_.memory, bytes == 0 ? nothing : data, bytes, shape.data(),
                                                shape.size(), dtype, &value));
        return {value, engine_.api.release_value};
    }

    void prepare(const std::vector<Border>& side, std::vector<const char*>& names, std::vector<Held<OrtValue>>& values,
                 std::vector<const void*>& places) {
        for (const Border& border : side) {
            names.push_back(border.name.c_str());
            values.emplace_back(nullptr, engine_.api.release_value);
            places.push_back(nullptr);
        }
    }

    void point(const Border& border, Held<OrtValue>& value, const void*& place, void* data) {
        if (value == nullptr || place != data) {
            value = tensor(data, border.bytes, border.shape, border.dtype);
            place = data;
        }
    }

    // The session has all of our outputs, and no input that we do not give, each of our type and shape. Inputs that
    // nothing reads may be gone from it.
    template <typename Count, typename Name, typename Type>
    void check_side(const std::vector<Border>& side, Count count_of, Name name_of_value, Type type_of, bool is_input) {
        std::size_t count = 0;
        engine_.check(count_of(session_.get(), &count));
        std::vector<bool> found(side.size(), false);
        for (std::size_t number = 0; number < count; ++number) {
            char* raw = nullptr;
            engine_.check(name_of_value(session_.get(), number, engine_.allocator, &raw));
            const std::string name = raw;
            engine_.check(engine_.api.free_name(engine_.allocator, raw));
            for (std::size_t place = 0; place < side.size(); ++place) {
                if (side[place].name == name) {
                    found[place] = true;
                    OrtTypeInfo* type = nullptr;
                    engine_.check(type_of(session_.get(), number, &type));
                    check_type(side[place], Held<OrtTypeInfo>(type, engine_.api.release_type).get());
                }
            }
        }
        const auto held = static_cast<std::size_t>(std::count(found.begin(), found.end(), true));
        if (is_input ? held != count : held != side.size()) {
            throw LoadError(kName, std::string("its model has other ") + (is_input ? "inputs" : "outputs") +
                                       " than the plan; compile it anew");
        }
        for (std::size_t place = 0; is_input && place < side.size(); ++place) {
            if (found[place]) {
                used_.push_back(place);
                used_names_.push_back(side[place].name.c_str());
            }
        }
    }

    void check_type(const Border& border, const OrtTypeInfo* type) const {
        int kind = 0, dtype = 0;
        const OrtTensorTypeAndShapeInfo* info = nullptr;
        engine_.check(engine_.api.kind_of_type(type, &kind));
        std::vector<std::int64_t> shape;
        if (kind == ort::kTensor) {
            std::size_t rank = 0;
            engine_.check(engine_.api.tensor_info(type, &info));
            engine_.check(engine_.api.element_type(info, &dtype));
            engine_.check(engine_.api.dimensions_count(info, &rank));
            shape.resize(rank);
            engine_.check(engine_.api.dimensions(info, shape.data(), rank));
        }
        bool fits = kind == ort::kTensor && dtype == border.dtype && shape.size() == border.shape.size();
        for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
            fits = shape[axis] < 0 || shape[axis] == border.shape[axis];  // -1: it finds out when it runs
        }
        if (!fits && !(kind == ort::kTensor && dtype == border.dtype && shape.empty())) {
            throw LoadError(kName, "its model has " + shown(border.name) + " of another type or shape than the plan");
        }
    }

    const OrtEngine& engine_;
    std::vector<Border> inputs_, outputs_;
    Visit visit_;
    std::vector<Initializer> kept_;
    std::vector<Held<OrtValue>> held_;  // over the weights, which the session may go on reading
    Held<OrtSession> session_{nullptr, nullptr};
    std::vector<const char*> input_names_, output_names_, used_names_;
    std::vector<std::size_t> used_;
    std::vector<Held<OrtValue>> read_, written_;
    std::vector<const void*> read_at_, written_at_;
};

}  // namespace

int call_partition(std::int64_t partition, void** inputs, void** outputs, std::int64_t input_count,
                   std::int64_t output_count, const std::int64_t* elements) {
    if (t_host == nullptr) {
        return 1;
    }
    try {
        // In parentheses: in braces two pointers would be two elements.
        const std::vector<void*> read(inputs, inputs + input_count);
        const std::vector<void*> written(outputs, outputs + output_count);
        const std::vector<std::int64_t> counts(elements, elements + input_count + output_count);
        (*t_host->visit)(static_cast<std::size_t>(partition), read, written, counts);
        return 0;
    } catch (...) {  // nothing may pass through C
        t_host->failure = std::current_exception();
        return 1;
    }
}

std::unique_ptr<Executable> open_session(const OrtEngine& engine, std::string_view model, OrtSessionOptions* options,
                                         const std::vector<Initializer>& initializers,
                                         const std::vector<Border>& inputs, const std::vector<Border>& outputs,
                                         Visit visit) {
    return std::make_unique<Session>(engine, model, options, initializers, inputs, outputs, std::move(visit));
}

}  // namespace intarsia
