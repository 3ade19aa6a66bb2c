// One vector type over AVX-512 and AVX2: a `Vec` holds one block of channels of one pixel.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace intarsia {

inline void prefetch_to_write(const float* p) { __builtin_prefetch(p, 1, 3); }
// Whether `stream` may write there.
inline bool is_whole(const float* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(__m128) == 0; }
// Has what was streamed be seen by other threads.
inline void drain() { _mm_sfence(); }
inline void prefetch(const void* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

#if defined(__AVX512F__)
using Vec = __m512;
constexpr std::size_t kBlock = 16;
inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec broadcast(float value) { return _mm512_set1_ps(value); }
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// The second operand of the instruction comes back when either is NaN, so a NaN pixel stays one.
// (Masked, because the plain intrinsics set off GCC 12's -Wmaybe-uninitialized.)
inline Vec larger(Vec a, Vec b) { return _mm512_maskz_max_ps(0xffff, a, b); }
// A NaN stays one, as it is not below zero.
inline Vec multiply_where_negative(Vec v, Vec factor) {
    return _mm512_mask_mul_ps(v, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ), v, factor);
}
inline Vec square_root(Vec v) { return _mm512_maskz_sqrt_ps(0xffff, v); }
inline Vec rounded(Vec v) { return _mm512_maskz_roundscale_ps(0xffff, v, _MM_FROUND_TO_NEAREST_INT); }
// Of whole numbers from -126 to 127.
inline Vec power_of_two(Vec n) { return _mm512_maskz_scalef_ps(0xffff, _mm512_set1_ps(1), n); }
// To 11 bits or more.
inline Vec about_reciprocal(Vec v) { return _mm512_maskz_rcp14_ps(0xffff, v); }
// In each run of `Width` lanes, the lane of that number everywhere.
template <std::size_t Width, std::size_t Lane>
Vec spread(Vec v) {
    static_assert(Lane < Width && (Width == 2 || Width == 4 || Width == 8));
    if constexpr (Width == 2) return _mm512_maskz_permute_ps(0xffff, v, Lane * 0x55 | 0xa0);
    if constexpr (Width == 4) return _mm512_maskz_permute_ps(0xffff, v, Lane * 0x55);
    constexpr int low = Lane, high = Lane + 8;
    const __m512i lanes = _mm512_set_epi32(high, high, high, high, high, high, high, high, low, low, low, low, low, low, low, low);
    return _mm512_maskz_permutexvar_ps(0xffff, lanes, v);
}
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
inline Vec larger(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec multiply_where_negative(Vec v, Vec factor) {
    return _mm256_blendv_ps(v, _mm256_mul_ps(v, factor), _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ));
}
inline Vec square_root(Vec v) { return _mm256_sqrt_ps(v); }
inline Vec rounded(Vec v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vec about_reciprocal(Vec v) { return _mm256_rcp_ps(v); }
inline Vec power_of_two(Vec n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
template <std::size_t Width, std::size_t Lane>
Vec spread(Vec v) {
    static_assert(Lane < Width && (Width == 2 || Width == 4 || Width == 8));
    if constexpr (Width == 2) return _mm256_permute_ps(v, Lane * 0x55 | 0xa0);
    if constexpr (Width == 4) return _mm256_permute_ps(v, Lane * 0x55);
    return _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(Lane));
}
inline Vec clamp(Vec v, Vec low, Vec high) { return _mm256_min_ps(high, _mm256_max_ps(low, v)); }
#endif

// Past the caches; in parts, since memory is mostly aligned to 16 bytes only.
inline void stream(float* p, Vec v) {
    alignas(Vec) float lanes[kBlock];
    store(lanes, v);
    for (std::size_t i = 0; i < kBlock; i += 4) _mm_stream_ps(p + i, _mm_load_ps(lanes + i));
}

inline float total(__m256 v) {
    const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}

#if defined(__AVX512F__)
inline float total(__m512 v) {
    const __m512d pairs = _mm512_castps_pd(v);
    const __m256d low = _mm512_maskz_extractf64x4_pd(0xff, pairs, 0), high = _mm512_maskz_extractf64x4_pd(0xff, pairs, 1);
    return total(_mm256_add_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high)));
}
#endif

}  // namespace intarsia
