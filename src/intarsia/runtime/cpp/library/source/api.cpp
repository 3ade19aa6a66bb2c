// The C functions: arguments checked, exceptions turned into a status and a text.
#include <cstring>
#include <new>

#include "error.h"
#include "linked.h"
#include "model.h"

#ifndef INTARSIA_VERSION
#define INTARSIA_VERSION "unknown"
#endif

struct intarsia_model {
    intarsia_model(intarsia::Container container, const intarsia_options& options)
        : model(std::move(container), options) {}
    intarsia::Model model;
};

namespace {

using intarsia::Border;
using intarsia::Error;

thread_local std::string t_text;

// Runs a body; what it throws becomes a status, and its text what `intarsia_error_text` gives. `what` stands before it.
template <typename Body>
intarsia_status guarded(const std::string& what, Body body) noexcept {
    try {
        const std::string before = what.empty() ? "" : what + ": ";
        try {
            body();
            return INTARSIA_OK;
        } catch (const Error& error) {
            t_text = before + error.what();
            return error.status();
        } catch (const std::bad_alloc&) {
            t_text = before + "there is not enough memory";
            return INTARSIA_NO_MEMORY;
        } catch (const std::exception& error) {
            t_text = before + error.what();
            return INTARSIA_LOAD_FAILED;
        }
    } catch (...) {  // no memory for the text itself
        return INTARSIA_NO_MEMORY;
    }
}

intarsia_status bad_argument(const char* text) noexcept {
    return guarded("", [&] { throw Error(INTARSIA_BAD_ARGUMENT, text); });
}

intarsia_status describe(const std::vector<Border>& borders, std::size_t index, intarsia_value* value) {
    if (value == nullptr || index >= borders.size()) {
        return bad_argument(value == nullptr ? "a null pointer where the answer goes" : "the index is too large");
    }
    const Border& border = borders[index];
    *value = {border.name.c_str(), border.dtype, border.shape.size(), border.shape.data(), border.bytes};
    return INTARSIA_OK;
}

// Opens a model: `open` makes a container of what the caller names.
template <typename Open>
intarsia_status load(const char* from, const intarsia_options* options, intarsia_model** model, Open open) {
    if (from == nullptr || model == nullptr) {
        return bad_argument("loading was given a null pointer");
    }
    *model = nullptr;
    intarsia_options chosen = INTARSIA_OPTIONS;
    if (options != nullptr) {
        if (options->size != sizeof chosen || (options->allow == nullptr && options->allow_count > 0)) {
            return bad_argument("the options are not those of this version; begin with INTARSIA_OPTIONS");
        }
        chosen = *options;
    }
    return guarded(from, [&] { *model = new intarsia_model(open(from), chosen); });
}

}  // namespace

const char* intarsia_version(void) { return INTARSIA_VERSION; }

const char* intarsia_error_text(void) { return t_text.c_str(); }

intarsia_status intarsia_load(const char* path, const intarsia_options* options, intarsia_model** model) {
    return load(path, options, model, [](const std::string& file) { return intarsia::Container(file); });
}

intarsia_status intarsia_link(const char* name, const void* artifact, size_t bytes) {
    if (name == nullptr || artifact == nullptr || bytes == 0) {
        return bad_argument("a null pointer, or an artifact of no bytes");
    }
    return guarded(name, [&] { intarsia::link(name, {static_cast<const char*>(artifact), bytes}); });
}

intarsia_status intarsia_load_linked(const char* name, const intarsia_options* options, intarsia_model** model) {
    return load(name, options, model, [](const std::string& own) { return intarsia::Container(intarsia::linked(own)); });
}

size_t intarsia_input_count(const intarsia_model* model) {
    return model == nullptr ? 0 : model->model.manifest().inputs.size();
}

size_t intarsia_output_count(const intarsia_model* model) {
    return model == nullptr ? 0 : model->model.manifest().outputs.size();
}

intarsia_status intarsia_input(const intarsia_model* model, size_t index, intarsia_value* value) {
    return model == nullptr ? bad_argument("the model is a null pointer")
                            : describe(model->model.manifest().inputs, index, value);
}

intarsia_status intarsia_output(const intarsia_model* model, size_t index, intarsia_value* value) {
    return model == nullptr ? bad_argument("the model is a null pointer")
                            : describe(model->model.manifest().outputs, index, value);
}

size_t intarsia_step_count(const intarsia_model* model) {
    return model == nullptr ? 0 : model->model.manifest().steps.size();
}

intarsia_status intarsia_step_at(const intarsia_model* model, size_t index, intarsia_step* step) {
    if (model == nullptr || step == nullptr || index >= intarsia_step_count(model)) {
        return bad_argument("a null pointer, or an index that is too large");
    }
    return guarded("", [&] {
        const intarsia::StoredStep& found = model->model.manifest().steps[index];
        const intarsia::Json* const threads = found.native.find("threads");
        *step = {found.engine.c_str(), found.target.c_str(), found.node_count,
                 threads == nullptr ? 1 : static_cast<int>(threads->integer(found.at))};
    });
}

int intarsia_threads(const intarsia_model* model) { return model == nullptr ? 0 : model->model.manifest().threads; }

const char* intarsia_remarks(const intarsia_model* model) {
    return model == nullptr ? "" : model->model.remarks().c_str();
}

intarsia_status intarsia_run(intarsia_model* model, const intarsia_tensor* inputs, size_t input_count,
                             const intarsia_tensor* outputs, size_t output_count) {
    if (model == nullptr) {
        return bad_argument("the model is a null pointer");
    }
    return guarded("", [&] { model->model.run(inputs, input_count, outputs, output_count); });
}

void intarsia_free(intarsia_model* model) {
    if (model != nullptr) {
        model->model.wait();
        delete model;
    }
}
