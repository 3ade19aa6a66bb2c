#include "kernels/products/short_gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/products/gemm.h"
#include "kernels/products/short_rounding.h"

namespace intarsia {

namespace {

struct TwoSteps {
    static Ints add(Ints sums, Ints a, Ints b) { return add_products(sums, a, b); }
};

#if defined(__AVX512F__)
// One instruction where the processor has VNNI. The library runs on others as well, and so is compiled without it.
struct OneStep {
    static Ints add(Ints sums, Ints a, Ints b) {
        asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
        return sums;
    }
};
#endif

// Two channels of a row, everywhere.
inline Ints pair_at(const std::int16_t* numbers) {
    std::int32_t both;
    std::memcpy(&both, numbers, sizeof both);
    return every(both);
}

// Sums [row][block] of one tap to floats, and what becomes of them.
[[gnu::noinline]] void finish_rows(const ShortProduct& p, std::size_t tap, const Ints* sums, std::size_t rows,
                                   std::size_t vecs) {
    for (std::size_t row = 0; row < rows; ++row) {
        const Vec scale = broadcast(p.v_scales[tap * p.v_scales_tap + row * p.v_scales_row]);
        for (std::size_t i = 0; i < vecs; ++i, ++sums) {
            const std::size_t at = i * p.m_stride + row * kBlock;
            Vec value = to_floats(*sums) * (scale * load(p.u_scales + i * kBlock));
            if (tap > 0) value = value + load(p.m + at);
            if (p.bias) {  // of one tap
                value = value + load(p.bias + i * kBlock);
                if (p.sum) value = value + load(p.sum + at);
                value = finished(value, *p.finish);
            }
            store(p.m + at, value);
        }
    }
}

// The sums stay in registers only where every loop over them is unrolled.
template <typename Products, std::size_t Rows, std::size_t Vecs>
void multiply_rows(const ShortProduct& p) {
    const std::int16_t *u = p.u, *ahead = p.ahead;
    for (std::size_t tap = 0; tap < p.taps; ++tap) {
        Ints sum[Rows][Vecs];
#pragma GCC unroll 14
        for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = every(0);
        const std::int16_t* v = p.v + tap * p.v_tap;
        for (std::size_t block = 0; block < p.blocks; ++block, v += p.v_stride)
            for (std::size_t channel = 0; channel < kBlock; channel += 2) {
                prefetch(ahead);
                Ints weight[Vecs];
#pragma GCC unroll 2
                for (std::size_t i = 0; i < Vecs; ++i) weight[i] = load_ints(u + 2 * i * kBlock);
#pragma GCC unroll 14
                for (std::size_t row = 0; row < Rows; ++row) {
                    const Ints pixel = pair_at(v + row * kBlock + channel);
#pragma GCC unroll 2
                    for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = Products::add(sum[row][i], pixel, weight[i]);
                }
                u += 2 * Vecs * kBlock;
                ahead += p.ahead_stride;
            }
        // Only this much is unrolled: what follows is little of the time, and would be most of the code.
        alignas(64) Ints sums[Rows][Vecs];
#pragma GCC unroll 14
        for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) sums[row][i] = sum[row][i];
        finish_rows(p, tap, &sums[0][0], Rows, Vecs);
    }
}

using Rows = std::array<void (*)(const ShortProduct&), kRows>;

template <typename Products, std::size_t Vecs, std::size_t... Row>
constexpr Rows kernels_of(std::index_sequence<Row...>) {
    return {multiply_rows<Products, Row + 1, Vecs>...};
}

// By the blocks of the panel, and by rows.
struct Kernels {
    std::size_t most;  // rows of one of them
    Rows of[kPanel];
};

template <typename Products, std::size_t Most>
constexpr Kernels kKernels = {Most,
                              {kernels_of<Products, 1>(std::make_index_sequence<Most>()),
                               kernels_of<Products, 2>(std::make_index_sequence<Most>())}};

const Kernels& kernels_here() {
#if defined(__AVX512F__)
    // Without that instruction nothing is gained: an artifact from another machine is to run here, in little code.
    return __builtin_cpu_supports("avx512vnni") ? kKernels<OneStep, kRows> : kKernels<TwoSteps, 1>;
#else
    return kKernels<TwoSteps, kRows>;
#endif
}

}  // namespace

// In steps as equal as can be, each of which calls in its share of the panel behind this one, as in gemm.cpp.
void multiply(ShortProduct p, std::size_t rows, std::size_t vecs) {
    static const Kernels& kernels = kernels_here();
    const auto count = static_cast<std::uint32_t>(rows), most = static_cast<std::uint32_t>(kernels.most);
    const std::uint32_t steps = (count + most - 1) / most;
    const std::size_t pairs = p.taps * p.blocks * kBlock / 2;
    p.ahead = p.u + 2 * pairs * vecs * kBlock;
    p.ahead_stride = (static_cast<std::uint32_t>(2 * vecs * kBlock) + steps - 1) / steps;
    for (std::uint32_t i = 0; i < steps; ++i) {
        const std::size_t step = count / steps + (i < count % steps);
        kernels.of[vecs - 1][step - 1](p);
        p.v += step * kBlock;
        p.v_scales += step * p.v_scales_row;
        p.m += step * kBlock;
        if (p.sum) p.sum += step * kBlock;
        p.ahead += pairs * p.ahead_stride;
    }
}

float most_in_row(std::size_t channels) {
    return std::floor(std::min(kMostShort, 1e5f / std::sqrt(static_cast<float>(channels))));
}

ShortWeights short_weights(std::size_t products, std::size_t blocks_out, std::size_t taps, std::size_t channels,
                           const LanesAt& at) {
    ShortWeights done;
    done.part = taps * channels * blocks_out * kBlock;
    const std::size_t numbers = products * done.part / 2;
    done.memory = allocate(numbers + products * blocks_out * kBlock);
    auto* const to = reinterpret_cast<std::int16_t*>(done.memory.get());
    float* scale = done.memory.get() + numbers;
    done.numbers = to;
    done.scales = scale;
    // What the sum over one tap may come to, but for what rounding adds.
    const float room = kMostSum / most_in_row(channels) - static_cast<float>(channels) / 2;
    for (std::size_t product = 0; product < products; ++product)
        for (std::size_t block = 0; block < blocks_out; ++block) {
            const std::size_t panel = block / kPanel * kPanel, wide = std::min(kPanel, blocks_out - panel) * kBlock;
            std::int16_t* const part = to + product * done.part + panel * kBlock * taps * channels;
            std::int16_t* const first = part + (block - panel) * kBlock * 2;
            for (std::size_t lane = 0; lane < kBlock; ++lane, ++scale) {
                float largest = 0, most = 0;
                for (std::size_t tap = 0; tap < taps; ++tap) {
                    float sum = 0;
                    for (std::size_t c = 0; c < channels; ++c) {
                        const float size = std::fabs(at(product, block, tap, c)[lane]);
                        largest = std::max(largest, size);
                        sum += size;
                    }
                    most = std::isnan(sum) ? sum : std::max(most, sum);
                }
                const bool is_finite = std::isfinite(most), counts = is_finite && largest > kLeastShort;
                // The largest is a whole number, so that weights which are all alike are exact.
                const float factor = counts ? std::floor(largest * std::min(kMostShort / largest, room / most)) / largest : 0;
                *scale = !is_finite ? std::numeric_limits<float>::quiet_NaN() : counts ? 1 / factor : 0;
                for (std::size_t tap = 0; tap < taps; ++tap)
                    for (std::size_t c = 0; c < channels; ++c) {
                        const float rounded = counts ? std::nearbyint(at(product, block, tap, c)[lane] * factor) : 0;
                        first[((tap * channels + c) / 2 * wide + lane) * 2 + c % 2] = static_cast<std::int16_t>(rounded);
                    }
            }
        }
    return done;
}

namespace {

// `Rows` of them, at most as many as a vector holds; the loops over a vector's worth are unrolled.
template <std::size_t Rows>
void round_few_rows(const float* x, std::size_t stride, std::size_t blocks, float most, std::int16_t* numbers,
                    std::size_t numbers_stride, float* scales) {
    Ints sizes[kBlock];
#pragma GCC unroll 16
    for (std::size_t row = 0; row < kBlock; ++row) sizes[row] = every(0);
    for (std::size_t b = 0; b < blocks; ++b)
#pragma GCC unroll 16
        for (std::size_t row = 0; row < Rows; ++row)
            sizes[row] = larger_size(sizes[row], load(x + b * stride + row * kBlock));
    alignas(64) float own[kBlock], factors[kBlock];
    const Scales found = scales_of(largest_of_each(sizes), most);
    store(own, found.scales);
    store(factors, found.factors);
    std::copy_n(own, Rows, scales);
    for (std::size_t b = 0; b < blocks; ++b, x += stride, numbers += numbers_stride) {
#pragma GCC unroll 8
        for (std::size_t row = 0; row + 2 <= Rows; row += 2)
            store_short(numbers + row * kBlock, load(x + row * kBlock) * broadcast(factors[row]),
                        load(x + (row + 1) * kBlock) * broadcast(factors[row + 1]));
        if constexpr (Rows % 2 > 0) {
            constexpr std::size_t last = Rows - 1;
            store_narrow(numbers + last * kBlock, nearest(load(x + last * kBlock) * broadcast(factors[last])));
        }
    }
}

}  // namespace

void round_rows(const float* x, std::size_t stride, std::size_t blocks, std::size_t rows, std::int16_t* numbers,
                std::size_t numbers_stride, float* scales) {
    const float most = most_in_row(blocks * kBlock);
    std::size_t row = 0;
    for (; row + kBlock <= rows; row += kBlock)
        round_few_rows<kBlock>(x + row * kBlock, stride, blocks, most, numbers + row * kBlock, numbers_stride, scales + row);
    for (; row < rows; ++row)
        round_few_rows<1>(x + row * kBlock, stride, blocks, most, numbers + row * kBlock, numbers_stride, scales + row);
}

namespace {

// Of `Tiles` tiles side by side, so many frequencies from one on; the loops over a vector's worth are unrolled. Two tiles at
// a time, since their numbers fill a vector.
template <std::size_t Tiles, std::size_t Few>
void round_few(const ShortTiles& read, std::size_t f, std::size_t tile, std::int16_t* numbers, std::size_t frequency,
               std::size_t block, float* scales, std::size_t scales_row) {
    const std::size_t next = read.tiles * kBlock, plane = read.frequencies * next;
    const float* const own = read.data + f * next + tile * kBlock;
    alignas(64) float factors[Tiles][kBlock];
    for (std::size_t t = 0; t < Tiles; ++t) {
        Ints sizes[kBlock];
#pragma GCC unroll 16
        for (std::size_t k = 0; k < kBlock; ++k) sizes[k] = every(0);
        const float* from = own + t * kBlock;
        for (std::size_t b = 0; b < read.blocks; ++b, from += plane)
#pragma GCC unroll 16
            for (std::size_t k = 0; k < Few; ++k) sizes[k] = larger_size(sizes[k], load(from + k * next));
        const Scales found = scales_of(largest_of_each(sizes), read.most);
        store(scales + (tile + t) * scales_row + f, found.scales);
        store(factors[t], found.factors);
    }
    for (std::size_t k = 0; k < Few; ++k) {
        const Vec one = broadcast(factors[0][k]), two = broadcast(factors[Tiles - 1][k]);
        const float* from = own + k * next;
        std::int16_t* to = numbers + (f + k) * frequency + tile * kBlock;
        for (std::size_t b = 0; b < read.blocks; ++b, from += plane, to += block) {
            if constexpr (Tiles == 2)
                store_short(to, load(from) * one, load(from + kBlock) * two);
            else
                store_narrow(to, nearest(load(from) * one));
        }
    }
}

}  // namespace

void round_tiles(const ShortTiles& read, std::int16_t* numbers, std::size_t frequency, std::size_t block, float* scales,
                 std::size_t scales_row) {
    constexpr std::size_t rest = 36 % kBlock;  // of tiles of 6x6 values; those of 4x4 and 8x8 fill vectors
    const auto round = [&](auto few, std::size_t f) {
        std::size_t tile = 0;
        for (; tile + 2 <= read.tiles; tile += 2)
            round_few<2, few()>(read, f, tile, numbers, frequency, block, scales, scales_row);
        if (tile < read.tiles) round_few<1, few()>(read, f, tile, numbers, frequency, block, scales, scales_row);
    };
    std::size_t f = 0;
    for (; f + kBlock <= read.frequencies; f += kBlock) round(std::integral_constant<std::size_t, kBlock>(), f);
    if (f < read.frequencies) round(std::integral_constant<std::size_t, rest>(), f);
}

}  // namespace intarsia
