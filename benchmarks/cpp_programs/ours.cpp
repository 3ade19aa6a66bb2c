// Loads an artifact, runs it once, and prints the milliseconds of so many more runs, one a line.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "intarsia.hpp"

int main(int, char** words) {
    intarsia::Model model(words[1]);
    std::vector<std::vector<char>> memory;
    std::vector<intarsia::Array> inputs, outputs;
    for (const auto* const side : {&model.inputs(), &model.outputs()}) {
        for (const intarsia::Value& value : *side) {
            memory.emplace_back(value.bytes);
            (side == &model.inputs() ? inputs : outputs)
                .emplace_back(value.name, value.dtype, memory.back().data(), value.bytes);
        }
    }
    model.run(inputs, outputs);
    for (int run = std::atoi(words[2]); run > 0; --run) {
        const auto start = std::chrono::steady_clock::now();
        model.run(inputs, outputs);
        std::printf("%.6f\n",
                    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::fflush(stdout);
    std::_Exit(0);  // the first answer is what is timed, not the end of the engines' threads
}
