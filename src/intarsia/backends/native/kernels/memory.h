// Working memory for kernels.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace intarsia {

using Memory = std::unique_ptr<float[], void (*)(void*)>;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;  // exact sizes, and numbers that show when they are used before they are written
#else
constexpr bool kSanitized = false;
#endif

// In huge pages where the system has them: the frequencies lie far apart, and with a small page each there would be
// more of them than the cache of the page table holds.
inline Memory allocate(std::size_t floats) {
    constexpr std::size_t page = kSanitized ? 64 : std::size_t{2} << 20;
    const std::size_t bytes = (floats * sizeof(float) + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, bytes);
    if (!memory) throw std::bad_alloc();
    auto* numbers = static_cast<float*>(memory);
    if (kSanitized) std::fill_n(numbers, floats, std::numeric_limits<float>::quiet_NaN());
#if defined(__linux__)
    if (!kSanitized) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return Memory(numbers, std::free);
}

// This thread's working memory, the same from call to call: to touch a page for the first time costs more than the
// arithmetic done on it. Who needs two at one time takes them by different numbers.
template <int Number = 0>
float* scratch(std::size_t floats) {
    thread_local Memory memory{nullptr, std::free};
    thread_local std::size_t size = 0;
    if (floats > size || kSanitized) {
        size = 0;
        memory = allocate(floats);
        size = floats;
    }
    return memory.get();
}

}  // namespace intarsia
