// Whether the steps of a plan can run in the order that they are in.
#include <unordered_map>

#include "error.h"
#include "reading/manifest.h"

namespace intarsia {

void check_order(const Manifest& manifest) {
    std::unordered_map<std::string, const Border*> known;
    for (const Border& border : manifest.inputs) {
        known.emplace(border.name, &border);
    }
    const auto is_there = [&](const Border& border) {
        const auto found = known.find(border.name);
        return found != known.end() && *found->second == border;
    };
    for (const StoredStep& step : manifest.steps) {
        for (const Border& border : step.inputs) {
            if (!is_there(border)) {
                throw ArtifactError(step.at + ".inputs: nothing before it makes " + shown(border.name) +
                                    " of such a type and shape");
            }
        }
        for (const Border& border : step.outputs) {
            if (!known.emplace(border.name, &border).second) {
                throw ArtifactError(step.at + ".outputs: " + shown(border.name) + " is there already");
            }
        }
    }
    for (const Border& border : manifest.outputs) {
        if (!is_there(border)) {
            throw ArtifactError("$.outputs: no step makes " + shown(border.name) + " of such a type and shape");
        }
    }
}

void check_sections(const Manifest& manifest) {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    const std::string at = "$native.sections";
    std::vector<std::pair<std::size_t, std::size_t>> place(manifest.steps.size(), {kNone, kNone});
    std::vector<std::size_t> order;
    for (std::size_t section = 0; section < manifest.sections.size(); ++section) {
        for (std::size_t branch = 0; branch < manifest.sections[section].size(); ++branch) {
            for (const std::size_t step : manifest.sections[section][branch]) {
                if (place[step].first != kNone) {
                    throw ArtifactError(at + ": a step is there twice");
                }
                place[step] = {section, branch};
                order.push_back(step);
            }
        }
    }
    if (order.size() != manifest.steps.size()) {
        throw ArtifactError(at + ": a step is missing");
    }
    std::unordered_map<std::string, std::size_t> made;
    for (const std::size_t step : order) {
        for (const Border& border : manifest.steps[step].inputs) {
            bool is_input = false;
            for (const Border& input : manifest.inputs) {
                is_input = is_input || input.name == border.name;
            }
            const auto writer = made.find(border.name);
            const bool is_late = !is_input && writer == made.end();
            const bool is_beside = writer != made.end() && place[writer->second].first == place[step].first &&
                                   place[writer->second].second != place[step].second;
            if (is_late || is_beside) {
                throw ArtifactError(at + ": a step would run before what it reads is made");
            }
        }
        for (const Border& border : manifest.steps[step].outputs) {
            made.emplace(border.name, step);
        }
    }
}

}  // namespace intarsia
