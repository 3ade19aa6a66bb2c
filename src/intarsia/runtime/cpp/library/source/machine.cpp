#include "machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace intarsia {
namespace {

// What /proc/cpuinfo says of the first processor under one of two names; "" for nothing.
std::string cpuinfo(const std::string& name, const std::string& other) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        const std::string key = line.substr(0, line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1) + 1);
        if (colon != std::string::npos && (key == name || key == other)) {
            const std::size_t start = line.find_first_not_of(' ', colon + 1);
            return start == std::string::npos ? "" : line.substr(start);
        }
    }
    return "";
}

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// CPUs that the container may use (cgroup v2, then v1); 0 without a limit.
double cpu_quota() {
    double quota = 0, period = 0;
    if (std::istringstream(first_line("/sys/fs/cgroup/cpu.max")) >> quota >> period && period > 0) {
        return quota / period;
    }
    std::istringstream(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) >> quota;
    std::istringstream(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")) >> period;
    return quota > 0 && period > 0 ? quota / period : 0;
}

int affinity() {
    // As many processors as a mask of this size has; larger machines answer with an error, and get larger masks.
    for (int most = 1024; most <= 1 << 20; most *= 4) {
        cpu_set_t* const mask = CPU_ALLOC(static_cast<std::size_t>(most));
        if (mask == nullptr) {
            break;
        }
        const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
        const int count = ::sched_getaffinity(0, bytes, mask) == 0 ? CPU_COUNT_S(bytes, mask) : 0;
        CPU_FREE(mask);
        if (count > 0) {
            return count;
        }
    }
    return 1;
}

}  // namespace

std::string system_here() {
    utsname facts{};
    return ::uname(&facts) == 0 ? facts.sysname : "unknown";
}

std::string architecture_here() {
    utsname facts{};
    return ::uname(&facts) == 0 ? facts.machine : "unknown";
}

std::string processor_here() { return cpuinfo("model name", "model name"); }

std::vector<std::string> lacking(const std::vector<std::string>& instruction_sets) {
    if (instruction_sets.empty()) {
        return {};
    }
    std::istringstream flags(cpuinfo("flags", "Features"));
    std::vector<std::string> here;
    for (std::string flag; flags >> flag;) {
        here.push_back(flag);
    }
    std::vector<std::string> missing;
    for (const std::string& name : instruction_sets) {
        if (std::find(here.begin(), here.end(), name) == here.end()) {
            missing.push_back(name);
        }
    }
    return missing;
}

int thread_budget() {
    const int cores = affinity();
    const double quota = cpu_quota();
    return quota > 0 ? std::max(1, std::min(cores, static_cast<int>(quota))) : cores;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

std::string unserved(const std::string& system, const std::string& architecture,
                     const std::vector<std::string>& instruction_sets) {
    if (system != system_here()) {
        return "it is built for " + system + ", and this machine is " + system_here();
    }
    if (architecture != architecture_here()) {
        return "it is built for " + architecture + ", and this machine is " + architecture_here();
    }
    const std::vector<std::string> missing = lacking(instruction_sets);
    return missing.empty() ? "" : "it is built with " + joined(missing) + ", which this machine lacks";
}

}  // namespace intarsia
