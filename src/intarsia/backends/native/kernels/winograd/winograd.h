// Convolutions of stride 1 by Winograd's minimal filtering, over the host engine's blocked layout and on its threads:
// how the work is divided, and which size of tile it is done in. Each kernel is a class made of this one.
#pragma once

#include <array>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "division.h"
#include "short_division.h"

namespace intarsia {

// The way that moves less between a thread's own cache and the shared one: the weights once more for each chunk but
// the first, or v and m out and in again. (Counted per frequency in blocks. The passage of v and m weighs 5: from 3.5
// to 4.5 the two are measured even, and chunks want less of a cache that others use too.)
template <typename Convolution>
void run_best(const Convolution& conv, const Threads& threads) {
    const std::size_t rows = conv.tiles() * conv.depth(), both = conv.blocks_in() + conv.blocks_out();
    const std::size_t all = conv.blocks.groups * conv.filter.taps[0] * conv.blocks.in * conv.blocks.out * kBlock;
    const std::size_t weights = (chunks_of(rows) - 1) * all;
    const bool apart = rows > kChunk && weights < 5 * rows * both;
    apart ? run_in_chunks(conv, threads) : run_in_steps(conv, threads);
}

// What a tile size takes of time, but for a factor: each frequency multiplies every weight with every row, and a
// weight comes from memory in the time of 25 such products (24 GB/s, 300 GFLOP/s: measured on two Cascade Lake cores).
template <typename Convolution>
std::size_t cost(const Convolution& conv) {
    return conv.kFrequencies * (conv.tiles() * conv.depth() + 25);
}

// The weights of an input channel and a tap, for a block of output channels. A pointer to it, and no template, since it is
// called once for each weight: kernels of both layouts are one class.
using WeightsAt = Vec (*)(const float* weights, std::size_t taps, std::size_t blocks_in, std::size_t block_out,
                          std::size_t channel, std::size_t tap);

// Weights as the host's blocked layout has them: [K/B][C/B][taps][B in][B out], C of one group.
inline Vec blocked_weights(const float* weights, std::size_t taps, std::size_t blocks_in, std::size_t block_out,
                           std::size_t channel, std::size_t tap) {
    const std::size_t block = block_out * blocks_in + channel / kBlock;
    return load(weights + ((block * taps + tap) * kBlock + channel % kBlock) * kBlock);
}

// Weights as ONNX has them: [K][C][taps].
inline Vec plain_weights(const float* weights, std::size_t taps, std::size_t blocks_in, std::size_t block_out,
                         std::size_t channel, std::size_t tap) {
    const std::size_t channels = blocks_in * kBlock;
    alignas(64) float lane[kBlock];
    for (std::size_t i = 0; i < kBlock; ++i)
        lane[i] = weights[((block_out * kBlock + i) * channels + channel) * taps + tap];
    return load(lane);
}

// Filters of Taps x Taps, which may have any number of taps in depth; each call in the best of tiles of Outs x Outs, or
// in the one that was asked for.
template <std::size_t Taps, std::size_t... Outs>
class Winograd : public Kernel {
  public:
    Winograd(const Filter& filter, WeightsAt weights_at)
        : filter_(filter),
          weights_at_(weights_at),
          blocks_{filter.groups, filter.channels_in / filter.groups / kBlock,
                  filter.channels_out / filter.groups / kBlock},
          bias_(bias_of(filter)) {
        filter_.bias = nullptr;
    }

    void run(const Call& call, const Threads& threads) const override {
        std::tuple convolutions{Convolution<Outs, Taps>{blocks_, filter_, call, bias_.data(), nullptr}...};
        const std::size_t costs[] = {cost_as_asked(std::get<Convolution<Outs, Taps>>(convolutions), Outs)...};
        const auto best = std::size_t(std::min_element(std::begin(costs), std::end(costs)) - costs);
        std::size_t index = 0;
        const auto with = [&](auto& conv) {
            filter_.bits == 16 ? run_short(conv, weights_[best], threads) : run_with(conv, weights_[best], threads);
        };
        ((index++ == best ? with(std::get<Convolution<Outs, Taps>>(convolutions)) : void()), ...);
    }

  private:
    // Any other tile than the one that was asked for costs more than every other.
    template <typename Convolution>
    std::size_t cost_as_asked(const Convolution& conv, std::size_t out) const {
        const bool is_asked = filter_.tile == 0 || filter_.tile == out;
        return is_asked ? cost(conv) : std::numeric_limits<std::size_t>::max();
    }

    // Transformed when a shape first asks for them: one that prefers another tile may never come.
    struct Weights {
        std::once_flag once;
        Memory data{nullptr, nullptr};
        ShortWeights rounded;
    };

    template <typename Convolution>
    void run_with(Convolution& conv, Weights& weights, const Threads& threads) const {
        std::call_once(weights.once, [&] { weights.data = transformed(conv); });
        conv.weights = weights.data.get();
        run_best(conv, threads);
    }

    template <std::size_t Out>
    void run_short(const Convolution<Out, Taps>& conv, Weights& weights, const Threads& threads) const {
        std::call_once(weights.once, [&] { weights.rounded = rounded(transformed(conv), conv.kFrequencies); });
        run_best(ShortConvolution<Out, Taps>{conv, weights.rounded}, threads);
    }

    [[gnu::cold]] ShortWeights rounded(const Memory& floats, std::size_t frequencies) const {
        const std::size_t depth = filter_.taps[0], channels = blocks_.in * kBlock;
        const std::size_t rows = depth * channels, group = rows * blocks_.out;
        return short_weights(frequencies * blocks_.groups, blocks_.out, depth, channels,
                             [&](std::size_t part, std::size_t block, std::size_t slice, std::size_t c) {
                                 const std::size_t panel = block / kPanel * kPanel, row = slice * channels + c;
                                 const std::size_t vecs = std::min(kPanel, blocks_.out - panel);
                                 const std::size_t lanes = part * group + panel * rows + row * vecs + block - panel;
                                 return &floats[lanes * kBlock];
                             });
    }

    // Once for each layer: small code is worth more than quick code.
    template <typename Convolution>
    [[gnu::cold]] Memory transformed(const Convolution& conv) const {
        constexpr std::size_t in = Convolution::kIn;
        const std::size_t depth = filter_.taps[0], channels = blocks_.in * kBlock;
        const std::size_t group = depth * channels * blocks_.out * kBlock, frequency = blocks_.groups * group;
        Memory weights = allocate(conv.kFrequencies * frequency);
        for (std::size_t block = 0; block < blocks_.groups * blocks_.out; ++block) {
            const std::size_t own = block % blocks_.out, panel = own / kPanel * kPanel;
            const std::size_t vecs = std::min(kPanel, blocks_.out - panel);
            float* to = weights.get() + block / blocks_.out * group + (panel * depth * channels + own - panel) * kBlock;
            for (std::size_t slice = 0; slice < depth; ++slice)
                for (std::size_t c = 0; c < channels; ++c, to += vecs * kBlock)
                    transform<Taps, in>(
                        weight_column<in, Taps>,
                        [&](std::size_t i, std::size_t j) {
                            const std::size_t tap = (slice * Taps + i) * Taps + j;
                            return weights_at_(conv.call.weights, depth * Taps * Taps, blocks_.in, block, c, tap);
                        },
                        [=](std::size_t i, std::size_t j, Vec e) { store(to + (i * in + j) * frequency, e); });
        }
        return weights;
    }

    Filter filter_;
    WeightsAt weights_at_;
    Blocks blocks_;
    std::vector<float> bias_;
    mutable std::array<Weights, sizeof...(Outs)> weights_;
};

}  // namespace intarsia
