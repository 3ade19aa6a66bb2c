// OpenMP regions of another library, run on a pool that is lent for a while.
#pragma once

#include <cstddef>

namespace intarsia {

// Runs task(data, 0 .. count - 1) on the pool and returns when all are done.
using PoolRun = void (*)(void* pool, void (*task)(void*, std::size_t), std::size_t count, void* data);

// While it lives, the OpenMP regions that this thread enters run on the pool.
class LentPool {
  public:
    LentPool(PoolRun run, void* pool);
    ~LentPool();
    LentPool(const LentPool&) = delete;
    LentPool& operator=(const LentPool&) = delete;
};

}  // namespace intarsia
