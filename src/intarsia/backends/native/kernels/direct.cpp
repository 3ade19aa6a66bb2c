// Filters of any taps, strides and dilations, and transposed ones, for signals, pictures and volumes: what the results of
// a chunk read is laid out row by row, and multiplied.
#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels.h"
#include "kernels/products/gemm.h"
#include "kernels/products/short_gemm.h"
#include "memory.h"

namespace intarsia {

namespace {

// What a task lays out: a part of a thread's own cache, beside a panel of weights and what it writes.
constexpr std::size_t kCache = 384 * 1024 / sizeof(float);
// Tasks are so many at least, where there is enough to do for each; where there are several taps, each lays out what it
// reads.
constexpr std::size_t kTasks = 16, kTasksWithTaps = 8;

std::size_t points(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

Extents place_of(std::size_t index, const Extents& extents) {
    return {index / (extents[1] * extents[2]), index / extents[2] % extents[1], index % extents[2]};
}

std::size_t index_of(const Extents& place, const Extents& extents) {
    return (place[0] * extents[1] + place[1]) * extents[2] + place[2];
}

// A tap, and what it adds to the place of a result to get the place of the pixel; in front of the edge that wraps round.
struct Tap {
    std::size_t number;
    Extents offset;
};

// Results that read the same taps: all of a filter that is moved over the image; of a transposed one those that lie a
// whole number of strides apart.
struct Phase {
    Extents first;
    std::vector<Tap> taps;
    mutable std::once_flag once;
    mutable Memory weights{nullptr, std::free};  // [panel][row of what is laid out][blocks of the panel][B]
    mutable ShortWeights rounded;                // the same in 16 bits, where these are multiplied
};

class Direct : public Kernel {
  public:
    Direct(const Filter& filter, bool has_blocks)
        : filter_(filter), has_blocks_(has_blocks), bias_(bias_of(filter)), phases_(phases_of(filter)) {
        filter_.bias = nullptr;
    }

    void run(const Call& call, const Threads& threads) const override {
        for (const Phase& phase : phases_) {
            std::call_once(phase.once, [&] {
                phase.weights = read_weights(phase, call.weights);
                if (filter_.bits == 16) round_weights(phase);
            });
            Extents results{};
            for (std::size_t axis = 0; axis < results.size(); ++axis) {
                const std::size_t first = phase.first[axis];
                results[axis] = first < call.out[axis] ? steps(call.out[axis] - first, apart(axis)) : 0;
            }
            if (points(results) > 0) run_phase(call, phase, results, threads);
        }
    }

  private:
    // From a result of a phase to its next.
    std::size_t apart(std::size_t axis) const { return filter_.is_transposed ? filter_.strides[axis] : 1; }
    // From the pixel that a tap reads for a result of a phase to the one for the next.
    std::size_t pace(std::size_t axis) const { return filter_.is_transposed ? 1 : filter_.strides[axis]; }

    // None where no result of a phase reads the tap.
    static std::optional<Tap> tap_of(const Filter& filter, const Extents& first, std::size_t number) {
        const Extents place = place_of(number, filter.taps);
        Tap tap{number, {}};
        for (std::size_t axis = 0; axis < place.size(); ++axis) {
            const auto stride = static_cast<std::ptrdiff_t>(filter.strides[axis]);
            const auto before = static_cast<std::ptrdiff_t>(filter.before[axis]);
            const auto reach = static_cast<std::ptrdiff_t>(place[axis] * filter.dilations[axis]);
            const std::ptrdiff_t from = static_cast<std::ptrdiff_t>(first[axis]) + before - reach;
            if (filter.is_transposed && from % stride != 0) return std::nullopt;
            tap.offset[axis] = static_cast<std::size_t>(filter.is_transposed ? from / stride : reach - before);
        }
        return tap;
    }

    static std::vector<Phase> phases_of(const Filter& filter) {
        std::vector<Phase> phases(filter.is_transposed ? points(filter.strides) : 1);
        for (std::size_t i = 0; i < phases.size(); ++i) {
            if (filter.is_transposed) phases[i].first = place_of(i, filter.strides);
            for (std::size_t number = 0; number < points(filter.taps); ++number)
                if (const auto tap = tap_of(filter, phases[i].first, number)) phases[i].taps.push_back(*tap);
            // From left to right, so that those of one row lie evenly apart.
            std::stable_sort(phases[i].taps.begin(), phases[i].taps.end(), [](const Tap& one, const Tap& other) {
                return static_cast<std::ptrdiff_t>(one.offset[2]) < static_cast<std::ptrdiff_t>(other.offset[2]);
            });
        }
        return phases;
    }

    // Of what is laid out for a result.
    std::size_t blocks(const Phase& phase) const { return phase.taps.size() * (filter_.channels_in / kBlock); }

    // A weight's place in ONNX's order: [K][C][taps], or [C][K][taps] of a transposed filter; or in the host's blocks:
    // [K/B][C/B][taps][B in][B out].
    std::size_t place_of_weight(std::size_t in, std::size_t out, std::size_t tap) const {
        const std::size_t ins = filter_.channels_in, outs = filter_.channels_out, taps = points(filter_.taps);
        if (filter_.is_transposed) return (in * outs + out) * taps + tap;
        if (!has_blocks_) return (out * ins + in) * taps + tap;
        const std::size_t block = out / kBlock * (ins / kBlock) + in / kBlock;
        return ((block * taps + tap) * kBlock + in % kBlock) * kBlock + out % kBlock;
    }

    Memory read_weights(const Phase& phase, const float* weights) const {
        const std::size_t ins = filter_.channels_in, outs = filter_.channels_out;
        const std::size_t rows = blocks(phase) * kBlock, panel = kPanel * kBlock;
        Memory read = allocate(std::max<std::size_t>(1, rows * outs));
        for (std::size_t first = 0; first < outs; first += panel) {
            const std::size_t wide = std::min(panel, outs - first);
            float* to = read.get() + first * rows;
            for (const Tap& tap : phase.taps)
                for (std::size_t in = 0; in < ins; ++in)
                    for (std::size_t out = first; out < first + wide; ++out)
                        *to++ = weights[place_of_weight(in, out, tap.number)];
        }
        return read;
    }

    void round_weights(const Phase& phase) const {
        const std::size_t rows = blocks(phase) * kBlock, outs = filter_.channels_out / kBlock;
        phase.rounded = short_weights(1, outs, 1, rows, [&](std::size_t, std::size_t block, std::size_t, std::size_t row) {
            const std::size_t panel = block / kPanel * kPanel, vecs = std::min(kPanel, outs - panel);
            return &phase.weights[(panel * rows + row * vecs + block - panel) * kBlock];
        });
        phase.weights.reset();
    }

    void run_phase(const Call& call, const Phase& phase, const Extents& results, const Threads& threads) const {
        const std::size_t count = points(results), panels = steps(filter_.channels_out / kBlock, kPanel);
        const std::size_t row = std::max<std::size_t>(1, blocks(phase)) * kBlock;
        const std::size_t most = std::max(kRows, kCache / row / kRows * kRows);
        const std::size_t chunk = steps(count, steps(count, most)), chunks = steps(count, chunk);
        // Panels are shared only where the results are too few.
        const std::size_t tasks = phase.taps.size() > 1 ? kTasksWithTaps : kTasks;
        const std::size_t group = steps(panels, std::min(panels, steps(tasks, chunks * call.batch)));
        threads.share(call.batch * chunks * steps(panels, group), [&](std::size_t index) {
            // Those that read the same weights one after the other.
            const std::size_t at = index % (call.batch * chunks), start = index / (call.batch * chunks) * group;
            const Chunk own{&call, &phase, results, at / chunks, at % chunks * chunk,
                            std::min(chunk, count - at % chunks * chunk)};
            run_chunk(own, start, std::min(panels, start + group));
        });
    }

    // Neighbouring results of a phase of an image.
    struct Chunk {
        const Call* call;
        const Phase* phase;
        Extents results;
        std::size_t image, first, count;
    };

    // What the product reads: rows side by side in each block, and how far it is from a block to the next.
    struct Rows {
        const float* data;
        std::size_t stride;
        std::size_t taps, tap;  // that read the same rows one after the other, and from one to the next
    };

    void run_chunk(const Chunk& own, std::size_t start, std::size_t end) const {
        const std::size_t rows = blocks(*own.phase), taps = own.phase->taps.size();
        const bool is_line = filter_.bits == 32 && has_line(own);
        const std::size_t wide = is_line ? own.count + (taps - 1) * apart_in_line(own) : taps * own.count;
        const std::size_t laid = wide * filter_.channels_in, spread = filter_.is_transposed ? kPanel * own.count * kBlock : 0;
        float* memory = scratch(laid + spread + 1);
        const Rows read = rows_of(own, memory, is_line, wide);
        if (filter_.bits == 16) {
            float* const scales = scratch<1>(steps(rows * own.count, 2) * kBlock + own.count + kBlock);
            auto* const numbers = reinterpret_cast<std::int16_t*>(scales + steps(own.count, kBlock) * kBlock);
            round_rows(read.data, read.stride, rows, own.count, numbers, own.count * kBlock, scales);
            ShortProduct product{};
            product.v = numbers;
            product.v_stride = own.count * kBlock;
            product.v_scales = scales;
            product.v_scales_row = 1;
            product.taps = 1;
            product.blocks = rows;
            return multiply_panels(own, start, end, memory + laid, product, [&](auto& panel, std::size_t block, std::size_t) {
                panel.u = own.phase->rounded.numbers + block * kBlock * rows * kBlock;
                panel.u_scales = own.phase->rounded.scales + block * kBlock;
            });
        }
        Product product{};
        product.v = read.data;
        product.v_stride = read.stride;
        product.v_tap = read.tap;
        product.taps = read.taps;
        product.blocks = rows / read.taps;
        product.u_stride = kBlock;
        multiply_panels(own, start, end, memory + laid, product, [&](auto& panel, std::size_t block, std::size_t vecs) {
            panel.u = own.phase->weights.get() + block * kBlock * rows * kBlock;
            panel.u_channel = vecs * kBlock;
        });
    }

    Rows rows_of(const Chunk& own, float* memory, bool is_line, std::size_t wide) const {
        if (const float* pixels = as_they_lie(own)) return {pixels, points(own.call->in) * kBlock, 1, 0};
        if (is_line) {
            lay_out_line(own, memory, wide);
            return {memory, wide * kBlock, own.phase->taps.size(), apart_in_line(own) * kBlock};
        }
        lay_out(own, memory);
        return {memory, own.count * kBlock, 1, 0};
    }

    // Panels start .. end - 1, whose weights `set_weights` puts in a product.
    template <typename Any, typename SetWeights>
    void multiply_panels(const Chunk& own, std::size_t start, std::size_t end, float* spread, Any product,
                         const SetWeights& set_weights) const {
        const Call& call = *own.call;
        const std::size_t pixels = points(call.out), outs = filter_.channels_out / kBlock;
        const bool is_spread = filter_.is_transposed;
        product.finish = &call.finish;
        for (std::size_t panel = start; panel < end; ++panel) {
            const std::size_t block = panel * kPanel, vecs = std::min(kPanel, outs - block);
            const std::size_t to = ((own.image * outs + block) * pixels + own.first) * kBlock;
            set_weights(product, block, vecs);
            product.bias = bias_.data() + block * kBlock;
            product.m = is_spread ? spread : call.y + to;
            product.m_stride = (is_spread ? own.count : pixels) * kBlock;
            product.sum = call.sum && !is_spread ? call.sum + to : nullptr;
            multiply(product, own.count, vecs);
            if (is_spread) spread_results(own, product.m, block, vecs);
        }
    }

    // The pixels, where there is one tap and each result reads the pixel in its place.
    const float* as_they_lie(const Chunk& own) const {
        const Call& call = *own.call;
        const std::vector<Tap>& taps = own.phase->taps;
        const bool has_one = taps.size() == 1 && taps[0].offset == Extents{};
        if (!has_one || own.results != call.in || pace(0) * pace(1) * pace(2) != 1) return nullptr;
        return call.x + (own.image * (filter_.channels_in / kBlock) * points(call.in) + own.first) * kBlock;
    }

    // Whether there is one row, whose pixels the taps read one after the other: it is laid out once for all taps.
    bool has_line(const Chunk& own) const {
        const Extents &in = own.call->in, &out = own.call->out;
        return own.phase->taps.size() > 0 && in[0] * in[1] * out[0] * out[1] == 1 && pace(2) == 1 &&
               filter_.taps[0] * filter_.taps[1] == 1;
    }

    static std::size_t apart_in_line(const Chunk& own) {
        const std::vector<Tap>& taps = own.phase->taps;
        return taps.size() > 1 ? taps[1].offset[2] - taps[0].offset[2] : 0;
    }

    // To [block][pixel][B], from the pixel that the first tap reads for the first result.
    void lay_out_line(const Chunk& own, float* to, std::size_t wide) const {
        const std::size_t columns = own.call->in[2], blocks = filter_.channels_in / kBlock;
        const std::size_t first = own.first + own.phase->taps[0].offset[2];
        const float* line = own.call->x + own.image * blocks * columns * kBlock;
        for (std::size_t block = 0; block < blocks; ++block, line += columns * kBlock)
            for (std::size_t i = 0; i < wide; ++i, to += kBlock)
                store(to, first + i < columns ? load(line + (first + i) * kBlock) : broadcast(0));
    }

    // Results of a chunk that lie side by side in a row.
    struct Run {
        Extents place;
        std::size_t count;
    };

    static std::vector<Run> runs_of(const Chunk& own) {
        std::vector<Run> runs;
        for (std::size_t i = 0; i < own.count; i += runs.back().count) {
            const Extents place = place_of(own.first + i, own.results);
            runs.push_back({place, std::min(own.count - i, own.results[2] - place[2])});
        }
        return runs;
    }

    // To [tap][block][result][B].
    void lay_out(const Chunk& own, float* to) const {
        const std::size_t blocks = filter_.channels_in / kBlock, row = own.count * kBlock;
        const std::vector<Run> runs = runs_of(own);
        for (const Tap& tap : own.phase->taps) {
            float* start = to;
            for (const Run& run : runs) {
                lay_out_run(own, tap, run, start, row);
                start += run.count * kBlock;
            }
            to += blocks * row;
        }
    }

    // What a tap reads for a run, `row` floats from a block to the next.
    void lay_out_run(const Chunk& own, const Tap& tap, const Run& run, float* to, std::size_t row) const {
        const Extents& in = own.call->in;
        const std::size_t plane = points(in) * kBlock, blocks = filter_.channels_in / kBlock;
        const std::size_t depth = run.place[0] * pace(0) + tap.offset[0], height = run.place[1] * pace(1) + tap.offset[1];
        const bool is_row = depth < in[0] && height < in[1];
        const std::size_t first = run.place[2] * pace(2) + tap.offset[2], step = pace(2);
        const std::size_t before = is_row ? (depth * in[1] + height) * in[2] * kBlock : 0;
        const float* line = own.call->x + own.image * blocks * plane + before;
        for (std::size_t block = 0; block < blocks; ++block, to += row, line += plane)
            for (std::size_t i = 0, from = first; i < run.count; ++i, from += step) {
                const bool inside = is_row && from < in[2];
                store(to + i * kBlock, inside ? load(line + from * kBlock) : broadcast(0));
            }
    }

    // From [block of a panel][result][B] to where the results of the phase lie.
    void spread_results(const Chunk& own, const float* from, std::size_t block, std::size_t vecs) const {
        const Call& call = *own.call;
        for (std::size_t vec = 0; vec < vecs; ++vec) {
            float* plane = call.y + (own.image * (filter_.channels_out / kBlock) + block + vec) * points(call.out) * kBlock;
            for (std::size_t i = 0; i < own.count; ++i, from += kBlock) {
                Extents place = place_of(own.first + i, own.results);
                for (std::size_t axis = 0; axis < place.size(); ++axis)
                    place[axis] = own.phase->first[axis] + place[axis] * apart(axis);
                store(plane + index_of(place, call.out) * kBlock, load(from));
            }
        }
    }

    Filter filter_;
    bool has_blocks_;  // its weights lie in the host's blocks
    std::vector<float> bias_;
    std::vector<Phase> phases_;
};

}  // namespace

std::unique_ptr<Kernel> direct(const Filter& filter) { return std::make_unique<Direct>(filter, false); }
std::unique_ptr<Kernel> direct_in_blocks(const Filter& filter) { return std::make_unique<Direct>(filter, true); }
std::unique_ptr<Kernel> direct_transposed(const Filter& filter) {
    Filter transposed = filter;
    transposed.is_transposed = true;
    return direct(transposed);
}

}  // namespace intarsia
