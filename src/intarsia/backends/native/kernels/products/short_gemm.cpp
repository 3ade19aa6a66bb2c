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

// The sums stay in registers only where every loop over them is unrolled.
template <typename Products, bool IsResult, std::size_t Rows, std::size_t Vecs>
void multiply_rows(const ShortProduct& p) {
    const std::int16_t* u = p.u;
    for (std::size_t tap = 0; tap < p.taps; ++tap) {
        Ints sum[Rows][Vecs];
#pragma GCC unroll 14
        for (std::size_t row = 0; row < Rows; ++row)
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = every(0);
        const std::int16_t* v = p.v + tap * p.v_tap;
        for (std::size_t block = 0; block < p.blocks; ++block, v += p.v_stride)
            for (std::size_t channel = 0; channel < kBlock; channel += 2, u += 2 * Vecs * kBlock) {
                Ints weight[Vecs];
#pragma GCC unroll 2
                for (std::size_t i = 0; i < Vecs; ++i) weight[i] = load_ints(u + 2 * i * kBlock);
#pragma GCC unroll 14
                for (std::size_t row = 0; row < Rows; ++row) {
                    const Ints pixel = pair_at(v + row * kBlock + channel);
#pragma GCC unroll 2
                    for (std::size_t i = 0; i < Vecs; ++i) sum[row][i] = Products::add(sum[row][i], pixel, weight[i]);
                }
            }
#pragma GCC unroll 14
        for (std::size_t row = 0; row < Rows; ++row) {
            const Vec scale = broadcast(p.v_scales[tap * p.v_scales_tap + row * p.v_scales_row]);
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Vecs; ++i) {
                const std::size_t at = i * p.m_stride + row * kBlock;
                Vec value = to_floats(sum[row][i]) * (scale * load(p.u_scales + i * kBlock));
                if (tap > 0) value = value + load(p.m + at);
                if (IsResult) {  // of one tap
                    value = value + load(p.bias + i * kBlock);
                    if (p.sum) value = value + load(p.sum + at);
                    value = finished(value, *p.finish);
                }
                store(p.m + at, value);
            }
        }
    }
}

using Rows = std::array<void (*)(const ShortProduct&), kRows>;

template <typename Products, bool IsResult, std::size_t Vecs, std::size_t... Row>
constexpr Rows kernels_of(std::index_sequence<Row...>) {
    return {multiply_rows<Products, IsResult, Row + 1, Vecs>...};
}

using All = std::array<std::array<Rows, kPanel>, 2>;

// By whether the product is a result, by the blocks of the panel, and by rows.
template <typename Products>
constexpr All kKernels = {{{kernels_of<Products, false, 1>(std::make_index_sequence<kRows>()),
                            kernels_of<Products, false, 2>(std::make_index_sequence<kRows>())},
                           {kernels_of<Products, true, 1>(std::make_index_sequence<kRows>()),
                            kernels_of<Products, true, 2>(std::make_index_sequence<kRows>())}}};

const All& kernels_here() {
#if defined(__AVX512F__)
    if (__builtin_cpu_supports("avx512vnni")) return kKernels<OneStep>;
#endif
    return kKernels<TwoSteps>;
}

}  // namespace

// In steps as equal as can be, as in gemm.cpp.
void multiply(ShortProduct p, std::size_t rows, std::size_t vecs) {
    static const All& all = kernels_here();
    const Rows& kernels = all[p.bias != nullptr][vecs - 1];
    const auto count = static_cast<std::uint32_t>(rows), most = std::uint32_t{kRows}, steps = (count + most - 1) / most;
    for (std::uint32_t i = 0; i < steps; ++i) {
        const std::size_t step = count / steps + (i < count % steps);
        kernels[step - 1](p);
        p.v += step * kBlock;
        p.v_scales += step * p.v_scales_row;
        p.m += step * kBlock;
        if (p.sum) p.sum += step * kBlock;
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

}  // namespace intarsia
