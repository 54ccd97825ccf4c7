// Ordered one-to-one matching (SODA, Fujita et al., ECCV 2020), twin of fabula/match/ordered.py.
//
//   S[i][j] = max(S[i-1][j], S[i-1][j-1] + C[i][j], S[i][j-1]),   S[0][.] = S[.][0] = 0
//
// Two rows of S and one byte per cell for the back-track: memory G*P bytes, no recursion.
#include "kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace nb = nanobind;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

namespace {

enum Move : uint8_t { LEFT, DIAGONAL, UPPER };  // skip a reference, match, skip a prediction: the paper's names

std::pair<double, Pairs> ordered(Matrix C) {
    const size_t G = C.shape(0), P = C.shape(1);
    const double *c = C.data();
    double value = 0.0;
    Pairs pairs;
    {
        nb::gil_scoped_release release;
        std::vector<double> above(P + 1, 0.0), row(P + 1, 0.0);
        std::vector<uint8_t> B(G * P);
        for (size_t i = 0; i < G; ++i) {
            row[0] = 0.0;
            for (size_t j = 0; j < P; ++j) {
                // Algorithm 1's three tests in its order: on ties the last one that holds wins.
                const double left = above[j + 1], diagonal = above[j] + c[i * P + j], upper = row[j];
                double best = left;
                uint8_t move = LEFT;
                if (diagonal >= best) best = diagonal, move = DIAGONAL;
                if (upper >= best) best = upper, move = UPPER;
                row[j + 1] = best;
                B[i * P + j] = move;
            }
            std::swap(above, row);
        }
        value = above[P];
        for (size_t k = G, l = P; k > 0 && l > 0;) {
            const uint8_t move = B[(k - 1) * P + (l - 1)];
            if (move == DIAGONAL) pairs.emplace_back(--k, --l);
            else if (move == LEFT) --k;
            else --l;
        }
    }
    return {value, Pairs(pairs.rbegin(), pairs.rend())};
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("ordered", &ordered, nb::arg("C"), "Twin of fabula.match.ordered.ordered_python.");
}
