// SoftSODA (Batra et al., BMVC 2022) for a batch of ragged cost matrices: value, and the gradient or expected alignment.
// Twin of fabula/learn/_wavefront.py (which holds the derivation) and of fabula/match/soft_ordered.py.
//
//   S[i][j] = smoothMin(S[i-1][j], S[i][j-1], S[i-1][j-1] + c[i][j]),   S[0][.] = S[.][0] = 0
//   p_k = dS[i][j]/dx_k of the three predecessors;   A[u] = sum over v after u of p_{u->v} A[v];   dS[n][m]/dc = A p_match
//
// Cells of one anti-diagonal d = i + j do not depend on each other: they are the lanes of the vector unit. Tables are
// stored by diagonals, i running over the shorter side K, so each is (K + L) * K <= 2 n m numbers, per thread.
// exp and log are written out below, for the lanes and so that every machine gives the same digits.
#include "kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace {

template <typename T> using Batch = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <typename T> using Out = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Lengths = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

enum class Form { LOGSUMEXP, EXPECTATION, EXPECTATION_WALK };  // p = w; p = w (1 - (x - S)/gamma); p = w

// exp(-z), z >= 0, to about 1 ulp; 0 from z = 700 on, where weights no longer count. exp(-z) = 2^k e^r, |r| <= ln2 / 2.
inline double exp_minus(double z) {
    constexpr double LOG2E = 1.4426950408889634, LN2_HI = 6.93147180369123816490e-01, LN2_LO = 1.90821492927058770002e-10;
    constexpr double ROUND = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the integer in the low bits
    const double y = z < 700.0 ? -z : -700.0;
    const double shifted = y * LOG2E + ROUND, k = shifted - ROUND;
    const double r = (y - k * LN2_HI) - k * LN2_LO;
    // Taylor to r^13 in pairs of pairs (Estrin), so that the lanes do not wait for each other's terms
    const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const double e0 = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
    const double e4 = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
    const double e8 = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
    const double e12 = 1.0 / 479001600 + r * (1.0 / 6227020800.0);
    const double e = (e0 + r4 * e4) + r8 * (e8 + r4 * e12);
    uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // 2^k
    double power;
    std::memcpy(&power, &bits, sizeof power);
    return z < 700.0 ? e * power : 0.0;
}

// log(t), 1 <= t <= 3: t = 2^k u with u near 1, log u = 2 artanh s, s = (u - 1)/(u + 1), |s| <= 0.2.
inline double log_total(double t) {
    constexpr double LN2 = 0.69314718055994530942;
    const bool upper = t > 1.5;
    const double u = upper ? 0.5 * t : t, s = (u - 1.0) / (u + 1.0), q = s * s;
    const double q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
    const double a0 = (1.0 + q * (1.0 / 3)) + q2 * (1.0 / 5 + q * (1.0 / 7));
    const double a4 = (1.0 / 9 + q * (1.0 / 11)) + q2 * (1.0 / 13 + q * (1.0 / 15));
    const double a8 = (1.0 / 17 + q * (1.0 / 19)) + q2 * (1.0 / 21);
    const double a = (a0 + q4 * a4) + q8 * a8;
    return 2.0 * s * a + (upper ? LN2 : 0.0);
}

// One anti-diagonal: count cells from their predecessors. x0 skips i, x1 skips j, x2 + c matches.
template <Form form, bool keep>
inline void cells(const double *__restrict x0, const double *__restrict x1, const double *__restrict x2,
                  const double *__restrict c, double *__restrict S, double *__restrict p0, double *__restrict p1,
                  double *__restrict p2, int64_t count, double gamma) {
    const double steep = 1.0 / gamma;
    for (int64_t k = 0; k < count; ++k) {
        // Two exponentials serve for three weights: of the skips against each other, and of the match against the better.
        const double a = x0[k], b = x1[k], m = x2[k] + c[k];
        const bool first = a < b;
        const double skip = first ? a : b, e_skip = exp_minus(std::fabs(a - b) * steep);
        const bool match = m < skip;
        const double low = match ? m : skip, e = exp_minus(std::fabs(m - skip) * steep);
        const double on_skip = match ? e : 1.0, on_match = match ? 1.0 : e;  // best skip, match
        const double total = on_skip * (1.0 + e_skip) + on_match;
        if (form == Form::LOGSUMEXP && !keep) {
            S[k] = low - gamma * log_total(total);
            continue;
        }
        const double one = 1.0 / total, w_best = on_skip * one, w_other = w_best * e_skip, w2 = on_match * one;
        const double w0 = first ? w_best : w_other, w1 = first ? w_other : w_best;
        if (form == Form::LOGSUMEXP) {
            S[k] = low - gamma * log_total(total);
            p0[k] = w0, p1[k] = w1, p2[k] = w2;
        } else {
            // (x - low)/gamma, held finite where the weight is 0 anyway
            const double most = 1e6;
            const double g0 = std::min((a - low) * steep, most), g1 = std::min((b - low) * steep, most),
                         g2 = std::min((m - low) * steep, most);
            const double mean = w0 * g0 + w1 * g1 + w2 * g2;
            S[k] = low + gamma * mean;
            if (keep && form == Form::EXPECTATION) {
                p0[k] = w0 * (1.0 - (g0 - mean)), p1[k] = w1 * (1.0 - (g1 - mean)), p2[k] = w2 * (1.0 - (g2 - mean));
            } else if (keep) {
                p0[k] = w0, p1[k] = w1, p2[k] = w2;
            }
        }
    }
}

// One anti-diagonal of the way back: what flows into count cells from the cells after them.
inline void flow(const double *__restrict p0, const double *__restrict A0, const double *__restrict p1,
                 const double *__restrict A1, const double *__restrict p2, const double *__restrict A2,
                 double *__restrict A, int64_t count) {
    for (int64_t k = 0; k < count; ++k) A[k] = p0[k] * A0[k] + p1[k] * A1[k] + p2[k] * A2[k];
}

constexpr int64_t LANES = 8;  // diagonals are filled up to whole vectors; what is computed there is wiped or not read

struct Scratch {
    std::vector<double> c, S[3], A[3];  // rows of one diagonal
    std::vector<double> p[3];           // tables: all diagonals
};

// Item of n x m costs with rows `stride` apart; E (same layout) is written if `keep`. Returns S[n][m].
template <Form form, bool keep, typename T>
inline double item(const T *cost, T *E, int64_t n, int64_t m, int64_t stride, double gamma, Scratch &s) {
    if (n == 0 || m == 0) return 0.0;
    const bool turned = n > m;
    const int64_t K = turned ? m : n, L = turned ? n : m, D = K + L;          // diagonals 2 ... D
    const int64_t along = turned ? 1 : stride, across = turned ? stride : 1;  // a step in i, a step in j
    const int64_t W = K + 2 + LANES;                                          // i = 0 ... K + 1, and room for lanes
    const auto low = [=](int64_t d) { return std::max<int64_t>(1, d - L); };  // 1 <= i <= K and 1 <= j = d - i <= L
    const auto high = [=](int64_t d) { return std::min<int64_t>(K, d - 1); };
    const auto cell = [=](int64_t i, int64_t d) { return (i - 1) * along + (d - i - 1) * across; };
    const int64_t step = along - across;  // from a cell to the next of its diagonal

    s.c.assign(W, 0.0);
    for (auto &row : s.S) row.assign(W, 0.0);
    if (keep)
        for (auto &table : s.p) table.resize((D + 3) * W);
    double *const c = s.c.data(), *const P0 = s.p[0].data(), *const P1 = s.p[1].data(), *const P2 = s.p[2].data();

    for (int64_t d = 2; d <= D; ++d) {
        const int64_t i = low(d), end = high(d) + 1, count = end - i, full = (count + LANES - 1) / LANES * LANES;
        double *now = s.S[d % 3].data();
        const double *before = s.S[(d + 2) % 3].data(), *earlier = s.S[(d + 1) % 3].data();
        double *p0 = P0 + d * W, *p1 = P1 + d * W, *p2 = P2 + d * W;
        const T *from = cost + cell(i, d);
        for (int64_t k = 0; k < count; ++k) c[k] = static_cast<double>(from[k * step]);
        cells<form, keep>(before + i - 1, before + i, earlier + i - 1, c, now + i, p0 + i, p1 + i, p2 + i, full, gamma);
        std::fill(now + end, now + i + full, 0.0);  // S[d][0] = 0 is among these
        if (keep)                                   // the way back reads one cell beyond each end
            for (double *p : {p0, p1, p2}) p[i - 1] = p[end] = 0.0;
    }
    const double value = s.S[D % 3][K];
    if (!keep) return value;

    for (auto &row : s.A) row.assign(W, 0.0);
    for (auto &table : s.p) std::fill(table.begin() + (D + 1) * W, table.end(), 0.0);
    for (int64_t d = D; d >= 2; --d) {
        const int64_t i = low(d), end = high(d) + 1, count = end - i;
        double *now = s.A[d % 3].data();
        const double *next = s.A[(d + 1) % 3].data(), *later = s.A[(d + 2) % 3].data();
        const double *p0 = P0 + (d + 1) * W, *p1 = P1 + (d + 1) * W, *p2 = P2 + (d + 2) * W, *match = P2 + d * W;
        flow(p0 + i + 1, next + i + 1, p1 + i, next + i, p2 + i + 1, later + i + 1, now + i, count);
        if (d == D) now[K] = 1.0;
        T *to = E + cell(i, d);
        for (int64_t k = 0; k < count; ++k) to[k * step] = static_cast<T>(now[i + k] * match[i + k]);
    }
    return value;
}

// The loops above, compiled for the vector units that a machine may have; the same digits from each.
// A sanitizer's functions cannot be called yet when the loader chooses.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && !defined(FABULA_SANITIZED)
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define FOR_EACH_CPU
#endif

struct Job {
    Form form;
    int64_t n, m, stride;
    double gamma;
};

template <typename T> inline double run_item(const T *cost, T *E, const Job &job, Scratch &s) {
    const auto [form, n, m, stride, gamma] = job;
    if (form == Form::LOGSUMEXP)
        return E ? item<Form::LOGSUMEXP, true>(cost, E, n, m, stride, gamma, s)
                 : item<Form::LOGSUMEXP, false>(cost, E, n, m, stride, gamma, s);
    if (form == Form::EXPECTATION)
        return E ? item<Form::EXPECTATION, true>(cost, E, n, m, stride, gamma, s)
                 : item<Form::EXPECTATION, false>(cost, E, n, m, stride, gamma, s);
    return item<Form::EXPECTATION_WALK, true>(cost, E, n, m, stride, gamma, s);
}

FOR_EACH_CPU double run(const float *cost, float *E, const Job &job, Scratch &s) { return run_item(cost, E, job, s); }
FOR_EACH_CPU double run(const double *cost, double *E, const Job &job, Scratch &s) { return run_item(cost, E, job, s); }

template <typename T>
void soft_ordered(Batch<T> cost, Lengths n, Lengths m, double gamma, const std::string &form, Values value, Out<T> E,
                  int64_t threads) {
    fabula::all_aligned(cost, n, m, value, E);
    const int64_t B = cost.shape(0), N = cost.shape(1), M = cost.shape(2);
    const bool keep = E.size() > 0;
    Form which = Form::LOGSUMEXP;
    if (form == "expectation") which = Form::EXPECTATION;
    else if (form == "walk") which = Form::EXPECTATION_WALK;
    else if (form != "logsumexp") throw std::invalid_argument("soft_ordered: form is logsumexp, expectation or walk");
    if (!(gamma > 0 && std::isfinite(gamma) && std::isfinite(1.0 / gamma)))
        throw std::invalid_argument("soft_ordered: gamma must be > 0 and finite, and so 1/gamma");
    if (int64_t(n.size()) != B || int64_t(m.size()) != B || int64_t(value.size()) != B)
        throw std::invalid_argument("soft_ordered: one length and one value per item");
    if (keep && (int64_t(E.shape(0)) != B || int64_t(E.shape(1)) != N || int64_t(E.shape(2)) != M))
        throw std::invalid_argument("soft_ordered: E is shaped as cost, or empty");
    for (int64_t b = 0; b < B; ++b)
        if (n(b) < 0 || n(b) > N || m(b) < 0 || m(b) > M) throw std::invalid_argument("soft_ordered: a length does not fit");
    if (which == Form::EXPECTATION_WALK && !keep) which = Form::EXPECTATION;

    nb::gil_scoped_release release;
    const T *c = cost.data();
    T *e = keep ? E.data() : nullptr;
    const int64_t *rows = n.data(), *columns = m.data();
    double *out = value.data();
    parallel(B, N * M, threads, 1 << 14, [=](Queue &queue) {
        const FlushDenormals flush;  // weights of 1e-308 are nothing, and slow
        Scratch s;
        for (int64_t b; (b = queue.take()) >= 0;) {
            for (int64_t i = 0; i < rows[b]; ++i)
                fabula::require(fabula::all_finite(c + (b * N + i) * M, size_t(columns[b])), "soft_ordered: a cost is not finite");
            if (keep) fabula::room_for(size_t(rows[b] + columns[b] + 3), 3 * (std::min(rows[b], columns[b]) + 2 + LANES) * sizeof(double));
            const Job job{which, rows[b], columns[b], M, gamma};
            out[b] = run(c + b * N * M, e ? e + b * N * M : nullptr, job, s);
        }
    });
}

}  // namespace

FABULA_KERNEL(m) {
    const char *doc = "Twin of fabula.learn._wavefront.value_and_flow; E must come zeroed, or empty for the value alone.";
    m.def("soft_ordered", &soft_ordered<float>, nb::arg("cost").noconvert(), nb::arg("n"), nb::arg("m"),
          nb::arg("gamma"), nb::arg("form"), nb::arg("value").noconvert(), nb::arg("E").noconvert(), nb::arg("threads"), doc);
    m.def("soft_ordered", &soft_ordered<double>, nb::arg("cost").noconvert(), nb::arg("n"), nb::arg("m"),
          nb::arg("gamma"), nb::arg("form"), nb::arg("value").noconvert(), nb::arg("E").noconvert(), nb::arg("threads"), doc);
}
