// OpenVINO's own format, as far as we look into it: where its constants lie.
#pragma once

#include <cstddef>
#include <string_view>

namespace intarsia {

// Throws `ArtifactError` unless each constant of a model lies inside a file of so many bytes. OpenVINO adds offset and
// size without a look at an overflow.
void check_constants(std::string_view text, std::size_t file_bytes);

}  // namespace intarsia
