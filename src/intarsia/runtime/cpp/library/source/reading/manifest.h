// `manifest.json` and `native.json` of an artifact: the plan, read and checked against the file, before any pointer.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reading/container.h"
#include "intarsia.h"
#include "reading/json.h"

namespace intarsia {

// A value at the border of a model or a step: of a known type and shape, whose bytes fit into 64 bits.
struct Border {
    std::string name;
    intarsia_dtype dtype;
    std::vector<std::int64_t> shape;
    std::size_t bytes;

    std::size_t elements() const;
    bool operator==(const Border& other) const {
        return name == other.name && dtype == other.dtype && shape == other.shape;
    }
};

// "data float32[1,3,224,224]"
std::string described(const Border& border);
const char* name_of(intarsia_dtype dtype);
// Throws `ArtifactError` for a type that this runtime has no arrays of.
intarsia_dtype dtype_of(const std::string& name, const std::string& at);
std::size_t bytes_of(intarsia_dtype dtype);
// Bytes of an array; throws `ArtifactError` where a size is negative or there are more than any machine can hold.
std::size_t array_bytes(const std::vector<std::int64_t>& shape, intarsia_dtype dtype, const std::string& at);
// A list of whole numbers that are sizes.
std::vector<std::int64_t> shape_in(const Json& list, const std::string& at);
// Borders as engines keep them: name, type and shape in a list each.
std::vector<Border> rows_in(const Json& list, const std::string& at);

struct Weight {
    std::size_t offset;  // in the file
    std::size_t bytes;
    intarsia_dtype dtype;
    std::vector<std::int64_t> shape;
};

struct StoredStep {
    std::string target;
    std::string engine;
    std::size_t node_count;
    std::vector<Border> inputs, outputs;
    std::unordered_map<std::string, std::string> files;  // the entry of each
    std::vector<std::string> weights;
    Json meta;
    Json native;  // what Python worked out for this runtime: loader and options
    std::string at;  // "$.steps[0]"
};

enum class Spin { kFree, kCall, kNever };

struct Manifest {
    std::string architecture, system, cpu;
    std::vector<std::string> isa;
    int cores;
    int threads;
    Spin spin;
    bool embed, parallel;
    std::vector<std::pair<std::string, std::string>> engines;  // name and version
    std::vector<Border> inputs, outputs;
    std::vector<StoredStep> steps;
    std::unordered_map<std::string, Weight> weights;
    // Steps that may run at one time: sections in running order, each of branches, each of places of steps.
    std::vector<std::vector<std::vector<std::size_t>>> sections;
};

// Throws `ArtifactError`, naming the place as a JSON path.
Manifest read_manifest(const Container& container);

// As `read_manifest` found it: whether each step reads what is there before it, and all outputs are made; and that no
// branch reads what another one of its section makes.
void check_order(const Manifest& manifest);
void check_sections(const Manifest& manifest);

constexpr int kMostThreads = 1024;

}  // namespace intarsia
