// The algorithm and its constants are those of the specification (doc/xxhash_spec.md of Cyan4973/xxHash, "XXH3
// Algorithm Description (for inputs longer than 240 bytes)"), with the default secret and without a seed.
#include "reading/xxh3.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace intarsia {
namespace {

constexpr std::size_t kStripe = 64;
constexpr std::size_t kRate = 8;  // bytes of the secret that a stripe moves on by
constexpr std::uint32_t kPrime32_1 = 0x9E3779B1, kPrime32_2 = 0x85EBCA77, kPrime32_3 = 0xC2B2AE3D;
constexpr std::uint64_t kPrime64_1 = 0x9E3779B185EBCA87, kPrime64_2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime64_3 = 0x165667B19E3779F9, kPrime64_4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime64_5 = 0x27D4EB2F165667C5;

alignas(64) constexpr unsigned char kSecret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};
constexpr std::size_t kSecretSize = 192;
constexpr std::size_t kStripesOfBlock = (kSecretSize - kStripe) / kRate;
constexpr std::size_t kBlock = kStripe * kStripesOfBlock;

using Lanes = std::array<std::uint64_t, 8>;

std::uint64_t read(const unsigned char* from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
}

#if defined(__SSE2__)

void accumulate(Lanes& lanes, const unsigned char* stripe, const unsigned char* secret) {
    for (std::size_t at = 0; at < lanes.size(); at += 2) {
        auto* const place = reinterpret_cast<__m128i*>(&lanes[at]);
        const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stripe + 8 * at));
        const __m128i key = _mm_xor_si128(data, _mm_loadu_si128(reinterpret_cast<const __m128i*>(secret + 8 * at)));
        const __m128i product = _mm_mul_epu32(key, _mm_srli_epi64(key, 32));
        const __m128i swapped = _mm_shuffle_epi32(data, _MM_SHUFFLE(1, 0, 3, 2));
        _mm_storeu_si128(place, _mm_add_epi64(product, _mm_add_epi64(_mm_loadu_si128(place), swapped)));
    }
}

#else

void accumulate(Lanes& lanes, const unsigned char* stripe, const unsigned char* secret) {
    for (std::size_t at = 0; at < lanes.size(); ++at) {
        const std::uint64_t data = read(stripe + 8 * at);
        const std::uint64_t key = data ^ read(secret + 8 * at);
        lanes[at ^ 1] += data;
        lanes[at] += (key & 0xFFFFFFFF) * (key >> 32);
    }
}

#endif

void scramble(Lanes& lanes) {
    const unsigned char* const secret = kSecret + kSecretSize - kStripe;
    for (std::size_t at = 0; at < lanes.size(); ++at) {
        lanes[at] = ((lanes[at] ^ lanes[at] >> 47) ^ read(secret + 8 * at)) * kPrime32_1;
    }
}

std::uint64_t merged(const Lanes& lanes, const unsigned char* secret, std::uint64_t start) {
    std::uint64_t result = start;
    for (std::size_t at = 0; at < lanes.size(); at += 2) {
        const unsigned __int128 product = static_cast<unsigned __int128>(lanes[at] ^ read(secret + 8 * at)) *
                                          (lanes[at + 1] ^ read(secret + 8 * at + 8));
        result += static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    result = (result ^ result >> 37) * 0x165667919E3779F9;
    return result ^ result >> 32;
}

}  // namespace

std::string xxh3_128(const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const unsigned char*>(data);
    Lanes lanes{kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3, kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};
    const std::size_t blocks = (size - 1) / kBlock;
    for (std::size_t block = 0; block < blocks; ++block) {
        for (std::size_t stripe = 0; stripe < kStripesOfBlock; ++stripe) {
            accumulate(lanes, bytes + block * kBlock + stripe * kStripe, kSecret + stripe * kRate);
        }
        scramble(lanes);
    }
    const std::size_t rest = (size - 1 - blocks * kBlock) / kStripe;
    for (std::size_t stripe = 0; stripe < rest; ++stripe) {
        accumulate(lanes, bytes + blocks * kBlock + stripe * kStripe, kSecret + stripe * kRate);
    }
    accumulate(lanes, bytes + size - kStripe, kSecret + kSecretSize - kStripe - 7);
    const std::uint64_t low = merged(lanes, kSecret + 11, size * kPrime64_1);
    const std::uint64_t high = merged(lanes, kSecret + kSecretSize - kStripe - 11, ~(size * kPrime64_2));
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text;
}

}  // namespace intarsia
