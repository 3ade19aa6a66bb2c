// The largest value is placed first, each at the lowest offset that is free for the whole of its life (greedy by size;
// Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
#include "arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "error.h"

namespace intarsia {
namespace {

constexpr std::size_t kPage = 4096;

// Whole pages and never none, so that every value has an address of its own.
std::size_t rounded(std::size_t bytes) { return std::max(kPage, (bytes + kPage - 1) / kPage * kPage); }

}  // namespace

Arena::Arena(const std::vector<Need>& needs) : offsets_(needs.size()) {
    std::vector<std::size_t> order(needs.size()), placed;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return rounded(needs[one].bytes) > rounded(needs[other].bytes);
    });
    for (const std::size_t need : order) {
        const std::size_t bytes = rounded(needs[need].bytes);
        std::size_t offset = 0;
        for (const std::size_t other : placed) {  // by offset
            const bool is_apart = needs[other].last < needs[need].first || needs[need].last < needs[other].first;
            const std::size_t end = offsets_[other] + rounded(needs[other].bytes);
            if (is_apart || end <= offset) {
                continue;
            }
            if (offset + bytes <= offsets_[other]) {
                break;
            }
            offset = end;
        }
        offsets_[need] = offset;
        size_ = std::max(size_, offset + bytes);
        placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                       [&](std::size_t value, std::size_t at) { return value < offsets_[at]; }),
                      need);
    }
    if (size_ == 0) {
        return;
    }
    void* const block = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        throw Error(INTARSIA_NO_MEMORY,
                    "the values of the plan take " + std::to_string(size_) + " bytes, which cannot be had");
    }
    block_ = static_cast<char*>(block);
}

Arena::~Arena() {
    if (block_ != nullptr) {
        ::munmap(block_, size_);
    }
}

}  // namespace intarsia
