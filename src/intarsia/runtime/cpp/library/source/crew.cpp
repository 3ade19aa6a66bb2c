#include "crew.h"

namespace intarsia {

Crew::Crew(std::size_t size) {
    for (std::size_t number = 0; number < size; ++number) {
        threads_.emplace_back([this] { serve(); });
    }
}

Crew::~Crew() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_over_ = true;
    }
    due_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void Crew::run(const std::vector<std::function<void()>>& jobs) {
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_ = &jobs;
    next_ = 0;
    failure_ = nullptr;
    due_.notify_all();
    while (work(lock)) {
    }
    done_.wait(lock, [this] { return running_ == 0; });
    jobs_ = nullptr;
    if (failure_ != nullptr) {
        std::rethrow_exception(failure_);
    }
}

// Run the next job, if there is one, without the lock.
bool Crew::work(std::unique_lock<std::mutex>& lock) {
    if (jobs_ == nullptr || next_ >= jobs_->size()) {
        return false;
    }
    const std::function<void()>& job = (*jobs_)[next_++];
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
        job();
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    --running_;
    failure_ = failure_ != nullptr ? failure_ : failure;
    if (running_ == 0) {
        done_.notify_one();
    }
    return true;
}

void Crew::serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        due_.wait(lock, [this] { return is_over_ || (jobs_ != nullptr && next_ < jobs_->size()); });
        if (is_over_) {
            return;
        }
        work(lock);
    }
}

}  // namespace intarsia
