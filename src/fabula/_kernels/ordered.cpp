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

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.hpp"
#include "matrices.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using fabula::Cells, fabula::Flags, fabula::Pairs, fabula::Shapes, fabula::Values;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using Batch = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Lengths = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

namespace {

enum Move : uint8_t { LEFT, DIAGONAL, UPPER };  // skip a reference, match, skip a prediction: the paper's names

struct Scratch {
    std::vector<double> above, row, diagonal;
    std::vector<uint8_t> B;
    Pairs pairs;  // last pair first
};

// The matching of sign * C, a G x P matrix with rows `stride` apart; its pairs are left in s.pairs. Returns the value.
template <typename T>
double solve(const T *c, double sign, size_t G, size_t P, size_t stride, Scratch &s) {
    s.pairs.clear();
    if (G == 0 || P == 0) return 0.0;  // the other side may be any number
    fabula::room_for(G, P);
    s.above.assign(P + 1, 0.0), s.row.assign(P + 1, 0.0), s.diagonal.resize(P + 1);
    s.B.resize(G * P);
    for (size_t i = 0; i < G; ++i, c += stride) {
        fabula::require(fabula::all_finite(c, P), "ordered: a score is not finite");
        // The three parts of a row apart: what may run in vector lanes, and the one chain from left to right.
        const double *above = s.above.data();
        double *row = s.row.data(), *diagonal = s.diagonal.data();
        for (size_t j = 0; j < P; ++j) {
            diagonal[j] = above[j] + sign * static_cast<double>(c[j]);
            row[j + 1] = std::max(above[j + 1], diagonal[j]);
        }
        double best = 0.0;
        for (size_t j = 1; j <= P; ++j) row[j] = best = std::max(row[j], best);
        // Algorithm 1's three tests: on ties the last one that holds wins, UPPER before DIAGONAL before LEFT.
        uint8_t *B = s.B.data() + i * P;
        for (size_t j = 0; j < P; ++j) B[j] = row[j + 1] == row[j] ? UPPER : row[j + 1] == diagonal[j] ? DIAGONAL : LEFT;
        std::swap(s.above, s.row);
    }
    for (size_t k = G, l = P; k > 0 && l > 0;) {
        const uint8_t move = s.B[(k - 1) * P + (l - 1)];
        if (move == DIAGONAL) s.pairs.emplace_back(--k, --l);
        else if (move == LEFT) --k;
        else --l;
    }
    return s.above[P];
}

std::pair<double, Pairs> ordered(Matrix C) {
    fabula::aligned(C);
    double value = 0.0;
    Scratch s;
    {
        nb::gil_scoped_release release;
        value = solve(C.data(), 1.0, C.shape(0), C.shape(1), C.shape(1), s);
        std::reverse(s.pairs.begin(), s.pairs.end());
    }
    return {value, std::move(s.pairs)};
}

// SODA's published extraction (fabula/match/ordered.py, marked_pairs): a cell is marked where neither skip reaches its value,
// the first always; from the last row up the right-most mark left of the previous pair is taken.
void solve_marked(const double *C, size_t G, size_t P, Scratch &s) {
    s.pairs.clear();
    if (G == 0 || P == 0) return;  // the other side may be any number
    s.above.assign(P + 1, 0.0);
    s.row.assign(P + 1, 0.0);
    s.B.assign(G * P, 0);
    for (size_t i = 0; i < G; ++i) {
        const double *above = s.above.data();
        double *row = s.row.data();
        for (size_t j = 0; j < P; ++j) {
            const double skipped = std::max(above[j + 1], row[j]);
            row[j + 1] = std::max(skipped, above[j] + C[i * P + j]);
            s.B[i * P + j] = row[j + 1] > skipped || (i == 0 && j == 0);
        }
        std::swap(s.above, s.row);
    }
    for (size_t i = G, limit = P; i-- > 0;)
        for (size_t j = limit; j-- > 0;)
            if (s.B[i * P + j]) {
                s.pairs.emplace_back(i, limit = j);
                break;
            }
}

void marked_many(Cells C, Shapes shapes, Flags chosen) {
    Scratch s;
    fabula::each_matrix("marked_many", C, shapes, chosen, [&s](size_t, const double *c, size_t G, size_t P) -> const Pairs & {
        solve_marked(c, G, P, s);
        return s.pairs;
    });
}

// Matrices end to end: the value of each, and its pairs as flags on the cells.
void ordered_many(Cells C, Shapes shapes, Values values, Flags chosen) {
    double *value = fabula::one_each("ordered_many", values, shapes);
    Scratch s;
    fabula::each_matrix("ordered_many", C, shapes, chosen, [&s, value](size_t n, const double *c, size_t G, size_t P) -> const Pairs & {
        value[n] = solve(c, 1.0, G, P, P, s);
        return s.pairs;
    });
}

template <typename T>
void ordered_batch(Batch<T> cost, Lengths n, Lengths m, Indices queries, Indices targets, Counts counts, int64_t threads) {
    fabula::all_aligned(cost, n, m, queries, targets, counts);
    const size_t B = cost.shape(0), N = cost.shape(1), M = cost.shape(2), most = std::min(N, M);
    if (n.size() != B || m.size() != B || counts.size() != B)
        throw std::invalid_argument("ordered_batch: one length and one count per item");
    for (const Indices &out : {queries, targets})
        if (out.shape(0) != B || out.shape(1) != most)
            throw std::invalid_argument("ordered_batch: queries and targets have room for min(N, M) pairs per item");
    for (size_t b = 0; b < B; ++b)
        if (n(b) < 0 || n(b) > int64_t(N) || m(b) < 0 || m(b) > int64_t(M))
            throw std::invalid_argument("ordered_batch: a length does not fit");

    nb::gil_scoped_release release;
    const T *c = cost.data();
    const int64_t *rows = n.data(), *columns = m.data();
    int64_t *i = queries.data(), *j = targets.data(), *count = counts.data();
    parallel(B, N * M, threads, 1 << 16, [=](Queue &queue) {
        Scratch s;
        for (int64_t b; (b = queue.take()) >= 0;) {
            solve(c + b * N * M, -1.0, rows[b], columns[b], M, s);
            count[b] = s.pairs.size();
            int64_t *to_i = i + b * most, *to_j = j + b * most;
            for (auto pair = s.pairs.rbegin(); pair != s.pairs.rend(); ++pair) *to_i++ = pair->first, *to_j++ = pair->second;
        }
    });
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("ordered", &ordered, nb::arg("C"), "Twin of fabula.match.ordered.ordered_python.");
    m.def("ordered_many", &ordered_many, nb::arg("C"), nb::arg("shapes"), nb::arg("values").noconvert(), nb::arg("chosen").noconvert(),
          "Matrices end to end: fills values [N] and chosen, a flag per cell. Twin of ordered_many_python.");
    m.def("marked_many", &marked_many, nb::arg("C"), nb::arg("shapes"), nb::arg("chosen").noconvert(),
          "Matrices end to end: fills chosen, a flag per cell. Twin of marked_pairs.");
    const char *doc = "Minimising, item by item: fills queries and targets [B, min(N, M)] and counts [B]. Twin of ordered_python.";
    m.def("ordered_batch", &ordered_batch<float>, nb::arg("cost").noconvert(), nb::arg("n"), nb::arg("m"),
          nb::arg("queries").noconvert(), nb::arg("targets").noconvert(), nb::arg("counts").noconvert(), nb::arg("threads"), doc);
    m.def("ordered_batch", &ordered_batch<double>, nb::arg("cost").noconvert(), nb::arg("n"), nb::arg("m"),
          nb::arg("queries").noconvert(), nb::arg("targets").noconvert(), nb::arg("counts").noconvert(), nb::arg("threads"), doc);
}
