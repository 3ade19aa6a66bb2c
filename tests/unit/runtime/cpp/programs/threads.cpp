// Calls one model from several threads at one time, each with inputs of its own, and compares every answer with the one
// that a single thread got. Arguments: the artifact, threads, calls of each. While they run, others load and free it.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "intarsia.hpp"

namespace {

using Memory = std::vector<std::vector<float>>;

Memory memory_of(const std::vector<intarsia::Value>& values, float first) {
    Memory found;
    for (const intarsia::Value& value : values) {
        std::vector<float> numbers(value.elements());
        for (std::size_t place = 0; place < numbers.size(); ++place) {
            numbers[place] = first + static_cast<float>(place % 7) * 0.25F;
        }
        found.push_back(std::move(numbers));
    }
    return found;
}

std::vector<intarsia::Array> arrays_of(const std::vector<intarsia::Value>& values, Memory& memory) {
    std::vector<intarsia::Array> found;
    for (std::size_t place = 0; place < values.size(); ++place) {
        found.emplace_back(values[place].name, memory[place]);
    }
    return found;
}

Memory answer(intarsia::Model& model, float first) {
    Memory given = memory_of(model.inputs(), first), results = memory_of(model.outputs(), 0);
    model.run(arrays_of(model.inputs(), given), arrays_of(model.outputs(), results));
    return results;
}

}  // namespace

int main(int, char** words) {
    intarsia::Model model(words[1]);
    const int threads = std::atoi(words[2]), calls = std::atoi(words[3]);
    std::vector<Memory> wanted;
    for (int number = 0; number < threads; ++number) {
        wanted.push_back(answer(model, static_cast<float>(number)));
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> crew;
    for (int number = 0; number < threads; ++number) {
        crew.emplace_back([&, number] {
            for (int call = 0; call < calls; ++call) {
                wrong += answer(model, static_cast<float>(number)) != wanted[static_cast<std::size_t>(number)];
            }
            // Errors are each thread's own.
            intarsia_model* none = nullptr;
            wrong += intarsia_load("/nowhere", nullptr, &none) != INTARSIA_BAD_ARTIFACT;
            wrong += std::strstr(intarsia_error_text(), "/nowhere") == nullptr;
        });
    }
    crew.emplace_back([&] {
        for (int load = 0; load < 4; ++load) {
            intarsia::Model other(words[1]);
            wrong += answer(other, 0) != wanted[0];
        }
    });
    for (std::thread& thread : crew) {
        thread.join();
    }
    std::printf("%d wrong\n", wrong.load());
    return wrong.load() == 0 ? 0 : 1;
}
