// Threads that run independent branches of a plan beside the thread that calls. They sleep meanwhile: cores are for
// engines.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace intarsia {

class Crew {
  public:
    explicit Crew(std::size_t size);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Run all jobs, the first on this thread; the first error among them is thrown when all are over. One caller at a
    // time.
    void run(const std::vector<std::function<void()>>& jobs);

  private:
    void serve();
    bool work(std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable due_, done_;
    const std::vector<std::function<void()>>* jobs_ = nullptr;
    std::size_t next_ = 0, running_ = 0;
    std::exception_ptr failure_;
    bool is_over_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace intarsia
