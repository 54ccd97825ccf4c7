// A kernel file binds itself: FABULA_KERNEL(m) { m.def(...); } — no list of kernels is kept anywhere. And what kernels hand
// back to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace fabula {

using Binder = void (*)(nanobind::module_ &);

inline std::vector<Binder> &binders() {
    static std::vector<Binder> all;
    return all;
}

struct Registered {
    explicit Registered(Binder bind) { binders().push_back(bind); }
};

// A vector as a numpy array that owns it.
template <class T> nanobind::object owned(std::vector<T> &&from, std::initializer_list<size_t> shape) {
    auto *kept = new std::vector<T>(std::move(from));
    nanobind::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(kept->data(), shape.size(), shape.begin(), owner));
}

}  // namespace fabula

#define FABULA_KERNEL(m)                              \
    static void fabula_bind(nanobind::module_ &m);    \
    static const fabula::Registered fabula_registered(fabula_bind); \
    static void fabula_bind(nanobind::module_ &m)
