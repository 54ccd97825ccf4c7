// Rankings of moments, a block of queries at a time: where the first right answer stands, and what is odd about them.
// Twins: fabula/metrics/_recall.py, fabula/engine/moments.py, fabula/io/moments/tvr_predictions.py.
#include "check.hpp"
#include "json.hpp"
#include "kernel.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
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

}  // namespace

FABULA_KERNEL(m) {
    m.def("first_right", &first_right, nb::arg("counts"), nb::arg("spans"), nb::arg("videos"), nb::arg("own"),
          nb::arg("windows"), nb::arg("held"), nb::arg("taus"), nb::arg("above"), nb::arg("single"), nb::arg("agree"),
          nb::arg("agree_from"), nb::arg("top").none(), nb::arg("own_only"),
          "Twin of fabula.metrics._recall.MomentRecall.first_right_python.");
    m.def("oddities", &oddities, nb::arg("counts"), nb::arg("spans"), nb::arg("scores").none(),
          "Twin of fabula.engine.moments.oddities_python.");
    m.def("translated", &translated, nb::arg("numbers"), nb::arg("theirs"), nb::arg("ours"),
          "Twin of fabula.io.moments.tvr_predictions.translate_python.");
}
