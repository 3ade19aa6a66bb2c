#include "model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <future>

#include "error.h"
#include "engines/library.h"
#include "machine.h"

namespace intarsia {
namespace {

constexpr const char* kPolicy = "INTARSIA_SIGNED_BY";

bool ends_as(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string loader_of(const StoredStep& step) {
    const std::string at = step.at + " (native)";
    return step.native.get("loader", at).text(at + ".loader");
}

// The engine's version without what an artifact adds to it, as the digest of our own kernels: "1.31.1+a1b2c3d4.16".
bool is_version(const std::string& built, const std::string& here) {
    const std::string wanted = built.substr(0, built.find('+'));
    return here.compare(0, wanted.size(), wanted) == 0 &&
           (here.size() == wanted.size() || here[wanted.size()] == '-' || here[wanted.size()] == '+');
}

}  // namespace

Model::Model(Container container, const intarsia_options& options)
    : container_(std::move(container)), folders_(engine_folders(options.engine_folders)) {
    if (std::getenv(kPolicy) != nullptr) {
        throw ArtifactError(std::string(kPolicy) + " asks for a signature, and this library checks none; check it with "
                            "intarsia verify, and load it where the variable is not set");
    }
    // The checksum reads the whole file, while the engines' libraries are mapped, which is as slow.
    std::future<void> sum = std::async(std::launch::async, [this] { container_.check_sum(); });
    try {
        manifest_ = read_manifest(container_);
        check_machine();
        check_code(options);
        check_versions();
    } catch (...) {
        sum.get();  // of a file that is damaged, that is what is told
        throw;
    }
    sum.get();
    load();
    plan_memory();
}

void Model::check_machine() {
    if (manifest_.system != system_here()) {
        throw ArtifactError("built for " + manifest_.system + ", and this machine is " + system_here());
    }
    const std::string fault = unserved(manifest_.system, manifest_.architecture, manifest_.isa);
    if (!fault.empty()) {
        throw ArtifactError(fault + "; compile the model anew here");
    }
    if (const std::string here = processor_here(); !here.empty() && here != manifest_.cpu) {
        remarks_ += "CPU: measured on " + manifest_.cpu + ", here " + here + "\n";
    }
    if (const int here = thread_budget(); here != manifest_.cores) {
        remarks_ += "cores: measured on " + std::to_string(manifest_.cores) + ", here " + std::to_string(here) + "\n";
    }
}

// What loading would run beside the engines that are installed: libraries that the artifact names, code that it holds.
void Model::check_code(const intarsia_options& options) const {
    std::string held;
    for (const StoredStep& step : manifest_.steps) {
        for (const auto& [name, entry] : step.files) {
            held += ends_as(name, ".so") ? (held.empty() ? "" : ", ") + shown(entry) : "";
        }
        const Json* const libraries = step.native.find("libraries");
        for (std::size_t number = 0; libraries != nullptr && number < libraries->list(step.at).size(); ++number) {
            const std::string& path = libraries->list(step.at)[number].text(step.at);
            const bool is_allowed =
                std::any_of(options.allow, options.allow + options.allow_count,
                            [&](const char* each) { return each != nullptr && path == each; });
            if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos) {
                throw ArtifactError(step.at + " names " + shown(path) + ", which loading would run; a relative path "
                                    "is never accepted");
            }
            if (!is_allowed) {
                throw ArtifactError(step.at + " names " + shown(path) + ", which loading would run; if you trust that "
                                    "file, name it in the option allow");
            }
        }
    }
    if (!held.empty() && options.refuse_machine_code != 0) {
        throw ArtifactError("it holds machine code, which was refused: " + held);
    }
}

void Model::check_versions() const {
    for (const auto& [name, built] : manifest_.engines) {
        const auto step = std::find_if(manifest_.steps.begin(), manifest_.steps.end(),
                                       [&, &own = name](const StoredStep& each) { return each.engine == own; });
        const std::string loader = loader_of(*step);
        if (loader != "onnxruntime" && loader != "openvino") {
            continue;  // what runs lies in the artifact, or is inside the session of another step of that engine
        }
        const std::string here = loader == "openvino" ? openvino_version(folders_) : onnxruntime_version(folders_);
        if (!is_version(built, here)) {
            throw UnavailableError("it was built with " + name + " " + built + ", and " + here +
                                   " is here; install that version, or compile the model anew");
        }
    }
}

void Model::load() {
    const Source source{container_, manifest_, folders_};
    if (manifest_.embed) {
        steps_.push_back({load_embedded(source), {}, {}});
        sections_ = {{{0}}};
        return;
    }
    for (const StoredStep& step : manifest_.steps) {
        steps_.push_back({load_step(source, step), {}, {}});
    }
    sections_ = manifest_.sections;
    std::size_t width = 1;
    for (const auto& section : sections_) {
        width = std::max(width, std::min(section.size(), static_cast<std::size_t>(manifest_.threads)));
    }
    crew_ = std::make_unique<Crew>(width - 1);
}

std::size_t Model::value_of(const Border& border) {
    for (std::size_t place = 0; place < values_.size(); ++place) {
        if (values_[place].border->name == border.name) {
            return place;
        }
    }
    values_.push_back({&border, 0, 0, nullptr, nullptr});
    return values_.size() - 1;
}

// Steps that may run at one time are one moment, so their values share no memory. Outputs have a place of their own to
// the end, for a caller who does not want them.
void Model::plan_memory() {
    for (const Border& border : manifest_.inputs) {
        inputs_.push_back(value_of(border));
    }
    for (std::size_t moment = 0; moment < sections_.size(); ++moment) {
        for (const auto& branch : sections_[moment]) {
            for (const std::size_t place : branch) {
                const auto& reads = manifest_.embed ? manifest_.inputs : manifest_.steps[place].inputs;
                const auto& writes = manifest_.embed ? manifest_.outputs : manifest_.steps[place].outputs;
                for (const Border& border : reads) {
                    steps_[place].reads.push_back(value_of(border));
                    values_[steps_[place].reads.back()].last = moment;
                }
                for (const Border& border : writes) {
                    steps_[place].writes.push_back(value_of(border));
                    Value& value = values_[steps_[place].writes.back()];
                    value.first = value.last = moment;
                }
            }
        }
    }
    for (const Border& border : manifest_.outputs) {
        outputs_.push_back(value_of(border));
        values_[outputs_.back()].last = sections_.size();
    }
    std::vector<Need> needs;
    for (std::size_t place = inputs_.size(); place < values_.size(); ++place) {
        needs.push_back({values_[place].border->bytes, values_[place].first, values_[place].last});
    }
    arena_ = std::make_unique<Arena>(needs);
    for (std::size_t need = 0; need < needs.size(); ++need) {
        values_[inputs_.size() + need].own = arena_->at(need);
    }
}

void Model::run_step(std::size_t place) {
    Bound& step = steps_[place];
    for (std::size_t index = 0; index < step.reads.size(); ++index) {
        step.executable->place_input(index, values_[step.reads[index]].now);
    }
    for (std::size_t index = 0; index < step.writes.size(); ++index) {
        step.executable->place_output(index, values_[step.writes[index]].now);
    }
    step.executable->run();
}

void Model::run(const intarsia_tensor* inputs, std::size_t input_count, const intarsia_tensor* outputs,
                std::size_t output_count) {
    const auto given = matched(manifest_.inputs, inputs, input_count, true);
    const auto wanted = matched(manifest_.outputs, outputs, output_count, false);
    check_apart(given, wanted);
    const std::lock_guard<std::mutex> lock(turn_);
    for (Value& value : values_) {
        value.now = value.own;
    }
    for (std::size_t place = 0; place < given.size(); ++place) {
        values_[inputs_[place]].now = given[place]->data;
    }
    for (std::size_t place = 0; place < wanted.size(); ++place) {
        if (wanted[place] != nullptr && outputs_[place] >= inputs_.size()) {
            values_[outputs_[place]].now = wanted[place]->data;
        }
    }
    for (const auto& section : sections_) {
        if (section.size() == 1) {
            for (const std::size_t place : section[0]) {
                run_step(place);
            }
            continue;
        }
        std::vector<std::function<void()>> jobs;
        for (const auto& branch : section) {
            jobs.emplace_back([this, &branch] {
                for (const std::size_t place : branch) {
                    run_step(place);
                }
            });
        }
        crew_->run(jobs);
    }
    for (std::size_t place = 0; place < wanted.size(); ++place) {
        const Value& value = values_[outputs_[place]];
        if (wanted[place] != nullptr && value.now != wanted[place]->data) {  // an input that is an output, too
            std::memcpy(wanted[place]->data, value.now, value.border->bytes);
        }
    }
}

}  // namespace intarsia
