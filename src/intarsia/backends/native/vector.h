// One vector type over AVX-512 and AVX2: a `Vec` holds one block of channels of one pixel.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace intarsia {

inline void prefetch(const float* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

#if defined(__AVX512F__)
using Vec = __m512;
constexpr std::size_t kBlock = 16;
inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec broadcast(float value) { return _mm512_set1_ps(value); }
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// The second operand of the instruction comes back when either is NaN, so a NaN pixel stays one.
// (Masked, because the plain intrinsics set off GCC 12's -Wmaybe-uninitialized.)
inline Vec clamp(Vec v, Vec low, Vec high) {
    return _mm512_maskz_min_ps(0xffff, high, _mm512_maskz_max_ps(0xffff, low, v));
}
#else
using Vec = __m256;
constexpr std::size_t kBlock = 8;
inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline Vec broadcast(float value) { return _mm256_set1_ps(value); }
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec clamp(Vec v, Vec low, Vec high) { return _mm256_min_ps(high, _mm256_max_ps(low, v)); }
#endif

}  // namespace intarsia
