// What this machine is, as far as an artifact depends on it.
#pragma once

#include <string>
#include <vector>

namespace intarsia {

// As `uname -s` and `uname -m` say.
std::string system_here();
std::string architecture_here();

// The instruction sets among these, by Linux's names, that this processor lacks.
std::vector<std::string> lacking(const std::vector<std::string>& instruction_sets);

// The processor's model, as /proc/cpuinfo has it; "" where it has none.
std::string processor_here();

// Threads that may compute at one time: affinity, and the container's quota rounded down; at least 1.
int thread_budget();

// "avx2, fma"
std::string joined(const std::vector<std::string>& words);

// Why machine code for a system, an architecture and instruction sets must not run here; "" if it may.
std::string unserved(const std::string& system, const std::string& architecture,
                     const std::vector<std::string>& instruction_sets);

}  // namespace intarsia
