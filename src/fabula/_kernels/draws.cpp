// How often each of V videos is drawn, for many draws at once: the weights of a bootstrap (Efron 1979).
// Twin: fabula/stats/bootstrap.py, count_draws_python.
#include "check.hpp"
#include "kernel.hpp"

#include <algorithm>
#include <cstdint>

namespace nb = nanobind;

namespace {

using Drawn = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void count_draws(Drawn drawn, Weights weights) {
    fabula::all_aligned(drawn, weights);
    const size_t B = drawn.shape(0), V = drawn.shape(1);
    fabula::require(weights.shape(0) == B && weights.shape(1) == V, "count_draws: a weight for each video of each draw");
    const int64_t *from = drawn.data();
    double *row = weights.data();
    nb::gil_scoped_release release;
    std::fill_n(row, B * V, 0.0);
    for (size_t b = 0; b < B; ++b, from += V, row += V)
        for (size_t k = 0; k < V; ++k) {
            fabula::require(static_cast<uint64_t>(from[k]) < V, "count_draws: there is no such video");
            row[from[k]] += 1.0;
        }
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("count_draws", &count_draws, nb::arg("drawn"), nb::arg("weights").noconvert(),
          "Fills weights [B, V] from draws [B, V]. Twin of fabula.stats.bootstrap.count_draws_python.");
}
