// What every kernel asks of its arguments before it looks at them: a Python exception for what does not fit, whoever
// calls. std::invalid_argument is a ValueError, std::bad_alloc a MemoryError.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

namespace fabula {

[[noreturn]] inline void refuse(const std::string &why) { throw std::invalid_argument(why); }

inline void require(bool holds, const char *why) {
    if (!holds) refuse(why);
}

// a * b, which must fit; sizes that overflow are nobody's.
inline size_t product(size_t a, size_t b, const char *why) {
    if (b != 0 && a > std::numeric_limits<size_t>::max() / 16 / b) refuse(why);
    return a * b;
}

// More than there is.
class TooLarge : public std::bad_alloc {
  public:
    TooLarge(double wanted, double there)
        : text_(megabytes(wanted) + " MB are needed, about " + megabytes(there) + " MB are there") {}
    const char *what() const noexcept override { return text_.c_str(); }

  private:
    static std::string megabytes(double bytes) { return std::to_string(static_cast<uint64_t>(std::min(bytes / 1e6, 1e18))); }
    std::string text_;
};

// The memory that may still be had: the machine's, or what its control group leaves. Infinity where nobody says.
inline double memory_there() {
    double there = std::numeric_limits<double>::infinity();
    std::ifstream machine("/proc/meminfo");
    for (std::string word; machine >> word;)
        if (word == "MemAvailable:") {
            if (double kilobytes = 0; machine >> kilobytes) there = kilobytes * 1024;
            break;
        }
    std::ifstream limit("/sys/fs/cgroup/memory.max"), used("/sys/fs/cgroup/memory.current");
    if (double most = 0, now = 0; limit >> most && used >> now) there = std::min(there, most - now);
    return there;
}

// Whether `count` things of `each` bytes may be asked for. The system promises memory that it does not have and kills who
// takes it, so that std::bad_alloc comes too late; small requests are not looked at.
inline void room_for(size_t count, size_t each) {
    constexpr double UNASKED = 1 << 28;
    const double wanted = static_cast<double>(count) * static_cast<double>(each);
    if (wanted < UNASKED) return;
    const double there = memory_there();
    if (wanted > there || wanted > 1e15) throw TooLarge(wanted, there);
}

// Numbers of a numpy array may begin at any byte: the kernels read whole numbers.
template <class Array> const Array &aligned(const Array &array) {
    using T = typename Array::Scalar;
    if (array.size() != 0 && reinterpret_cast<uintptr_t>(array.data()) % alignof(T) != 0)
        refuse("an array's numbers do not begin at a multiple of their size");
    return array;
}

template <class... Arrays> void all_aligned(const Arrays &...arrays) { (aligned(arrays), ...); }

// Whether all of them are finite; in a form that runs in vector lanes.
template <class T> bool all_finite(const T *values, size_t count) {
    unsigned bad = 0;
    for (size_t k = 0; k < count; ++k) bad |= !(std::fabs(values[k]) <= std::numeric_limits<T>::max());
    return bad == 0;
}

}  // namespace fabula
