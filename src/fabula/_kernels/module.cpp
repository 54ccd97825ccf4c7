// The nanobind module of all compiled kernels; each kernel file binds itself (kernel.hpp) and has a Python twin.
#include <cstdlib>

#include "kernel.hpp"

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of Fabula. Their specification is the Python twin named in each docstring.";
    // Where somebody still holds an object of ours when Python ends (torch keeps what its compiler has seen, our caches
    // live as long as their modules), nanobind would list all that there is as leaked: nothing is lost, the process is
    // over. Whoever looks for real leaks says FABULA_LEAKS=1. The domain (CMakeLists.txt) keeps this choice from other
    // libraries that use nanobind.
    nanobind::set_leak_warnings(std::getenv("FABULA_LEAKS") != nullptr);
    for (auto bind : fabula::binders()) bind(m);
}
