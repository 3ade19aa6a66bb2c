// XXH3, 128 bits, of more than 240 bytes: the checksum of an artifact.
#pragma once

#include <cstddef>
#include <string>

namespace intarsia {

constexpr std::size_t kLeastHashed = 241;

// 32 hexadecimal digits, as `xxhash.xxh3_128().hexdigest()` of Python. `size` is at least `kLeastHashed`.
std::string xxh3_128(const void* data, std::size_t size);

}  // namespace intarsia
