// Items of a batch over threads. Threads are started for a call and joined: no pool that a fork could break. All kernels
// that use threads use these: what goes wrong in one is thrown where they were asked for, and threads that cannot be had
// are done without.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Hands out 0 ... items - 1, each once, then -1.
class Queue {
  public:
    explicit Queue(int64_t items) : items_(items) {}
    int64_t take() {
        const int64_t b = next_.fetch_add(1);
        return b < items_ ? b : -1;
    }
    void close() { next_ = items_; }

  private:
    std::atomic<int64_t> next_{0};
    const int64_t items_;
};

constexpr int64_t MOST_THREADS = 256;  // however many are asked for

// How many threads: at most `threads` and one per item; a further one is worth its start from `grain` units of work on.
inline int64_t crew_size(int64_t items, int64_t units_per_item, int64_t threads, int64_t grain) {
    const double worth = static_cast<double>(items) * static_cast<double>(units_per_item) / static_cast<double>(grain);
    const int64_t most = std::min({std::max<int64_t>(threads, 1), MOST_THREADS, items});
    return worth < static_cast<double>(most) ? static_cast<int64_t>(worth) : most;
}

// Runs work(queue) in up to `threads` threads, the calling one among them; the first exception of any is thrown here.
template <typename Work>
void parallel(int64_t items, int64_t units_per_item, int64_t threads, int64_t grain, const Work &work) {
    const int64_t count = crew_size(items, units_per_item, threads, grain);
    Queue queue(items);
    std::exception_ptr failure;
    std::mutex lock;
    const auto guarded = [&]() noexcept {
        try {
            work(queue);
        } catch (...) {
            queue.close();
            const std::lock_guard<std::mutex> held(lock);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> crew;
    try {
        for (int64_t t = 1; t < count; ++t) crew.emplace_back(guarded);
    } catch (...) {  // no more threads to be had, or no memory for them: those that run do the work
    }
    guarded();
    for (std::thread &worker : crew) worker.join();
    if (failure) std::rethrow_exception(failure);
}

// Numbers below 1e-308 become 0 while this lives, where the processor can do so.
class FlushDenormals {
  public:
#if defined(__SSE2__)
    FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }  // flush to zero, denormals are zero
    ~FlushDenormals() { _mm_setcsr(before_); }
#else
    FlushDenormals() = default;
#endif
    FlushDenormals(const FlushDenormals &) = delete;
    FlushDenormals &operator=(const FlushDenormals &) = delete;

  private:
#if defined(__SSE2__)
    unsigned before_;
#endif
};
