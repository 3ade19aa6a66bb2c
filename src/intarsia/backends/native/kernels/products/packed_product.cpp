#include "kernels/products/packed_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/exponential.h"
#include "kernels/integers.h"

namespace intarsia {
namespace {

constexpr std::size_t kPairs = kRun / 2;
constexpr float kMost = 32767;
constexpr float kLeast = 1e-30f;        // a run with nothing larger counts as zero
constexpr std::size_t kTaskBytes = 1 << 17;  // of the weight: so long that reading goes on at full speed between two
constexpr std::size_t kEven = 4;        // tasks are a multiple of this, so that no thread waits for the last one
constexpr std::size_t kAhead = 4096;    // bytes that are fetched before they are needed; the processor's own are fewer
constexpr std::size_t kLine = 64;
constexpr std::int32_t kMiddle = 8;     // stands for zero in 4 bits, and in the upper 4 of 6

#if defined(__AVX512F__)
inline Ints wide(const std::uint8_t* codes) {
    return _mm512_maskz_cvtepi8_epi16(0xffffffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes)));
}
template <int Bits>
Ints lowest(Ints words) {
    return _mm512_and_si512(words, _mm512_set1_epi16((1 << Bits) - 1));
}
template <int Bits>
Ints without_lowest(Ints words) {
    return _mm512_maskz_srli_epi16(0xffffffff, words, Bits);
}
template <int Bits>
Ints joined(Ints high, Ints low) {
    return _mm512_or_si512(_mm512_maskz_slli_epi16(0xffffffff, high, Bits), low);
}
inline Ints either(Ints a, Ints b) { return _mm512_or_si512(a, b); }
// The 4 bits at that place, as the upper ones of 6.
template <int Place>
Ints upper_of(Ints words) {
    const Ints moved = Place == 0 ? _mm512_maskz_slli_epi16(0xffffffff, words, 2)
                                  : _mm512_maskz_srli_epi16(0xffffffff, words, Place == 0 ? 0 : 4 * Place - 2);
    return _mm512_and_si512(moved, _mm512_set1_epi16(0x3c));
}
// Of floats without their lower halves.
inline Vec widened(const std::uint8_t* halves) {
    const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves));
    const __m512i upper = _mm512_maskz_cvtepu16_epi32(0xffff, narrow);
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, upper, 16));
}
#else
inline Ints wide(const std::uint8_t* codes) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
}
template <int Bits>
Ints lowest(Ints words) {
    return _mm256_and_si256(words, _mm256_set1_epi16((1 << Bits) - 1));
}
template <int Bits>
Ints without_lowest(Ints words) {
    return _mm256_srli_epi16(words, Bits);
}
template <int Bits>
Ints joined(Ints high, Ints low) {
    return _mm256_or_si256(_mm256_slli_epi16(high, Bits), low);
}
inline Ints either(Ints a, Ints b) { return _mm256_or_si256(a, b); }
template <int Place>
Ints upper_of(Ints words) {
    const Ints moved = Place == 0 ? _mm256_slli_epi16(words, 2) : _mm256_srli_epi16(words, Place == 0 ? 0 : 4 * Place - 2);
    return _mm256_and_si256(moved, _mm256_set1_epi16(0x3c));
}
inline Vec widened(const std::uint8_t* halves) {
    const __m256i upper = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(upper, 16));
}
#endif

// The other factor in 16 bits.
struct Factor {
    Factor(const float* x, std::size_t m, std::size_t length)
        : runs(steps(length, kRun)), numbers(m * runs * kRun), scales(m * runs), sums(m * runs) {
        for (std::size_t run = 0; run < m * runs; ++run) {
            const std::size_t first = run % runs * kRun;
            round(x + run / runs * length + first, std::min(kRun, length - first), run);
        }
    }

    // The numbers 2 i and 2 i + 1 of a run.
    std::int32_t pair(std::size_t row, std::size_t run, std::size_t i) const {
        std::int32_t both;
        std::memcpy(&both, &numbers[(row * runs + run) * kRun + 2 * i], sizeof both);
        return both;
    }

    std::size_t runs;
    std::vector<std::int16_t> numbers;  // [m][runs][32], zeros behind the last
    std::vector<float> scales;          // [m][runs]
    std::vector<std::int32_t> sums;     // of the numbers

  private:
    // Where something is no number, or infinite, the scale is none, and so the result.
    void round(const float* from, std::size_t count, std::size_t run) {
        float padded[kRun] = {};
        if (count < kRun) from = std::copy_n(from, count, padded) - count;
        std::int16_t* to = &numbers[run * kRun];
        const Vec zero = broadcast(0);
        Vec largest = zero, odd = zero;
        for (std::size_t i = 0; i < kRun; i += kBlock) {
            const Vec x = load(from + i);
            largest = larger(largest, larger(x, zero - x));
            odd = multiply_add(x, zero, odd);
        }
        if (std::isnan(total(odd))) {
            std::fill_n(to, kRun, std::int16_t{1});
            scales[run] = std::numeric_limits<float>::quiet_NaN();
            return;
        }
        float lanes[kBlock];
        store(lanes, largest);
        const float most = *std::max_element(lanes, lanes + kBlock);
        if (most <= kLeast) return;
        const Vec factor = broadcast(kMost / most);
        Ints all = every(0);
        for (std::size_t i = 0; i < kRun; i += kBlock) {
            const Ints rounded = nearest(load(from + i) * factor);
            store_narrow(to + i, rounded);
            all = sum(all, rounded);
        }
        std::int32_t parts[kBlock];
        std::memcpy(parts, &all, sizeof parts);
        scales[run] = most / kMost;
        sums[run] = std::accumulate(parts, parts + kBlock, 0);
    }
};

constexpr std::size_t code_bytes(std::size_t bits) { return kRun * kBlock * bits / 8; }
constexpr std::size_t run_bytes(std::size_t bits) { return code_bytes(bits) + sizeof(Vec) / (bits > 8 ? 1 : 2); }

// The scales of a run.
template <std::size_t Bits>
Vec scales_of(const std::uint8_t* codes) {
    if constexpr (Bits > 8) return load(reinterpret_cast<const float*>(codes + code_bytes(Bits)));
    return widened(codes + code_bytes(Bits));
}

// The pairs of a word whose upper 4 bits are given, and whose lower 2 lie in another one from a bit on.
template <int First, typename Add>
inline void add_in_6_bits(Ints upper, Ints lower, std::size_t pair, const Add& add) {
    add(either(upper_of<0>(upper), lowest<2>(without_lowest<First>(lower))), pair);
    add(either(upper_of<1>(upper), lowest<2>(without_lowest<First + 4>(lower))), pair + 4);
    add(either(upper_of<2>(upper), lowest<2>(without_lowest<First + 8>(lower))), pair + 8);
    add(either(upper_of<3>(upper), lowest<2>(without_lowest<First + 12>(lower))), pair + 12);
}

// The products of `Rows` rows by one run of a block of columns, without the scale of the weight.
template <std::size_t Bits, std::size_t Rows>
inline void run_of(const std::uint8_t* codes, const Factor& x, std::size_t row, std::size_t run, Vec (&sums)[Rows]) {
    Ints found[Rows];
    for (std::size_t r = 0; r < Rows; ++r) {
        constexpr std::int32_t middle = Bits == 4 ? kMiddle : Bits == 6 ? kMiddle << 2 : 0;
        found[r] = every(-middle * x.sums[(row + r) * x.runs + run]);
    }
    const auto add = [&](Ints weight, std::size_t pair) {
        for (std::size_t r = 0; r < Rows; ++r) {
            found[r] = add_products(found[r], weight, every(x.pair(row + r, run, pair)));
        }
    };
    const auto whole = [&](std::size_t pair) { return wide(codes + pair * 2 * kBlock); };
    if constexpr (Bits == 8) {
        for (std::size_t i = 0; i < kPairs; ++i) add(whole(i), i);
    } else if constexpr (Bits == 6) {
        const std::uint8_t* low = codes + code_bytes(4);
        for (std::size_t i = 0; i < 2; ++i) {
            const Ints rest = load_ints(low + i * 4 * kBlock);
            add_in_6_bits<0>(load_ints(codes + i * 4 * kBlock), rest, i, add);
            add_in_6_bits<2>(load_ints(codes + (i + 2) * 4 * kBlock), rest, i + 2, add);
        }
    } else {
        constexpr std::size_t kLow = Bits == 4 ? 4 : Bits - 8;  // bits that lie in words
        const std::uint8_t* low = codes + (Bits == 4 ? 0 : code_bytes(8));
        for (std::size_t i = 0; i < kLow; ++i) {
            Ints left = load_ints(low + i * 4 * kBlock);
            for (std::size_t pair = i; pair < kPairs; pair += kLow, left = without_lowest<kLow>(left)) {
                const Ints part = lowest<kLow>(left);
                if constexpr (Bits == 4) {
                    add(part, pair);
                } else {
                    add(joined<kLow>(whole(pair), part), pair);
                }
            }
        }
    }
    for (std::size_t r = 0; r < Rows; ++r) {
        sums[r] = to_floats(found[r]) * broadcast(x.scales[(row + r) * x.runs + run]);
    }
}

// Sums of a block of columns in one row to what is written. `at` and `count` are the first of them and how many count.
void finish(Vec total, const ProductEnding& ending, std::size_t column, std::size_t at, std::size_t count, float* y) {
    alignas(64) float lanes[kBlock] = {};
    const auto numbers = [&](const float* from) {
        return count == kBlock ? load(from) : (std::copy_n(from, count, lanes), load(lanes));
    };
    if (ending.bias) total = total + numbers(ending.bias + column);
    if (ending.sum) total = total + numbers(ending.sum + at);
    if (ending.is_gelu) total = gelu(total);
    store(lanes, total);
    std::copy_n(lanes, count, y + at);
}

// The results of `Rows` rows in one block of columns.
template <std::size_t Bits, std::size_t Rows>
void block_of(const PackedWeight& weight, std::size_t block, const Factor& x, std::size_t row,
              const ProductEnding& ending, float* y) {
    const std::uint8_t* codes = weight.content + block * x.runs * run_bytes(Bits);
    Vec totals[Rows];
    for (std::size_t r = 0; r < Rows; ++r) totals[r] = broadcast(0);
    for (std::size_t run = 0; run < x.runs; ++run, codes += run_bytes(Bits)) {
        for (std::size_t i = 0; i < run_bytes(Bits); i += kLine) prefetch(codes + kAhead + i);
        Vec sums[Rows];
        run_of<Bits>(codes, x, row, run, sums);
        const Vec scales = scales_of<Bits>(codes);
        for (std::size_t r = 0; r < Rows; ++r) totals[r] = multiply_add(sums[r], scales, totals[r]);
    }
    const std::size_t first = block * kBlock, count = std::min(kBlock, weight.columns - first);
    for (std::size_t r = 0; r < Rows; ++r) {
        finish(totals[r], ending, first, (row + r) * weight.columns + first, count, y);
    }
}

template <std::size_t Bits>
void product_of(const PackedWeight& weight, const float* x, const ProductEnding& ending, float* y, std::size_t m,
                const Threads& threads) {
    const Factor factor(x, m, weight.rows);
    const std::size_t blocks = steps(weight.columns, kBlock);
    const std::size_t wanted = steps(blocks * factor.runs * run_bytes(Bits), kTaskBytes);
    const std::size_t tasks = std::min(blocks, steps(wanted, kEven) * kEven);
    threads.share(tasks, [&](std::size_t task) {
        const std::size_t end = blocks * (task + 1) / tasks;
        for (std::size_t block = blocks * task / tasks; block < end; ++block) {
            std::size_t row = 0;
            for (; row + 4 <= m; row += 4) block_of<Bits, 4>(weight, block, factor, row, ending, y);
            for (; row < m; ++row) block_of<Bits, 1>(weight, block, factor, row, ending, y);
        }
    });
}

}  // namespace

std::size_t packed_bytes(const PackedWeight& weight) {
    const bool is_known = weight.bits == 4 || weight.bits == 6 || weight.bits == 8 || weight.bits == 10 || weight.bits == 12;
    return is_known ? steps(weight.columns, kBlock) * steps(weight.rows, kRun) * run_bytes(weight.bits) : 0;
}

void packed_product(const PackedWeight& weight, const float* x, const ProductEnding& ending, float* y, std::size_t m,
                    const Threads& threads) {
    switch (weight.bits) {
        case 4: return product_of<4>(weight, x, ending, y, m, threads);
        case 6: return product_of<6>(weight, x, ending, y, m, threads);
        case 8: return product_of<8>(weight, x, ending, y, m, threads);
        case 10: return product_of<10>(weight, x, ending, y, m, threads);
        case 12: return product_of<12>(weight, x, ending, y, m, threads);
        default: return;
    }
}

}  // namespace intarsia
