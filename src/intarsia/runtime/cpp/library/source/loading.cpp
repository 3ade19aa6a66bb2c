// Which loader a step has, and what all of them check.
#include "error.h"
#include "engines/executable.h"
#include "machine.h"

namespace intarsia {

std::string_view Source::file(const StoredStep& step, const std::string& name) const {
    const auto found = step.files.find(name);
    if (found == step.files.end()) {
        throw ArtifactError(step.at + ".files: there is no " + name);
    }
    return container.read(found->second);
}

const char* Source::weight(const std::string& name) const {
    return container.bytes().data() + manifest.weights.at(name).offset;
}

void check_rows(const StoredStep& step) {
    const std::string at = step.at + ".meta";
    if (rows_in(step.meta.get("inputs", at), at + ".inputs") != step.inputs ||
        rows_in(step.meta.get("outputs", at), at + ".outputs") != step.outputs) {
        throw ArtifactError(at + ": these are not the borders of the step");
    }
}

std::string unserved_code(const StoredStep& step) {
    const std::string at = step.at + ".meta";
    const Json& serves = step.meta.get("library", at);
    std::vector<std::string> sets;
    for (const Json& each : serves.get("instruction_sets", at).list(at)) {
        sets.push_back(each.text(at));
    }
    return unserved(serves.get("system", at).text(at), serves.get("architecture", at).text(at), sets);
}

std::unique_ptr<Executable> load_step(const Source& source, const StoredStep& step) {
    const std::string at = step.at + " (native)";
    const std::string& loader = step.native.get("loader", at).text(at + ".loader");
    check_rows(step);
    if (loader == "onnxruntime") {
        return load_onnxruntime(source, step, step.inputs, step.outputs, nullptr);
    }
    if (loader == "openvino") {
        return load_openvino(source, step);
    }
    if (loader == "c") {
        return load_compiled_c(source, step);
    }
    throw ArtifactError(at + ".loader: this library has no loader " + shown(loader));
}

}  // namespace intarsia
