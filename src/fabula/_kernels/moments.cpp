// Rankings of moments, a block of queries at a time: where the first right answer stands, and what is odd about them.
// Twins: fabula/metrics/_recall.py, fabula/engine/moments.py, fabula/benchmarks/tvr/predictions.py.
#include "check.hpp"
#include "json.hpp"
#include "kernel.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace nb = nanobind;
using fabula::owned;

namespace {

using Ints = nb::ndarray<const int64_t, nb::ndim<1>, nb::device::cpu>;
using Floats = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Spans = nb::ndarray<const double, nb::shape<-1, 2>, nb::device::cpu>;

// Counts that are not negative and add up to `all`, without running over on the way.
template <class View> void add_up(const View &counts, size_t n, size_t all) {
    int64_t left = static_cast<int64_t>(all);
    for (size_t i = 0; i < n; ++i) {
        if (counts(i) < 0) throw std::invalid_argument("a count is negative");
        if (counts(i) > left) throw std::invalid_argument("the columns do not fit together");
        left -= counts(i);
    }
    if (left != 0) throw std::invalid_argument("the columns do not fit together");
}

// IoU over the hull, in the precision that is asked for; NaN stays NaN.
template <class Real> Real hull_iou(Real ps, Real pe, Real gs, Real ge) {
    Real inter = std::min(pe, ge) - std::max(ps, gs);
    if (inter < 0) inter = 0;
    const Real hull = std::max(pe, ge) - std::min(ps, gs);
    return hull != 0 ? inter / hull : 0;
}

struct Rule {
    std::vector<double> taus;
    bool above;  // IoU > τ instead of ≥
    int64_t agree, agree_from, top;
    bool own_only;  // places count answers of the right video alone
};

template <class Real>
std::vector<double> first_places(const Ints &counts_, const Spans &spans_, const Ints &videos_, const Ints &own_,
                                 const Spans &windows_, const Ints &held_, const Rule &rule) {
    const auto counts = counts_.view(), videos = videos_.view(), own = own_.view(), held = held_.view();
    const auto spans = spans_.view(), windows = windows_.view();
    const size_t Q = counts.shape(0), T = rule.taus.size();
    std::vector<Real> taus(rule.taus.begin(), rule.taus.end());
    std::vector<double> rank(T * Q, std::numeric_limits<double>::infinity());
    size_t first = 0, window = 0;
    for (size_t q = 0; q < Q; first += static_cast<size_t>(counts(q)), window += static_cast<size_t>(held(q)), ++q) {
        const int64_t enough = held(q) >= rule.agree_from ? rule.agree : 1, n = std::min(counts(q), rule.top);
        int64_t place = 0;
        size_t open = T;  // thresholds that nothing has passed yet
        for (int64_t i = 0; i < n && open > 0; ++i) {
            const size_t m = first + static_cast<size_t>(i);
            if (videos(m) != own(q)) continue;
            place = rule.own_only ? place + 1 : i + 1;
            const Real s = static_cast<Real>(spans(m, 0)), e = static_cast<Real>(spans(m, 1));
            for (size_t t = 0; t < T; ++t) {
                double &best = rank[t * Q + q];
                if (best <= static_cast<double>(place)) continue;
                int64_t over = 0;
                for (size_t w = window; w < window + static_cast<size_t>(held(q)); ++w) {
                    const Real iou = hull_iou<Real>(s, e, static_cast<Real>(windows(w, 0)), static_cast<Real>(windows(w, 1)));
                    over += rule.above ? iou > taus[t] : iou >= taus[t];
                }
                if (over >= enough) best = static_cast<double>(place), --open;
            }
        }
    }
    return rank;
}

nb::object first_right(const Ints &counts, const Spans &spans, const Ints &videos, const Ints &own, const Spans &windows,
                       const Ints &held, std::vector<double> taus, bool above, bool single, int64_t agree,
                       int64_t agree_from, std::optional<int64_t> top, bool own_only) {
    const size_t Q = counts.shape(0), M = spans.shape(0), T = taus.size();
    fabula::all_aligned(counts, spans, videos, own, windows, held);
    if (videos.shape(0) != M || own.shape(0) != Q || held.shape(0) != Q)
        throw std::invalid_argument("the columns do not fit together");
    add_up(counts.view(), Q, M);
    add_up(held.view(), Q, windows.shape(0));
    fabula::room_for(T, fabula::product(Q, sizeof(double), "too many queries"));
    const Rule rule{std::move(taus), above, agree, agree_from, top.value_or(std::numeric_limits<int64_t>::max()), own_only};
    std::vector<double> rank;
    {
        nb::gil_scoped_release free;
        rank = single ? first_places<float>(counts, spans, videos, own, windows, held, rule)
                      : first_places<double>(counts, spans, videos, own, windows, held, rule);
    }
    return owned(std::move(rank), {T, Q});
}

// Windows that are no stretch of time, queries whose scores rise, queries with an answer that has no score.
nb::object oddities(const Ints &counts_, const Spans &spans_, std::optional<Floats> scores_) {
    const auto counts = counts_.view();
    const auto spans = spans_.view();
    const size_t Q = counts.shape(0), M = spans.shape(0);
    fabula::all_aligned(counts_, spans_);
    if (scores_) fabula::aligned(*scores_);
    if (scores_ && scores_->shape(0) != M) throw std::invalid_argument("the columns do not fit together");
    add_up(counts, Q, M);
    std::vector<int64_t> faulty, rising, unscored;
    {
        nb::gil_scoped_release free;
        const double *score = scores_ ? scores_->data() : nullptr;
        const int64_t step = scores_ ? scores_->stride(0) : 0;
        size_t m = 0;
        for (size_t q = 0; q < Q; ++q) {
            bool rises = false, lacks = score == nullptr && counts(q) > 0;
            double before = std::numeric_limits<double>::quiet_NaN();
            for (const size_t end = m + static_cast<size_t>(counts(q)); m < end; ++m) {
                const double from = spans(m, 0), to = spans(m, 1);
                if (!(from >= 0 && from < to)) faulty.push_back(static_cast<int64_t>(m));
                if (score == nullptr) continue;
                rises |= *score > before;
                lacks |= *score != *score;
                before = *score;
                score += step;
            }
            if (rises) rising.push_back(static_cast<int64_t>(q));
            if (lacks) unscored.push_back(static_cast<int64_t>(q));
        }
    }
    const size_t a = faulty.size(), b = rising.size(), c = unscored.size();
    return nb::make_tuple(owned(std::move(faulty), {a}), owned(std::move(rising), {b}), owned(std::move(unscored), {c}));
}

// ours[i] for every number that is theirs[i]; None where one is not among them. `theirs` is sorted, without repeats.
nb::object translated(const Floats &numbers_, const Ints &theirs_, const Ints &ours_) {
    fabula::all_aligned(numbers_, theirs_, ours_);
    const auto numbers = numbers_.view();
    const auto theirs = theirs_.view(), ours = ours_.view();
    const size_t M = numbers.shape(0), K = theirs.shape(0);
    if (ours.shape(0) != K) throw std::invalid_argument("a number of theirs for each of ours");
    for (size_t k = 1; k < K; ++k)
        if (theirs(k - 1) >= theirs(k)) throw std::invalid_argument("their numbers must rise");
    if (K == 0) return nb::none();
    fabula::room_for(M, sizeof(int64_t));
    std::vector<int64_t> found(M);
    bool known = true;
    {
        nb::gil_scoped_release free;
        constexpr double END = 9223372036854775808.0;  // 2^63: no whole number of 64 bits any more
        const int64_t low = theirs(0), high = theirs(K - 1);
        const bool dense = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) == K - 1;  // as they mostly are
        std::vector<int64_t> sorted;
        if (!dense) for (size_t k = 0; k < K; ++k) sorted.push_back(theirs(k));
        for (size_t m = 0; m < M; ++m) {
            const double number = numbers(m);
            if (!(number >= -END && number < END)) { known = false; break; }
            const int64_t whole = static_cast<int64_t>(number);
            size_t at = 0;
            if (!dense) at = static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), whole) - sorted.begin());
            else if (whole > low) at = static_cast<size_t>(static_cast<uint64_t>(whole) - static_cast<uint64_t>(low));
            if (at >= K || static_cast<double>(theirs(at)) != number) { known = false; break; }
            found[m] = ours(at);
        }
    }
    return known ? owned(std::move(found), {M}) : nb::none();
}

// The sum of a row as numpy makes it: by halves, and of up to 128 numbers in eight lanes.
double numpy_sum(const double *values, size_t n) {
    if (n < 8) {
        double sum = 0.0;
        for (size_t i = 0; i < n; ++i) sum += values[i];
        return sum;
    }
    if (n > 128) {
        const size_t half = n / 2 - n / 2 % 8;
        return numpy_sum(values, half) + numpy_sum(values + half, n - half);
    }
    double lanes[8];
    std::copy_n(values, 8, lanes);
    size_t i = 8;
    for (; i < n - n % 8; i += 8)
        for (size_t k = 0; k < 8; ++k) lanes[k] += values[i + k];
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; ++i) sum += values[i];
    return sum;
}

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// iou [Q, P, W], given [Q, P], there [Q, W] → [Q, T]
nb::object window_precision(const Cube &iou, const Flags &given, const Flags &there, const std::vector<double> &taus) {
    fabula::aligned(iou);
    const size_t Q = iou.shape(0), P = iou.shape(1), W = iou.shape(2), T = taus.size();
    if (given.shape(0) != Q || given.shape(1) != P || there.shape(0) != Q || there.shape(1) != W)
        throw std::invalid_argument("the columns do not fit together");
    fabula::room_for(Q, fabula::product(T, sizeof(double), "too many thresholds"));
    std::vector<double> found(Q * T, 0.0);
    if (Q > 0) {  // without queries, a side may be longer than any memory
        nb::gil_scoped_release free_others;
        std::vector<size_t> best(P * W);  // of each window the references, the one it overlaps most first
        std::vector<double> parts(P);
        std::vector<uint8_t> free(W), hits(P);
        for (size_t q = 0; q < Q; ++q) {
            const double *cells = iou.data() + q * P * W;
            const bool *is_given = given.data() + q * P, *is_there = there.data() + q * W;
            size_t total = 0;
            for (size_t w = 0; w < W; ++w) total += is_there[w];
            for (size_t p = 0; p < P; ++p) {
                size_t *order = best.data() + p * W;
                const double *row = cells + p * W;
                for (size_t w = 0; w < W; ++w) order[w] = W - 1 - w;  // on ties the later one first, as published
                std::stable_sort(order, order + W, [row](size_t a, size_t b) {  // what is no number first of all
                    return row[a] > row[b] || (std::isnan(row[a]) && !std::isnan(row[b]));
                });
            }
            for (size_t t = 0; t < T; ++t) {
                std::copy_n(is_there, W, free.begin());
                for (size_t p = 0; p < P; ++p) {
                    hits[p] = 0;
                    for (size_t w = 0; w < W && !hits[p]; ++w) {
                        const size_t g = best[p * W + w];
                        if (cells[p * W + g] < taus[t]) break;  // the others overlap less
                        if (cells[p * W + g] >= taus[t] && free[g]) free[g] = 0, hits[p] = 1;
                    }
                }
                size_t rank = 0, right = 0;
                for (size_t p = 0; p < P; ++p) {
                    rank += is_given[p], right += hits[p];
                    parts[p] = is_given[p] ? static_cast<double>(right) / static_cast<double>(std::max<size_t>(rank, 1)) : 0.0;
                }
                double most = 0.0;  // P̂, from the end
                for (size_t p = P; p-- > 0;) {
                    most = p + 1 == P ? parts[p] : std::max(most, parts[p]);
                    parts[p] = most * hits[p];
                }
                found[q * T + t] = numpy_sum(parts.data(), P) / static_cast<double>(std::max<size_t>(total, 1));
            }
        }
    }
    return owned(std::move(found), {Q, T});
}

// marks [ΣC, A] of at least two annotators, scores [ΣC], counts [Q], levels [L] → [Q, L]
nb::object clip_precision(const Marks &marks, const Floats &scores_, const Ints &counts_, const std::vector<double> &levels,
                          bool of_scores) {
    fabula::all_aligned(marks, scores_, counts_);
    const auto scores = scores_.view();
    const auto counts = counts_.view();
    const size_t A = marks.shape(1), N = marks.shape(0), Q = counts.shape(0), L = levels.size();
    if (A < 2) throw std::invalid_argument("there are at least two annotators");  // numpy adds up one in another order
    if (scores.shape(0) != N) throw std::invalid_argument("the columns do not fit together");
    add_up(counts, Q, N);
    for (size_t n = 0; n < N; ++n)
        if (!std::isfinite(scores(n))) throw std::invalid_argument("a score is not finite");
    fabula::room_for(Q, fabula::product(L, sizeof(double), "too many levels"));
    std::vector<double> found(Q * L, 0.0);
    if (N > 0) {
        nb::gil_scoped_release free_others;
        std::vector<size_t> order, ends;
        std::vector<double> hits, best, sums(A), rises(A), total(A), each(A);
        size_t first = 0;
        for (size_t q = 0; q < Q; ++q) {
            const size_t C = static_cast<size_t>(counts(q));
            const double *own = marks.data() + first * A;
            order.resize(C);
            for (size_t c = 0; c < C; ++c) order[c] = c;
            std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores(first + a) > scores(first + b); });
            ends.clear();
            for (size_t i = 0; i < C; ++i)
                if (i + 1 == C || scores(first + order[i]) != scores(first + order[i + 1])) ends.push_back(i);
            const size_t S = ends.size();
            hits.resize(S * A), best.resize(S * A);
            for (size_t l = 0; l < L && C > 0; ++l) {
                std::fill(total.begin(), total.end(), 0.0);
                for (size_t s = 0, i = 0; s < S; ++s) {
                    for (; i <= ends[s]; ++i)
                        for (size_t a = 0; a < A; ++a) total[a] += own[order[i] * A + a] >= levels[l];
                    std::copy(total.begin(), total.end(), hits.begin() + static_cast<ptrdiff_t>(s * A));
                }
                for (size_t s = S; s-- > 0;)
                    for (size_t a = 0; a < A; ++a) {
                        const double here = hits[s * A + a] / static_cast<double>(ends[s] + 1);
                        best[s * A + a] = s + 1 == S ? here : std::max(here, best[(s + 1) * A + a]);
                    }
                std::fill(sums.begin(), sums.end(), 0.0);
                std::fill(rises.begin(), rises.end(), 0.0);
                for (size_t s = 0; s < S; ++s)
                    for (size_t a = 0; a < A; ++a) {
                        const double gained = hits[s * A + a] - (s ? hits[(s - 1) * A + a] : 0.0);
                        rises[a] += gained > 0;
                        sums[a] += best[s * A + a] * (of_scores ? static_cast<double>(gained > 0) : gained);
                    }
                for (size_t a = 0; a < A; ++a) {
                    const double among = std::max(of_scores ? rises[a] : total[a], 1.0);
                    each[a] = total[a] == 0 ? 0.0 : total[a] == static_cast<double>(C) ? 1.0 : sums[a] / among;
                }
                found[q * L + l] = numpy_sum(each.data(), A) / static_cast<double>(A);
            }
            first += C;
        }
    }
    return owned(std::move(found), {Q, L});
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("window_precision", &window_precision, nb::arg("iou"), nb::arg("given"), nb::arg("there"), nb::arg("taus"),
          "Twin of fabula.metrics.precision.precision_of_windows_python.");
    m.def("clip_precision", &clip_precision, nb::arg("marks"), nb::arg("scores"), nb::arg("counts"), nb::arg("levels"),
          nb::arg("of_scores"), "Twin of fabula.metrics.precision.precision_of_clips_python.");
    m.def("first_right", &first_right, nb::arg("counts"), nb::arg("spans"), nb::arg("videos"), nb::arg("own"),
          nb::arg("windows"), nb::arg("held"), nb::arg("taus"), nb::arg("above"), nb::arg("single"), nb::arg("agree"),
          nb::arg("agree_from"), nb::arg("top").none(), nb::arg("own_only"),
          "Twin of fabula.metrics._recall.MomentRecall.first_right_python.");
    m.def("oddities", &oddities, nb::arg("counts"), nb::arg("spans"), nb::arg("scores").none(),
          "Twin of fabula.engine.moments.oddities_python.");
    m.def("translated", &translated, nb::arg("numbers"), nb::arg("theirs"), nb::arg("ours"),
          "Twin of fabula.benchmarks.tvr.predictions.translate_python.");
}
