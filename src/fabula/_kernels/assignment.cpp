// The best one-to-one matching, order ignored (Kuhn 1955; shortest augmenting paths), of many small matrices.
// Twin: fabula/diagnosis/_assignment.py, whose every step is taken here in the same order: same ties, same digits.
#include "check.hpp"
#include "kernel.hpp"
#include "matrices.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using fabula::Cells, fabula::Flags, fabula::Pairs, fabula::Shapes, fabula::Values;

namespace {

constexpr double MOST = 1e300;  // |C|; potentials are sums of a few, and must stay finite

struct Scratch {
    std::vector<double> u, v, reach;
    std::vector<size_t> row_of, before;  // by column, 1-based; 0: none
    std::vector<uint8_t> done;
    Pairs pairs;
};

// The pairs of a matrix with G <= P are left in s.pairs, by row; at(i, j) is C.
template <class At> double match_rows(size_t G, size_t P, const At &at, Scratch &s) {
    constexpr double FAR = std::numeric_limits<double>::infinity();
    s.u.assign(G + 1, 0.0), s.v.assign(P + 1, 0.0), s.row_of.assign(P + 1, 0);
    for (size_t i = 1; i <= G; ++i) {
        s.reach.assign(P + 1, FAR), s.before.assign(P + 1, 0), s.done.assign(P + 1, 0);
        s.row_of[0] = i;
        size_t j = 0;
        while (s.row_of[j]) {
            s.done[j] = 1;
            const size_t r = s.row_of[j];
            size_t next = 0;
            for (size_t k = 1; k <= P; ++k) {
                if (s.done[k]) continue;
                const double cost = -at(r - 1, k - 1) - s.u[r] - s.v[k];
                if (cost < s.reach[k]) s.reach[k] = cost, s.before[k] = j;
                if (!next || s.reach[k] < s.reach[next]) next = k;  // of equals the first
            }
            const double step = s.reach[next];  // there is one: fewer rows than columns were met
            for (size_t k = 0; k <= P; ++k) {
                if (s.done[k]) s.u[s.row_of[k]] += step, s.v[k] -= step;
                else s.reach[k] -= step;
            }
            j = next;
        }
        for (; j; j = s.before[j]) s.row_of[j] = s.row_of[s.before[j]];
    }
    s.pairs.resize(G);
    for (size_t k = 1; k <= P; ++k)
        if (s.row_of[k]) s.pairs[s.row_of[k] - 1] = {static_cast<int64_t>(s.row_of[k] - 1), static_cast<int64_t>(k - 1)};
    double value = 0.0;
    for (const auto &[row, column] : s.pairs) value += at(static_cast<size_t>(row), static_cast<size_t>(column));
    return value;
}

double match(const double *c, size_t G, size_t P, Scratch &s) {
    s.pairs.clear();
    if (G == 0 || P == 0) return 0.0;
    unsigned bad = 0;
    for (size_t k = 0; k < G * P; ++k) bad |= !(std::fabs(c[k]) <= MOST);
    fabula::require(!bad, "assignment_many: a score is not finite, or beyond 1e300");
    if (G <= P) return match_rows(G, P, [=](size_t i, size_t j) { return c[i * P + j]; }, s);
    const double value = match_rows(P, G, [=](size_t j, size_t i) { return c[i * P + j]; }, s);
    for (auto &[i, j] : s.pairs) std::swap(i, j);
    return value;
}

void assignment_many(Cells C, Shapes shapes, Values values, Flags chosen) {
    double *value = fabula::one_each("assignment_many", values, shapes);
    Scratch s;
    fabula::each_matrix("assignment_many", C, shapes, chosen, [&s, value](size_t n, const double *c, size_t G, size_t P) -> const Pairs & {
        value[n] = match(c, G, P, s);
        return s.pairs;
    });
}

}  // namespace

FABULA_KERNEL(m) {
    namespace nb = nanobind;
    m.def("assignment_many", &assignment_many, nb::arg("C"), nb::arg("shapes"), nb::arg("values").noconvert(),
          nb::arg("chosen").noconvert(), "Matrices end to end: fills values [N] and chosen, a flag per cell. Twin of assignment_many_python.");
}
