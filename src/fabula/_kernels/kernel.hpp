// A kernel file binds itself: FABULA_KERNEL(m) { m.def(...); } — no list of kernels is kept anywhere.
#pragma once

#include <nanobind/nanobind.h>

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

}  // namespace fabula

#define FABULA_KERNEL(m)                              \
    static void fabula_bind(nanobind::module_ &m);    \
    static const fabula::Registered fabula_registered(fabula_bind); \
    static void fabula_bind(nanobind::module_ &m)
