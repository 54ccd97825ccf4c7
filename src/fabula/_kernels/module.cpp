// The nanobind module of all compiled kernels. Each kernel file offers one bind_* function; each has a Python twin.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_ordered(nb::module_ &m);
void bind_meteor(nb::module_ &m);

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of Fabula. Their specification is the Python twin named in each docstring.";
    bind_ordered(m);
    bind_meteor(m);
}
