// Memory for the values between steps, planned once: what is not alive at one time may share bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace intarsia {

// A value that needs memory from one moment to another, both included.
struct Need {
    std::size_t bytes;
    std::size_t first, last;
};

// One block of memory from the start of a page, with a place in it for each need.
class Arena {
  public:
    // Throws `Error` with INTARSIA_NO_MEMORY.
    explicit Arena(const std::vector<Need>& needs);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    void* at(std::size_t need) const { return block_ + offsets_[need]; }

  private:
    std::vector<std::size_t> offsets_;
    std::size_t size_ = 0;
    char* block_ = nullptr;
};

}  // namespace intarsia
