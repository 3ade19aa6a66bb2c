#include "reading/manifest.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "error.h"

namespace intarsia {
namespace {

constexpr std::int64_t kVersion = 2, kNativeFormat = 1;
constexpr std::size_t kAlignment = 64;

std::string child(const std::string& at, std::size_t place) { return at + "[" + std::to_string(place) + "]"; }

// A member that this library does not know may change what the others mean.
void only(const Json& object, const std::string& at, std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : object.members(at)) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            throw ArtifactError(at + "." + name + ": this version of the library does not know it");
        }
    }
}

std::vector<std::string> texts_in(const Json& list, const std::string& at) {
    std::vector<std::string> found;
    for (const Json& each : list.list(at)) {
        found.push_back(each.text(at));
    }
    return found;
}

int number_in(const Json& value, const std::string& at, std::int64_t least, std::int64_t most) {
    const std::int64_t number = value.integer(at);
    if (number < least || number > most) {
        throw ArtifactError(at + ": " + std::to_string(number) + " is not from " + std::to_string(least) + " to " +
                            std::to_string(most));
    }
    return static_cast<int>(number);
}

std::vector<Border> borders_in(const Json& list, const std::string& at) {
    std::vector<Border> found;
    std::unordered_set<std::string> names;
    for (const Json& each : list.list(at)) {
        const std::string here = child(at, found.size());
        only(each, here, {"name", "dtype", "shape"});
        Border border{each.get("name", here).text(here + ".name"), INTARSIA_FLOAT32, {}, 0};
        if (border.name.empty() || border.name.find('\0') != std::string::npos) {
            throw ArtifactError(here + ".name: it is empty, or no text of C");
        }
        const Json& shape = each.get("shape", here);
        if (shape.is_null()) {
            throw ArtifactError(here + ".shape: the runtime cpp takes values of fixed shapes, and " +
                                shown(border.name) + " has none; run it from Python");
        }
        border.dtype = dtype_of(each.get("dtype", here).text(here + ".dtype"), here + ".dtype");
        border.shape = shape_in(shape, here + ".shape");
        border.bytes = array_bytes(border.shape, border.dtype, here + ".shape");
        if (!names.insert(border.name).second) {
            throw ArtifactError(here + ".name: " + shown(border.name) + " was there before");
        }
        found.push_back(std::move(border));
    }
    return found;
}

void read_machine(const Json& machine, Manifest& manifest) {
    const std::string at = "$.machine";
    only(machine, at, {"architecture", "isa", "cpu", "cores", "system"});
    manifest.architecture = machine.get("architecture", at).text(at + ".architecture");
    manifest.system = machine.get("system", at).text(at + ".system");
    manifest.cpu = machine.get("cpu", at).text(at + ".cpu");
    manifest.isa = texts_in(machine.get("isa", at), at + ".isa");
    manifest.cores = number_in(machine.get("cores", at), at + ".cores", 1, 1 << 20);
}

void read_settings(const Json& settings, Manifest& manifest) {
    const std::string at = "$.settings";
    // `emulated` says on what the plan was measured; a run is not held to it.
    only(settings, at,
         {"threads", "spin", "embed", "parallel", "pipeline", "max_error", "verified", "ahead_of_time", "emulated"});
    if (settings.get("ahead_of_time", at).boolean(at + ".ahead_of_time")) {
        throw ArtifactError("it is a program of C, for the runtime crt; intarsia export writes its sources");
    }
    manifest.threads = number_in(settings.get("threads", at), at + ".threads", 1, kMostThreads);
    const std::string& spin = settings.get("spin", at).text(at + ".spin");
    if (spin != "free" && spin != "call" && spin != "never") {
        throw ArtifactError(at + ".spin: " + shown(spin) + " is none of free, call and never");
    }
    manifest.spin = spin == "free" ? Spin::kFree : spin == "call" ? Spin::kCall : Spin::kNever;
    manifest.embed = settings.get("embed", at).boolean(at + ".embed");
    manifest.parallel = settings.get("parallel", at).boolean(at + ".parallel");
}

void read_weights(const Json& weights, const Container::Entry& entry, Manifest& manifest) {
    std::vector<std::pair<std::size_t, std::size_t>> spans;
    for (const auto& [name, each] : weights.members("$.weights")) {
        const std::string at = "$.weights." + name;
        only(each, at, {"offset", "nbytes", "dtype", "shape"});
        const intarsia_dtype dtype = dtype_of(each.get("dtype", at).text(at + ".dtype"), at + ".dtype");
        Weight weight{0, 0, dtype, shape_in(each.get("shape", at), at + ".shape")};
        weight.bytes = array_bytes(weight.shape, dtype, at + ".shape");
        const std::int64_t offset = each.get("offset", at).integer(at + ".offset");
        const std::int64_t stated = each.get("nbytes", at).integer(at + ".nbytes");
        if (stated < 0 || static_cast<std::size_t>(stated) != weight.bytes) {
            throw ArtifactError(at + ".nbytes: its type and shape do not have " + std::to_string(stated) + " bytes");
        }
        if (offset < 0 || static_cast<std::size_t>(offset) > entry.size ||
            entry.size - static_cast<std::size_t>(offset) < weight.bytes) {
            throw ArtifactError(at + ".offset: it is not inside weights.bin");
        }
        if (static_cast<std::size_t>(offset) % kAlignment != 0) {
            throw ArtifactError(at + ".offset: it is no multiple of 64");
        }
        weight.offset = entry.start + static_cast<std::size_t>(offset);
        if (weight.bytes > 0) {
            spans.emplace_back(weight.offset, weight.bytes);
        }
        manifest.weights.emplace(name, std::move(weight));
    }
    std::sort(spans.begin(), spans.end());
    for (std::size_t place = 1; place < spans.size(); ++place) {
        // What two names share they share whole.
        if (spans[place] != spans[place - 1] && spans[place].first - spans[place - 1].first < spans[place - 1].second) {
            throw ArtifactError("$.weights: two of them overlap in weights.bin");
        }
    }
}

std::string entry_in(const Container& container, const std::unordered_map<std::string, std::string>& same,
                     const std::string& name) {
    const auto shared = same.find(name);
    const std::string& entry = shared == same.end() ? name : shared->second;
    container.entry(entry);
    return entry;
}

StoredStep step_in(const Json& each, const std::string& at, std::size_t number, const Manifest& manifest,
                   const Container& container, const std::unordered_map<std::string, std::string>& same) {
    only(each, at, {"target", "nodes", "inputs", "outputs", "files", "weights", "meta", "precision"});
    StoredStep step;
    step.at = at;
    step.target = each.get("target", at).text(at + ".target");
    step.engine = step.target.substr(0, step.target.find(' '));
    const std::vector<std::string> nodes = texts_in(each.get("nodes", at), at + ".nodes");
    step.node_count = nodes.size();
    if (nodes.empty() || std::set<std::string>(nodes.begin(), nodes.end()).size() != nodes.size()) {
        throw ArtifactError(at + ".nodes: there are none, or one twice");
    }
    step.inputs = borders_in(each.get("inputs", at), at + ".inputs");
    step.outputs = borders_in(each.get("outputs", at), at + ".outputs");
    if (step.outputs.empty()) {
        throw ArtifactError(at + ".outputs: there are none");
    }
    for (const std::string& name : texts_in(each.get("files", at), at + ".files")) {
        step.files.emplace(name, entry_in(container, same, "steps/" + std::to_string(number) + "/" + name));
    }
    step.weights = texts_in(each.get("weights", at), at + ".weights");
    for (const std::string& name : step.weights) {
        if (manifest.weights.count(name) == 0) {
            throw ArtifactError(at + ".weights: there is no weight " + shown(name));
        }
    }
    step.meta = each.get("meta", at);
    step.meta.members(at + ".meta");
    return step;
}

// What Python worked out for this runtime, step by step.
void read_native(const Container& container, Manifest& manifest) {
    if (!container.has("native.json")) {
        throw ArtifactError(
            "it was not prepared for the runtime cpp: compile with --runtime cpp, or write a project with "
            "intarsia export --runtime cpp, which holds a copy that is");
    }
    const Json native = Json::parse(container.read("native.json"));
    const std::string at = "$native";
    if (native.get("format", at).integer(at + ".format") != kNativeFormat) {
        throw ArtifactError(at + ".format: it was prepared for another version of this library");
    }
    const auto& steps = native.get("steps", at).list(at + ".steps");
    if (steps.size() != manifest.steps.size()) {
        throw ArtifactError(at + ".steps: the plan has " + std::to_string(manifest.steps.size()));
    }
    for (std::size_t number = 0; number < steps.size(); ++number) {
        steps[number].members(child(at + ".steps", number));
        manifest.steps[number].native = steps[number];
    }
    for (const Json& section : native.get("sections", at).list(at + ".sections")) {
        manifest.sections.emplace_back();
        for (const Json& branch : section.list(at + ".sections")) {
            manifest.sections.back().emplace_back();
            for (const Json& place : branch.list(at + ".sections")) {
                const int most = static_cast<int>(steps.size()) - 1;
                const int number = number_in(place, at + ".sections", 0, most);
                manifest.sections.back().back().push_back(static_cast<std::size_t>(number));
            }
        }
    }
    check_sections(manifest);
}

void read_engines(const Json& engines, Manifest& manifest) {
    for (const auto& [name, record] : engines.members("$.engines")) {
        const std::string at = "$.engines." + name;
        only(record, at, {"version", "licence"});
        manifest.engines.emplace_back(name, record.get("version", at).text(at + ".version"));
        const bool is_used = std::any_of(manifest.steps.begin(), manifest.steps.end(),
                                         [&, &own = name](const StoredStep& step) { return step.engine == own; });
        if (!is_used) {
            throw ArtifactError(at + ": no step is on it, or it is in another interpreter, which only Python reaches");
        }
    }
    for (const StoredStep& step : manifest.steps) {
        if (engines.find(step.engine) == nullptr) {
            throw ArtifactError(step.at + ".target: " + shown(step.engine) + " is not among the engines");
        }
    }
}

}  // namespace

Manifest read_manifest(const Container& container) {
    const Json json = Json::parse(container.read("manifest.json"));
    const std::int64_t version = json.get("version", "$").integer("$.version");
    if (version != kVersion) {
        throw ArtifactError("artifact format " + std::to_string(version) + ", this library reads " +
                            std::to_string(kVersion));
    }
    only(json, "$", {"version", "machine", "engines", "settings", "inputs", "outputs", "steps", "weights", "dims",
                     "buckets", "same"});
    for (const char* const name : {"graph.onnx", "plan.yaml"}) {
        container.entry(name);
    }
    const Json* const buckets = json.find("buckets");
    if (buckets != nullptr && !buckets->list("$.buckets").empty()) {
        throw ArtifactError("its sizes are open (executor vm), and the runtime cpp takes fixed ones; compile it with "
                            "one size, or run it from Python");
    }
    Manifest manifest{};
    read_machine(json.get("machine", "$"), manifest);
    read_settings(json.get("settings", "$"), manifest);
    read_weights(json.get("weights", "$"), container.entry("weights.bin"), manifest);
    manifest.inputs = borders_in(json.get("inputs", "$"), "$.inputs");
    manifest.outputs = borders_in(json.get("outputs", "$"), "$.outputs");
    std::unordered_map<std::string, std::string> same;
    if (const Json* const stated = json.find("same")) {
        for (const auto& [name, entry] : stated->members("$.same")) {
            same.emplace(name, entry.text("$.same." + name));
        }
    }
    for (const Json& each : json.get("steps", "$").list("$.steps")) {
        const std::size_t number = manifest.steps.size();
        manifest.steps.push_back(step_in(each, child("$.steps", number), number, manifest, container, same));
    }
    if (manifest.steps.empty()) {
        throw ArtifactError("$.steps: there are none");
    }
    read_engines(json.get("engines", "$"), manifest);
    check_order(manifest);
    read_native(container, manifest);
    return manifest;
}

}  // namespace intarsia
