// The nanobind module of all compiled kernels. Each kernel file offers one bind_* function; each has a Python twin.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_eisner(nb::module_ &m);
void bind_lcs(nb::module_ &m);
void bind_ordered(nb::module_ &m);
void bind_scanner(nb::module_ &m);

NB_MODULE(_native, m) {
    m.doc() = "Compiled kernels of Fabula. Their specification is the Python twin named in each docstring.";
    bind_eisner(m);
    bind_lcs(m);
    bind_ordered(m);
    bind_scanner(m);
}
