// Runs the model beside it: arrays from .npy files, or at random, to .npy files.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <random>

#include "intarsia.hpp"
#include "npy.h"

namespace {

struct Arguments {
    std::string model;
    std::vector<std::pair<std::string, std::string>> inputs;  // name and file
    std::string output;
    int runs = 0;
};

constexpr const char* kUsage =
    "usage: example [--model FILE] [--input NAME=FILE.npy ...] [--output DIR] [--runs N]\n"
    "  inputs that are not given are filled at random; DIR is a folder that is there, and gets NUMBER.npy\n";

Arguments parsed(int count, char** words) {
    Arguments found;
    for (int place = 1; place < count; place += 2) {
        const std::string flag = words[place];
        if (place + 1 == count || flag.rfind("--", 0) != 0) {
            throw std::runtime_error(kUsage);
        }
        const std::string value = words[place + 1];
        const std::size_t equals = value.find('=');
        if (flag == "--input" && equals != std::string::npos) {
            found.inputs.emplace_back(value.substr(0, equals), value.substr(equals + 1));
        } else if (flag == "--output") {
            found.output = value;
        } else if (flag == "--runs") {
            found.runs = std::stoi(value);
        } else if (flag == "--model") {
            found.model = value;
        } else {
            throw std::runtime_error(kUsage);
        }
    }
    return found;
}

// Normal floats, and integers and booleans of 0 and 1.
std::vector<char> at_random(const intarsia::Value& value) {
    std::vector<char> bytes(value.bytes);
    std::mt19937 source(0);
    std::normal_distribution<float> normal;
    const std::size_t elements = value.elements(), size = elements == 0 ? 1 : value.bytes / elements;
    for (std::size_t place = 0; place < elements; ++place) {
        const float drawn = normal(source);
        if (value.dtype == INTARSIA_FLOAT32) {
            std::memcpy(&bytes[place * size], &drawn, size);
        } else if (value.dtype == INTARSIA_FLOAT64) {
            const double wide = drawn;
            std::memcpy(&bytes[place * size], &wide, size);
        } else if (value.dtype == INTARSIA_FLOAT16 || value.dtype == INTARSIA_BFLOAT16) {
            const std::uint16_t one = value.dtype == INTARSIA_FLOAT16 ? 0x3C00 : 0x3F80;  // 1, or 0 below
            const std::uint16_t half = drawn > 0 ? one : 0;
            std::memcpy(&bytes[place * size], &half, size);
        } else {
            bytes[place * size] = drawn > 0;  // little-endian: the lowest byte
        }
    }
    return bytes;
}

// The model of a file; without one, that which is linked into the program, or the file beside this source.
intarsia::Model opened(const std::string& path) {
#ifdef MODEL_NAME
    if (path.empty()) {
        return intarsia::Model::linked(MODEL_NAME);
    }
#endif
    return intarsia::Model(path.empty() ? MODEL : path);
}

double milliseconds(intarsia::Model& model, const std::vector<intarsia::Array>& inputs,
                    const std::vector<intarsia::Array>& outputs, int runs) {
    std::vector<double> spent;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        model.run(inputs, outputs);
        spent.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(spent.begin(), spent.begin() + runs / 2, spent.end());
    return spent[static_cast<std::size_t>(runs / 2)];
}

void run(const Arguments& arguments) {
    intarsia::Model model = opened(arguments.model);
    std::cerr << model.remarks();
    for (const intarsia::Step& step : model.steps()) {
        std::cout << step.target << ": " << step.node_count << " nodes\n";
    }
    std::vector<npy::File> given, results;
    std::vector<intarsia::Array> inputs, outputs;
    for (const intarsia::Value& value : model.inputs()) {
        npy::File file{value.dtype, value.shape, {}};
        for (const auto& [name, path] : arguments.inputs) {
            file = name == value.name ? npy::read(path) : file;
        }
        if (file.shape != value.shape || (file.dtype != value.dtype && value.dtype != INTARSIA_BFLOAT16)) {
            throw std::runtime_error("input " + value.name + ": the file has another type or shape");
        }
        file.bytes = file.bytes.empty() ? at_random(value) : file.bytes;
        given.push_back(std::move(file));
    }
    for (std::size_t place = 0; place < given.size(); ++place) {
        const intarsia::Value& value = model.inputs()[place];
        inputs.emplace_back(value.name, value.dtype, given[place].bytes.data(), given[place].bytes.size());
    }
    for (const intarsia::Value& value : model.outputs()) {
        results.push_back({value.dtype, value.shape, std::vector<char>(value.bytes)});
    }
    for (std::size_t place = 0; place < results.size(); ++place) {
        const intarsia::Value& value = model.outputs()[place];
        outputs.emplace_back(value.name, value.dtype, results[place].bytes.data(), value.bytes);
    }
    model.run(inputs, outputs);
    for (std::size_t place = 0; place < results.size(); ++place) {
        std::cout << model.outputs()[place].name << ": " << results[place].bytes.size() << " bytes\n";
        if (!arguments.output.empty()) {
            npy::write(arguments.output + "/" + std::to_string(place) + ".npy", results[place]);
        }
    }
    if (arguments.runs > 0) {
        std::cout << milliseconds(model, inputs, outputs, arguments.runs) << " ms, the median of " << arguments.runs
                  << " runs\n";
    }
}

}  // namespace

int main(int count, char** words) {
    try {
        run(parsed(count, words));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}
