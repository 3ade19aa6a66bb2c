// A plan whose main engine holds the other engines' steps inside its own session: one call runs the session, and where
// a step of another engine belongs the session visits it.
#include "error.h"
#include "engines/executable.h"
#include "model.h"

namespace intarsia {
namespace {

struct Partition {
    const StoredStep* step;
    std::unique_ptr<Executable> executable;
};

std::int64_t elements_of(const Border& border) { return static_cast<std::int64_t>(border.elements()); }

void visit(const Partition& partition, const std::vector<void*>& inputs, const std::vector<void*>& outputs,
           const std::vector<std::int64_t>& elements) {
    const StoredStep& step = *partition.step;
    std::vector<std::int64_t> wanted;
    for (const Border& border : step.inputs) {
        wanted.push_back(elements_of(border));
    }
    for (const Border& border : step.outputs) {
        wanted.push_back(elements_of(border));
    }
    if (inputs.size() != step.inputs.size() || elements != wanted) {
        throw RunError(step.engine, "the session hands over values of other sizes than the plan has; compile it anew");
    }
    for (std::size_t index = 0; index < inputs.size(); ++index) {
        partition.executable->place_input(index, inputs[index]);
    }
    for (std::size_t index = 0; index < outputs.size(); ++index) {
        partition.executable->place_output(index, outputs[index]);
    }
    partition.executable->run();
}

// How many values each partition takes and gives; and that none comes in blocks of channels, which no loader here takes.
void check_partitions(const StoredStep& main, const std::vector<Partition>& partitions) {
    const std::string at = main.at + ".meta";
    const auto& counts = main.meta.get("partitions", at).list(at + ".partitions");
    bool fits = counts.size() == partitions.size();
    for (std::size_t number = 0; fits && number < counts.size(); ++number) {
        const auto& pair = counts[number].list(at + ".partitions");
        const StoredStep& step = *partitions[number].step;
        fits = pair.size() == 2 && pair[0].integer(at) == static_cast<std::int64_t>(step.inputs.size()) &&
               pair[1].integer(at) == static_cast<std::int64_t>(step.outputs.size());
    }
    if (!fits) {
        throw ArtifactError(at + ".partitions: the other steps of the plan have other borders");
    }
    for (const auto& [number, sides] : main.meta.get("borders", at).members(at + ".borders")) {
        for (const Json& side : sides.list(at + ".borders")) {
            if (!side.list(at + ".borders").empty()) {
                throw ArtifactError(at + ".borders: partition " + number + " takes blocks of channels, which no engine "
                                    "of the runtime cpp does");
            }
        }
    }
}

}  // namespace

std::unique_ptr<Executable> load_embedded(const Source& source) {
    const StoredStep* main = nullptr;
    for (const StoredStep& step : source.manifest.steps) {
        if (step.meta.find("partitions") != nullptr) {
            if (main != nullptr) {
                throw ArtifactError(step.at + ".meta: two steps hold the others");
            }
            main = &step;
        }
    }
    if (main == nullptr) {
        throw ArtifactError("$.settings.embed: no step holds the others");
    }
    const auto partitions = std::make_shared<std::vector<Partition>>();
    for (const StoredStep& step : source.manifest.steps) {
        if (step.target != main->target) {
            for (const auto* const side : {&step.inputs, &step.outputs}) {
                for (const Border& border : *side) {
                    if (border.dtype != INTARSIA_FLOAT32) {
                        throw ArtifactError(step.at + ": inside a session, borders are float32");
                    }
                }
            }
            partitions->push_back({&step, load_step(source, step)});
        }
    }
    check_partitions(*main, *partitions);
    return load_onnxruntime(source, *main, source.manifest.inputs, source.manifest.outputs,
                            [partitions](std::size_t number, const std::vector<void*>& inputs,
                                         const std::vector<void*>& outputs, const std::vector<std::int64_t>& elements) {
                                if (number >= partitions->size()) {
                                    throw RunError("onnxruntime", "the session has a partition that the plan lacks");
                                }
                                visit((*partitions)[number], inputs, outputs, elements);
                            });
}

}  // namespace intarsia
