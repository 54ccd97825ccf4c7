// The nanobind module of all compiled kernels; each kernel file binds itself (kernel.hpp) and has a Python twin.
#include "kernel.hpp"

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of Fabula. Their specification is the Python twin named in each docstring.";
    for (auto bind : fabula::binders()) bind(m);
}
