// One type for a vector of integers over AVX-512 and AVX2: sums of 32 bits, or twice as many numbers of 16 bits.
// (Masked for AVX-512, as in vector.h.)
#pragma once

#include <cstdint>

#include "kernels/vector.h"

namespace intarsia {

#if defined(__AVX512F__)
using Ints = __m512i;
inline Ints every(std::int32_t value) { return _mm512_set1_epi32(value); }
inline Ints load_ints(const void* numbers) { return _mm512_loadu_si512(numbers); }
// Adds the products of numbers of 16 bits, two by two.
inline Ints add_products(Ints sums, Ints a, Ints b) { return _mm512_add_epi32(sums, _mm512_madd_epi16(a, b)); }
inline Ints sum(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Vec to_floats(Ints numbers) { return _mm512_maskz_cvtepi32_ps(0xffff, numbers); }
inline Ints nearest(Vec numbers) { return _mm512_maskz_cvtps_epi32(0xffff, numbers); }
inline void store_narrow(std::int16_t* to, Ints numbers) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtsepi32_epi16(0xffff, numbers));
}
inline Ints bits_of(Vec numbers) { return _mm512_castps_si512(numbers); }
inline Vec floats_of(Ints bits) { return _mm512_castsi512_ps(bits); }
inline Ints without_sign(Ints bits) { return _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)); }
inline Ints largest(Ints a, Ints b) { return _mm512_maskz_max_epi32(0xffff, a, b); }

// Of each of so many vectors the largest number, one after the other.
inline Ints largest_of_each(const Ints (&numbers)[kBlock]) {
    constexpr __mmask16 all = 0xffff;
    const auto of_two = [](Ints a, Ints b) {
        return largest(_mm512_maskz_unpacklo_epi32(all, a, b), _mm512_maskz_unpackhi_epi32(all, a, b));
    };
    const auto of_parts = [](Ints a, Ints b) {
        return largest(_mm512_maskz_unpacklo_epi64(0xff, a, b), _mm512_maskz_unpackhi_epi64(0xff, a, b));
    };
    Ints of_four[4];
    for (std::size_t i = 0; i < 4; ++i) {
        const Ints* own = numbers + 4 * i;
        of_four[i] = of_parts(of_two(own[0], own[1]), of_two(own[2], own[3]));
    }
    const auto of_halves = [](Ints a, Ints b) {
        return largest(_mm512_maskz_shuffle_i32x4(all, a, b, 0x44), _mm512_maskz_shuffle_i32x4(all, a, b, 0xee));
    };
    const Ints low = of_halves(of_four[0], of_four[1]), high = of_halves(of_four[2], of_four[3]);
    return largest(_mm512_maskz_shuffle_i32x4(all, low, high, 0x88), _mm512_maskz_shuffle_i32x4(all, low, high, 0xdd));
}

// Two vectors of floats, none larger than 32767, as the nearest numbers of 16 bits, one behind the other.
inline void store_short(std::int16_t* to, Vec one, Vec two) {
    // With this added, a number stands in a float's last 16 bits.
    const Vec shift = broadcast(0x1.8p23f);
    const Ints places = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24,
                                         22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const Ints a = bits_of(one + shift), b = bits_of(two + shift);
    _mm512_storeu_si512(to, _mm512_maskz_permutex2var_epi16(0xffffffff, a, places, b));
}
#else
using Ints = __m256i;
inline Ints every(std::int32_t value) { return _mm256_set1_epi32(value); }
inline Ints load_ints(const void* numbers) { return _mm256_loadu_si256(static_cast<const __m256i*>(numbers)); }
inline Ints add_products(Ints sums, Ints a, Ints b) { return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b)); }
inline Ints sum(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Vec to_floats(Ints numbers) { return _mm256_cvtepi32_ps(numbers); }
inline Ints nearest(Vec numbers) { return _mm256_cvtps_epi32(numbers); }
inline void store_narrow(std::int16_t* to, Ints numbers) {
    const __m128i low = _mm256_castsi256_si128(numbers), high = _mm256_extracti128_si256(numbers, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packs_epi32(low, high));
}
inline Ints bits_of(Vec numbers) { return _mm256_castps_si256(numbers); }
inline Vec floats_of(Ints bits) { return _mm256_castsi256_ps(bits); }
inline Ints without_sign(Ints bits) { return _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)); }
inline Ints largest(Ints a, Ints b) { return _mm256_max_epi32(a, b); }

inline Ints largest_of_each(const Ints (&numbers)[kBlock]) {
    const auto of_two = [](Ints a, Ints b) {
        return largest(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    };
    const auto of_parts = [](Ints a, Ints b) {
        return largest(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    };
    Ints of_four[2];
    for (std::size_t i = 0; i < 2; ++i) {
        const Ints* own = numbers + 4 * i;
        of_four[i] = of_parts(of_two(own[0], own[1]), of_two(own[2], own[3]));
    }
    return largest(_mm256_permute2x128_si256(of_four[0], of_four[1], 0x20),
                   _mm256_permute2x128_si256(of_four[0], of_four[1], 0x31));
}

inline void store_short(std::int16_t* to, Vec one, Vec two) {
    store_narrow(to, nearest(one));
    store_narrow(to + kBlock, nearest(two));
}
#endif

}  // namespace intarsia
