// The artifact as data of the program, where the library finds it by its name.
#include <cstdio>
#include <cstdlib>

#include "intarsia.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 4096\n"
    "artifact_begin:\n"
    ".incbin \"" MODEL "\"\n"
    "artifact_end:\n"
    ".popsection\n");
extern "C" const char artifact_begin[], artifact_end[];

namespace {

struct Linked {
    Linked() {
        if (intarsia_link(MODEL_NAME, artifact_begin, static_cast<size_t>(artifact_end - artifact_begin)) != INTARSIA_OK) {
            std::fprintf(stderr, "error: %s\n", intarsia_error_text());
            std::abort();
        }
    }
} linked;

}  // namespace
