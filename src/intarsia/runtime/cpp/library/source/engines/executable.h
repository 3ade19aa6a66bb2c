// A step that an engine has loaded: told where its values lie, and run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reading/container.h"
#include "reading/manifest.h"

namespace intarsia {

// What loaders read, all of which outlives what they load.
struct Source {
    const Container& container;
    const Manifest& manifest;
    const std::vector<std::string>& folders;  // where engines are looked for

    std::string_view file(const StoredStep& step, const std::string& name) const;
    // A weight's bytes, mapped for reading.
    const char* weight(const std::string& name) const;
};

class Executable {
  public:
    virtual ~Executable() = default;

    // Where the value at this place among the step's inputs or outputs lies from now on: as many bytes as it has, which
    // stay there while `run` runs. Being told the same place again costs nothing.
    virtual void place_input(std::size_t index, const void* data) = 0;
    virtual void place_output(std::size_t index, void* data) = 0;

    // Throws `RunError`. Every place was told before.
    virtual void run() = 0;
};

// Called by a session for a partition of another engine inside it, with the elements that lie at each address.
using Visit = std::function<void(std::size_t partition, const std::vector<void*>& inputs,
                                 const std::vector<void*>& outputs, const std::vector<std::int64_t>& elements)>;

// Each throws `LoadError`, `UnavailableError`, or `ArtifactError` where what the artifact says cannot be right.
std::unique_ptr<Executable> load_onnxruntime(const Source& source, const StoredStep& step,
                                             const std::vector<Border>& inputs, const std::vector<Border>& outputs,
                                             Visit visit);
std::unique_ptr<Executable> load_openvino(const Source& source, const StoredStep& step);
std::unique_ptr<Executable> load_compiled_c(const Source& source, const StoredStep& step);

// By what `native.json` says of the step.
std::unique_ptr<Executable> load_step(const Source& source, const StoredStep& step);

// Versions of the engines' libraries, to be compared with those that the artifact was built with.
std::string onnxruntime_version(const std::vector<std::string>& folders);
std::string openvino_version(const std::vector<std::string>& folders);

// Throws `ArtifactError` unless an engine kept the borders that its step has.
void check_rows(const StoredStep& step);
// Why this processor does not serve the machine code that a step's artifact holds; empty if it does.
std::string unserved_code(const StoredStep& step);

}  // namespace intarsia
