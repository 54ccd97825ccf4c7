// The best projective tree with one word under the root (Eisner, COLING 1996), twin of fabula/text/spice_model.py.
//
// arcs[i][j] scores word i+1 under head j (0 is the root). Over spans s ≤ t of words, side 0 headed by t, side 1 by s:
//   I[s][t]    = max_q C1[s][q] + C0[q+1][t]          an arc between s and t joins two finished halves
//   C0[s][t]   = max_q C0[s][q] + I0[q][t]            C1[s][t] = max_q I1[s][q] + C1[q][t]
// On ties the smallest q wins. n³ steps, 4 n² doubles.
#include "kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace nb = nanobind;
using Arcs = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

namespace {

std::vector<int64_t> eisner(Arcs arcs) {
    const size_t n = arcs.shape(0);
    if (arcs.shape(1) != n + 1) throw nb::value_error("eisner: arcs must be [n, n + 1]");
    std::vector<int64_t> heads(n, 0);
    if (n == 0) return heads;
    const float *a = arcs.data();
    nb::gil_scoped_release release;
    std::vector<double> I0(n * n), I1(n * n), C0(n * n, 0.0), C1(n * n, 0.0);
    std::vector<int32_t> join(n * n), cut0(n * n), cut1(n * n);
    const double least = -std::numeric_limits<double>::infinity();
    for (size_t width = 1; width < n; ++width) {
        for (size_t s = 0, t = width; t < n; ++s, ++t) {
            const size_t here = s * n + t;
            double best = least;
            for (size_t q = s; q < t; ++q) {
                const double value = C1[s * n + q] + C0[(q + 1) * n + t];
                if (value > best) best = value, join[here] = static_cast<int32_t>(q);
            }
            I0[here] = best + a[s * (n + 1) + t + 1];
            I1[here] = best + a[t * (n + 1) + s + 1];
            best = least;
            for (size_t q = s; q < t; ++q) {
                const double value = C0[s * n + q] + I0[q * n + t];
                if (value > best) best = value, cut0[here] = static_cast<int32_t>(q);
            }
            C0[here] = best;
            best = least;
            for (size_t q = s + 1; q <= t; ++q) {
                const double value = I1[s * n + q] + C1[q * n + t];
                if (value > best) best = value, cut1[here] = static_cast<int32_t>(q);
            }
            C1[here] = best;
        }
    }
    size_t root = 0;
    double best = least;
    for (size_t k = 0; k < n; ++k) {
        const double value = (static_cast<double>(a[k * (n + 1)]) + C0[k]) + C1[k * n + n - 1];
        if (value > best) best = value, root = k;
    }
    struct Span { int side; size_t s, t; bool whole; };
    std::vector<Span> stack{{0, 0, root, true}, {1, root, n - 1, true}};
    while (!stack.empty()) {
        const Span x = stack.back();
        stack.pop_back();
        if (x.s == x.t) continue;
        const size_t here = x.s * n + x.t;
        if (!x.whole) {
            heads[x.side == 0 ? x.s : x.t] = static_cast<int64_t>((x.side == 0 ? x.t : x.s) + 1);
            const size_t q = join[here];
            stack.push_back({1, x.s, q, true});
            stack.push_back({0, q + 1, x.t, true});
        } else if (x.side == 0) {
            const size_t q = cut0[here];
            stack.push_back({0, x.s, q, true});
            stack.push_back({0, q, x.t, false});
        } else {
            const size_t q = cut1[here];
            stack.push_back({1, x.s, q, false});
            stack.push_back({1, q, x.t, true});
        }
    }
    return heads;
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("eisner", &eisner, nb::arg("arcs"), "Twin of fabula.text.spice_model.eisner_python.");
}
