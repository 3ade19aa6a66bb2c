#include "linked.h"

#include <map>
#include <mutex>

#include "error.h"

namespace intarsia {
namespace {

struct Table {
    std::mutex mutex;
    std::map<std::string, std::string_view> artifacts;
};

// Artifacts are linked before main, in no order that is known: the table is made by the first of them.
Table& table() {
    static Table made;
    return made;
}

}  // namespace

void link(const std::string& name, std::string_view bytes) {
    Table& all = table();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto [found, is_new] = all.artifacts.emplace(name, bytes);
    if (!is_new && found->second.data() != bytes.data()) {
        throw Error(INTARSIA_BAD_ARGUMENT, "two artifacts are linked by the name " + shown(name));
    }
}

std::string_view linked(const std::string& name) {
    Table& all = table();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.artifacts.find(name);
    if (found != all.artifacts.end()) {
        return found->second;
    }
    std::string known;
    for (const auto& [each, bytes] : all.artifacts) {
        known += (known.empty() ? "" : ", ") + each;
    }
    throw ArtifactError("no artifact of that name is linked into the program; " +
                        (known.empty() ? "there is none" : "there are: " + known));
}

}  // namespace intarsia
