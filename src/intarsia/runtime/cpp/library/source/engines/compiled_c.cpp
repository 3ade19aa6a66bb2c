// Steps of the engine `c`: a function of a library that the artifact holds, on its constants and memory of its own.
#include <sys/mman.h>

#include <cstring>

#include "error.h"
#include "engines/executable.h"
#include "engines/library.h"

namespace intarsia {
namespace {

constexpr const char* kName = "c";

using Run = void (*)(const void* const* inputs, void* const* outputs, void* workspace, const void* const* constants);

// Memory from the start of a page, zeroed.
class Pages {
  public:
    explicit Pages(std::size_t size) : size_(size < 64 ? 64 : size) {
        data_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data_ == MAP_FAILED) {
            throw Error(INTARSIA_NO_MEMORY, "a call takes " + std::to_string(size) + " bytes, which cannot be had");
        }
    }
    ~Pages() { ::munmap(data_, size_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    char* data() const { return static_cast<char*>(data_); }

  private:
    std::size_t size_;
    void* data_;
};

class CompiledC : public Executable {
  public:
    CompiledC(const StoredStep& step, std::shared_ptr<Library> library, std::string_view constants,
              const std::vector<std::size_t>& offsets, std::size_t workspace)
        : library_(std::move(library)),
          run_(library_->function<Run>("intarsia_run")),
          constants_(constants.size()),
          workspace_(workspace),
          inputs_(step.inputs.size() + 1),
          outputs_(step.outputs.size() + 1) {
        if (run_ == nullptr) {
            throw LoadError(kName, "its library has no function intarsia_run");
        }
        std::memcpy(constants_.data(), constants.data(), constants.size());
        for (const std::size_t offset : offsets) {
            places_.push_back(constants_.data() + offset);
        }
        places_.push_back(nullptr);
    }

    void place_input(std::size_t index, const void* data) override { inputs_[index] = data; }
    void place_output(std::size_t index, void* data) override { outputs_[index] = data; }
    void run() override { run_(inputs_.data(), outputs_.data(), workspace_.data(), places_.data()); }

  private:
    std::shared_ptr<Library> library_;
    Run run_;
    Pages constants_, workspace_;
    std::vector<const void*> inputs_;
    std::vector<void*> outputs_;
    std::vector<const void*> places_;
};

std::size_t count_in(const Json& value, const std::string& at, std::size_t most) {
    const std::int64_t number = value.integer(at);
    if (number < 0 || static_cast<std::uint64_t>(number) > most) {
        throw ArtifactError(at + ": " + std::to_string(number) + " is not from 0 to " + std::to_string(most));
    }
    return static_cast<std::size_t>(number);
}

// The machine code has sizes written into it, and nothing tells them; so they are stated twice, by who compiled it.
void check_twice(const StoredStep& step, std::size_t constants) {
    const std::string at = step.at + " (native)";
    const Json& native = step.native;
    bool fits = count_in(native.get("bytes", at), at + ".bytes", std::size_t{1} << 46) == constants;
    fits = fits && rows_in(native.get("inputs", at), at + ".inputs") == step.inputs;
    fits = fits && rows_in(native.get("outputs", at), at + ".outputs") == step.outputs;
    const std::string meta = step.at + ".meta";
    fits = fits && native.get("workspace", at).integer(at) == step.meta.get("workspace", meta).integer(meta);
    const auto& one = native.get("constants", at).list(at);
    const auto& other = step.meta.get("constants", meta).list(meta);
    fits = fits && one.size() == other.size();
    for (std::size_t place = 0; fits && place < one.size(); ++place) {
        fits = one[place].integer(at) == other[place].integer(meta);
    }
    if (!fits) {
        throw ArtifactError(at + ": its machine code was compiled for other borders, memory or constants");
    }
}

}  // namespace

std::unique_ptr<Executable> load_compiled_c(const Source& source, const StoredStep& step) {
    const std::string at = step.at + ".meta";
    const std::string fault = unserved_code(step);
    if (!fault.empty()) {
        throw LoadError(kName, "the artifact's library cannot run here: " + fault + "; compile the model here");
    }
    const std::string_view constants = source.file(step, "constants.bin");
    check_twice(step, constants.size());
    std::vector<std::size_t> offsets;
    for (const Json& each : step.meta.get("constants", at).list(at + ".constants")) {
        offsets.push_back(count_in(each, at + ".constants", constants.size()));
    }
    const std::size_t workspace = count_in(step.meta.get("workspace", at), at + ".workspace", std::size_t{1} << 46);
    auto library = Library::of_code(source.file(step, "model.so"), kName);
    return std::make_unique<CompiledC>(step, std::move(library), constants, offsets, workspace);
}

}  // namespace intarsia
