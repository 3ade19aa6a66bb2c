// A loaded model: the engines of its plan over memory that was planned once.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arena.h"
#include "reading/container.h"
#include "crew.h"
#include "engines/executable.h"
#include "reading/manifest.h"

namespace intarsia {

class Model {
  public:
    // Throws `Error`.
    Model(Container container, const intarsia_options& options);

    const Manifest& manifest() const { return manifest_; }
    const std::string& remarks() const { return remarks_; }

    // Throws `FeedError` before any engine is called, or `RunError`. Calls take turns.
    void run(const intarsia_tensor* inputs, std::size_t input_count, const intarsia_tensor* outputs,
             std::size_t output_count);

    // Returns once no run is under way.
    void wait() { const std::lock_guard<std::mutex> lock(turn_); }

  private:
    // A value that crosses a border: the caller's, or in the arena.
    struct Value {
        const Border* border;
        std::size_t first, last;  // the moments between which it is alive
        void* own;                // its place in the arena; null of an input
        void* now;                // where it lies in this run
    };
    // A loaded step, with its values by their places in `values_`.
    struct Bound {
        std::unique_ptr<Executable> executable;
        std::vector<std::size_t> reads, writes;
    };

    void check_machine();
    void check_code(const intarsia_options& options) const;
    void check_versions() const;
    void load();
    void plan_memory();
    std::size_t value_of(const Border& border);
    void run_step(std::size_t place);

    Container container_;
    Manifest manifest_;
    std::vector<std::string> folders_;
    std::string remarks_;
    std::vector<Value> values_;
    std::vector<std::size_t> inputs_, outputs_;
    std::vector<Bound> steps_;
    std::vector<std::vector<std::vector<std::size_t>>> sections_;
    std::unique_ptr<Arena> arena_;
    std::unique_ptr<Crew> crew_;
    std::mutex turn_;
};

// The values that a call gives, matched to borders: for each border its tensor, or null. Throws `FeedError` with all
// that is wrong; of outputs some may be left out.
std::vector<const intarsia_tensor*> matched(const std::vector<Border>& borders, const intarsia_tensor* tensors,
                                            std::size_t count, bool is_input);
// Throws `FeedError` where an output shares memory with an input or another output.
void check_apart(const std::vector<const intarsia_tensor*>& inputs, const std::vector<const intarsia_tensor*>& outputs);

// The steps of a plan whose main engine holds the others inside its session, as one executable over the plan's borders.
std::unique_ptr<Executable> load_embedded(const Source& source);

}  // namespace intarsia
