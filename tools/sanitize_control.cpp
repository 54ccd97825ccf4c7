// Three faults on purpose, for tools/sanitize.py: a sanitizer that does not report these would report nothing at all.
#include <climits>
#include <cstdint>
#include <thread>

extern "C" void address_fault() {  // one element past the end
    volatile int64_t *few = new int64_t[3];
    few[3] = 7;
    delete[] few;
}

extern "C" void undefined_fault() {  // a signed sum that does not fit
    volatile int most = INT_MAX;
    most = most + 1;
}

extern "C" void thread_fault() {  // two threads, one number, no lock
    volatile int64_t shared = 0;
    const auto count = [&] {
        for (int k = 0; k < 1000; ++k) shared = shared + 1;
    };
    std::thread one(count), two(count);
    one.join(), two.join();
}
