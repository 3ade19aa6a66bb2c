// Artifacts that are linked into the program, by their names.
#pragma once

#include <string>
#include <string_view>

namespace intarsia {

// Makes an artifact known, whose bytes stay where they are. Throws `Error` where the name is another's.
void link(const std::string& name, std::string_view bytes);

// The bytes of an artifact. Throws `ArtifactError`, with the names that there are.
std::string_view linked(const std::string& name);

}  // namespace intarsia
