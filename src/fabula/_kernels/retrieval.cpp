// Search of an encoded corpus, a block of queries at a time: what is discrete (the best videos, the best spans, NMS) and
// the dot products of a query with the clips of its videos. Twins: fabula/learn/retrieval/{contract,search,decode}.py.
// Matrix products, convolutions and softmax are torch's, for kernel and twin alike.
//
// Ties go by place, in the kernel and in the twin. A dot product is 32 sums, of every 32nd number each, that are added
// 16 + 16, 8 + 8, …: lanes of a vector unit of any width give the same bits, since none of them is fused or reordered.
#include "check.hpp"
#include "kernel.hpp"
#include "parallel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

template <class T> using Row = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

constexpr int64_t GRAIN = 100'000;  // numbers that are worth a further thread
constexpr size_t LANES = 32, BLOCK = 32;

using fabula::require;

// ---------------------------------------------------------------------------------------------------------------------
// The best of many

struct Found {
    float value;
    int64_t place;
};

inline bool better(const Found &a, const Found &b) {
    return a.value != b.value ? a.value > b.value : a.place < b.place;
}

// The best `most` of what is offered in the order of places: a later one of the same value is not better. Twice as many
// are collected before the worse half goes.
class Best {
  public:
    Best(size_t most, float above) : most_(most), bar_(above), first_(above) {}

    float bar() const { return bar_; }  // what is not above it is not among the best

    void offer(float value, int64_t place) {
        found_.push_back({value, place});
        if (found_.size() >= 2 * most_) cut();
    }

    void clear() { found_.clear(), bar_ = first_; }

    const std::vector<Found> &sorted() {
        if (found_.size() > most_) cut();
        std::sort(found_.begin(), found_.end(), better);
        return found_;
    }

  private:
    void cut() {
        std::nth_element(found_.begin(), found_.begin() + static_cast<ptrdiff_t>(most_ - 1), found_.end(), better);
        found_.resize(most_);
        bar_ = found_.back().value;
    }

    size_t most_;
    float bar_, first_;
    std::vector<Found> found_;
};

inline bool any_above(const float *values, size_t count, float bar) {
    unsigned any = 0;
    for (size_t i = 0; i < count; ++i) any |= values[i] > bar;
    return any != 0;
}

inline bool any_product_above(float by, const float *values, size_t count, float bar) {
    unsigned any = 0;
    for (size_t i = 0; i < count; ++i) any |= by * values[i] > bar;
    return any != 0;
}

void best_places(const Matrix<const float> &values, const Matrix<float> &best, const Matrix<int64_t> &places, int64_t threads) {
    const size_t Q = values.shape(0), N = values.shape(1), K = best.shape(1);
    fabula::all_aligned(values, best, places);
    require(best.shape(0) == Q && places.shape(0) == Q && places.shape(1) == K, "the columns do not fit together");
    require(K >= 1 && K <= N, "more are asked for than there are");
    const float *in = values.data();
    float *out = best.data();
    int64_t *where = places.data();
    nb::gil_scoped_release free;
    parallel(static_cast<int64_t>(Q), static_cast<int64_t>(N), threads, GRAIN, [&](Queue &queue) {
        constexpr float LOWEST = -std::numeric_limits<float>::infinity();
        Best found(K, LOWEST);
        for (int64_t q; (q = queue.take()) >= 0;) {
            const float *row = in + static_cast<size_t>(q) * N;
            found.clear();
            size_t n = 0;
            for (; n < K; ++n) found.offer(row[n] == row[n] ? row[n] : LOWEST, static_cast<int64_t>(n));  // NaN: the last
            for (; n < N; n += BLOCK) {
                const size_t count = std::min(BLOCK, N - n);
                if (!any_above(row + n, count, found.bar())) continue;
                for (size_t i = n; i < n + count; ++i)
                    if (row[i] > found.bar()) found.offer(row[i], static_cast<int64_t>(i));
            }
            const std::vector<Found> &sorted = found.sorted();
            for (size_t k = 0; k < K; ++k) {
                out[static_cast<size_t>(q) * K + k] = sorted[k].value;
                where[static_cast<size_t>(q) * K + k] = sorted[k].place;
            }
        }
    });
}

// The largest of each stretch of a row; `nothing` of one that is empty.
void best_of_stretches(const Matrix<const float> &values, const Row<const int64_t> &counts, const Matrix<float> &best,
                       float nothing, int64_t threads) {
    const size_t Q = values.shape(0), M = values.shape(1), B = counts.shape(0);
    fabula::all_aligned(values, counts, best);
    require(best.shape(0) == Q && best.shape(1) == B, "the columns do not fit together");
    size_t left = M;
    for (size_t b = 0; b < B; ++b) {
        require(counts.data()[b] >= 0 && static_cast<size_t>(counts.data()[b]) <= left, "the counts do not fit the row");
        left -= static_cast<size_t>(counts.data()[b]);
    }
    require(left == 0, "the counts do not fit the row");
    const float *in = values.data();
    const int64_t *count = counts.data();
    float *out = best.data();
    nb::gil_scoped_release free;
    parallel(static_cast<int64_t>(Q), static_cast<int64_t>(M), threads, GRAIN, [&](Queue &queue) {
        for (int64_t q; (q = queue.take()) >= 0;) {
            const float *row = in + static_cast<size_t>(q) * M;
            for (size_t b = 0; b < B; ++b) {
                float most[8];
                for (float &one : most) one = nothing;
                const size_t n = static_cast<size_t>(count[b]);
                size_t i = 0;
                for (; i + 8 <= n; i += 8)
                    for (size_t l = 0; l < 8; ++l) most[l] = row[i + l] > most[l] ? row[i + l] : most[l];
                for (; i < n; ++i) most[0] = row[i] > most[0] ? row[i] : most[0];
                out[static_cast<size_t>(q) * B + b] = *std::max_element(most, most + 8);
                row += n;
            }
        }
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// Dot products

#if defined(__GNUC__)
#define FABULA_INLINE inline __attribute__((always_inline))
#else
#define FABULA_INLINE inline
#endif

struct Lanes {
    float at[LANES];
};

FABULA_INLINE float add_lanes(Lanes &sum) {
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; ++l) sum.at[l] = sum.at[l] + sum.at[l + half];
    return sum.at[0];
}

// query · clip for `count` clips, one behind the other.
FABULA_INLINE void multiply_clips(const float *query, const float *clips, size_t count, size_t H, float *out) {
    const size_t whole = H / LANES * LANES;
    for (size_t t = 0; t < count; ++t, clips += H) {
        Lanes sum;
#if defined(__GNUC__)
        typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
        Eight a{}, b{}, c{}, d{};
        for (size_t h = 0; h < whole; h += LANES) {
            const Eight *x = reinterpret_cast<const Eight *>(clips + h), *y = reinterpret_cast<const Eight *>(query + h);
            a = a + x[0] * y[0];
            b = b + x[1] * y[1];
            c = c + x[2] * y[2];
            d = d + x[3] * y[3];
        }
        if (whole == H) {  // add_lanes, in registers
            a = (a + c) + (b + d);
            float pair[8];
            std::memcpy(pair, &a, sizeof pair);
            const float p = pair[0] + pair[4], q = pair[1] + pair[5], r = pair[2] + pair[6], s = pair[3] + pair[7];
            out[t] = (p + r) + (q + s);
            continue;
        }
        std::memcpy(sum.at, &a, 32), std::memcpy(sum.at + 8, &b, 32);
        std::memcpy(sum.at + 16, &c, 32), std::memcpy(sum.at + 24, &d, 32);
#else
        for (float &one : sum.at) one = 0;
        for (size_t h = 0; h < whole; h += LANES)
            for (size_t l = 0; l < LANES; ++l) sum.at[l] = sum.at[l] + clips[h + l] * query[h + l];
#endif
        for (size_t l = 0; l + whole < H; ++l) sum.at[l] = sum.at[l] + clips[whole + l] * query[whole + l];
        out[t] = add_lanes(sum);
    }
}

using Multiply = void (*)(const float *, const float *, size_t, size_t, float *);

void multiply_plain(const float *query, const float *clips, size_t count, size_t H, float *out) {
    multiply_clips(query, clips, count, H, out);
}

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2"))) void multiply_avx2(const float *query, const float *clips, size_t count, size_t H, float *out) {
    multiply_clips(query, clips, count, H, out);
}

Multiply choose_multiply() { return __builtin_cpu_supports("avx2") ? multiply_avx2 : multiply_plain; }
#else
Multiply choose_multiply() { return multiply_plain; }
#endif

// query · clip of the rows of each query [Q, K] → [Q, K, T]; behind a row's extent 0. Row by row of the corpus, so that each
// is brought from memory once, for all queries that look into it.
void compare_clips(const Matrix<const float> &queries, const Cube<const float> &clips, const Matrix<const int64_t> &rows,
                   const Row<const int64_t> &extents, const Cube<float> &out, int64_t threads) {
    const size_t Q = queries.shape(0), H = queries.shape(1), R = clips.shape(0), T = clips.shape(1), K = rows.shape(1);
    fabula::all_aligned(queries, clips, rows, extents, out);
    require(clips.shape(2) == H && rows.shape(0) == Q && extents.shape(0) == R, "the columns do not fit together");
    require(out.shape(0) == Q && out.shape(1) == K && out.shape(2) == T, "the columns do not fit together");
    const int64_t *row = rows.data(), *extent = extents.data();
    for (size_t r = 0; r < R; ++r)
        require(extent[r] >= 0 && static_cast<size_t>(extent[r]) <= T, "a row's extent is beyond its end");
    for (size_t i = 0; i < Q * K; ++i)
        require(row[i] >= 0 && static_cast<size_t>(row[i]) < R, "a row that is not there");
    const float *query = queries.data(), *clip = clips.data();
    float *to = out.data();
    nb::gil_scoped_release free;
    std::vector<std::pair<int64_t, size_t>> order(Q * K);  // row, place
    for (size_t i = 0; i < Q * K; ++i) order[i] = {row[i], i};
    std::sort(order.begin(), order.end());
    std::vector<size_t> firsts;
    for (size_t i = 0; i < order.size(); ++i)
        if (i == 0 || order[i].first != order[i - 1].first) firsts.push_back(i);
    firsts.push_back(order.size());
    const Multiply multiply = choose_multiply();
    const int64_t groups = static_cast<int64_t>(firsts.size()) - 1;
    const int64_t each = groups ? static_cast<int64_t>(Q * K * T * H) / groups : 0;
    parallel(groups, each, threads, GRAIN, [&](Queue &queue) {
        for (int64_t g; (g = queue.take()) >= 0;) {
            for (size_t i = firsts[static_cast<size_t>(g)]; i < firsts[static_cast<size_t>(g) + 1]; ++i) {
                const size_t r = static_cast<size_t>(order[i].first), place = order[i].second;
                const size_t there = static_cast<size_t>(extent[r]);
                multiply(query + place / K * H, clip + r * T * H, there, H, to + place * T);
                std::fill(to + place * T + there, to + (place + 1) * T, 0.0f);
            }
        }
    });
}

// ---------------------------------------------------------------------------------------------------------------------
// Spans

// The best spans by (p_st · w) · p_ed, shortest <= last - first < longest. Rows are visited in their order, so that a span
// as good as the worst of a full list is none of it: a row whose best product is not above that is left out, and so is a
// start.
void best_spans(const Cube<const float> &starts, const Cube<const float> &ends, const Matrix<const float> &weights,
                int64_t shortest, int64_t longest, const Matrix<int64_t> &rows, const Matrix<int64_t> &firsts,
                const Matrix<int64_t> &lasts, const Matrix<float> &scores, int64_t threads) {
    const size_t Q = starts.shape(0), R = starts.shape(1), T = starts.shape(2), K = scores.shape(1);
    fabula::all_aligned(starts, ends, weights, rows, firsts, lasts, scores);
    require(ends.shape(0) == Q && ends.shape(1) == R && ends.shape(2) == T, "the columns do not fit together");
    require(weights.shape(0) == Q && weights.shape(1) == R && scores.shape(0) == Q, "the columns do not fit together");
    for (const auto *one : {&rows, &firsts, &lasts})
        require(one->shape(0) == Q && one->shape(1) == K, "the columns do not fit together");
    require(shortest >= 0 && longest > shortest && K >= 1 && T >= 1, "the lengths do not fit together");
    const size_t least = static_cast<size_t>(shortest), most = std::min(static_cast<size_t>(longest), T);
    const float *st = starts.data(), *ed = ends.data(), *weight = weights.data();
    int64_t *row = rows.data(), *first = firsts.data(), *last = lasts.data();
    float *score = scores.data();
    nb::gil_scoped_release free;
    parallel(static_cast<int64_t>(Q), static_cast<int64_t>(R * T), threads, GRAIN / 10, [&](Queue &queue) {
        Best found(K, 0.0f);
        std::vector<float> later(T + 1);  // the best end from here on
        for (int64_t taken; (taken = queue.take()) >= 0;) {
            const size_t q = static_cast<size_t>(taken);
            found.clear();
            for (size_t r = 0; r < R; ++r) {
                const float w = weight[q * R + r], *start = st + (q * R + r) * T, *end = ed + (q * R + r) * T;
                if (!(w > 0)) continue;
                float best = 0, best_end = 0;
                for (size_t t = 0; t < T; ++t) best = start[t] > best ? start[t] : best;
                for (size_t t = 0; t < T; ++t) best_end = end[t] > best_end ? end[t] : best_end;
                if (!((best * w) * best_end > found.bar())) continue;
                later[T] = 0;
                for (size_t t = T; t-- > 0;) later[t] = end[t] > later[t + 1] ? end[t] : later[t + 1];
                for (size_t s = 0; s + least < T; ++s) {
                    const float begun = start[s] * w;
                    if (!(begun * later[s + least] > found.bar())) continue;
                    const size_t stop = std::min(T, s + most);
                    for (size_t e = s + least; e < stop; e += BLOCK) {
                        const size_t count = std::min(BLOCK, stop - e);
                        if (!any_product_above(begun, end + e, count, found.bar())) continue;
                        for (size_t i = e; i < e + count; ++i)
                            if (begun * end[i] > found.bar())
                                found.offer(begun * end[i], static_cast<int64_t>((r * T + s) * T + i));
                    }
                }
            }
            const std::vector<Found> &sorted = found.sorted();
            for (size_t k = 0; k < K; ++k) {
                const bool there = k < sorted.size();
                const int64_t place = there ? sorted[k].place : 0, width = static_cast<int64_t>(T);
                row[q * K + k] = place / (width * width), first[q * K + k] = place / width % width;
                last[q * K + k] = place % width, score[q * K + k] = there ? sorted[k].value : 0.0f;
            }
        }
    });
}

// Which moments stay, best first: none that overlaps a better one that stays, of its video, by IoU > threshold.
void suppress_spans(const Cube<const double> &spans, const Matrix<const int64_t> &videos, double threshold,
                    const Matrix<bool> &stays, int64_t threads) {
    const size_t Q = videos.shape(0), K = videos.shape(1);
    fabula::all_aligned(spans, videos, stays);
    require(spans.shape(0) == Q && spans.shape(1) == K && spans.shape(2) == 2, "the columns do not fit together");
    require(stays.shape(0) == Q && stays.shape(1) == K, "the columns do not fit together");
    const double *span = spans.data();
    const int64_t *video = videos.data();
    bool *out = stays.data();
    nb::gil_scoped_release free;
    parallel(static_cast<int64_t>(Q), static_cast<int64_t>(K * K), threads, GRAIN, [&](Queue &queue) {
        std::vector<size_t> better;
        for (int64_t taken; (taken = queue.take()) >= 0;) {
            const size_t first = static_cast<size_t>(taken) * K;
            better.clear();
            for (size_t j = first; j < first + K; ++j) {
                if (!out[j]) continue;
                const double s = span[2 * j], e = span[2 * j + 1];
                for (const size_t i : better) {
                    if (video[i] != video[j]) continue;
                    const double shared = std::max(std::min(e, span[2 * i + 1]) - std::max(s, span[2 * i]), 0.0);
                    const double hull = std::max(std::max(e, span[2 * i + 1]) - std::min(s, span[2 * i]), 1e-12);
                    if (shared / hull > threshold) {
                        out[j] = false;
                        break;
                    }
                }
                if (out[j]) better.push_back(j);
            }
        }
    });
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("best_places", &best_places, nb::arg("values"), nb::arg("best"), nb::arg("places"), nb::arg("threads"),
          "Twin of fabula.learn.retrieval.decode.best_places_python.");
    m.def("best_of_stretches", &best_of_stretches, nb::arg("values"), nb::arg("counts"), nb::arg("best"), nb::arg("nothing"),
          nb::arg("threads"), "Twin of fabula.learn.retrieval.contract.best_of_stretches_python.");
    m.def("compare_clips", &compare_clips, nb::arg("queries"), nb::arg("clips"), nb::arg("rows"), nb::arg("extents"),
          nb::arg("out"), nb::arg("threads"), "Twin of fabula.learn.retrieval.search.compare_clips_python.");
    m.def("best_spans", &best_spans, nb::arg("starts"), nb::arg("ends"), nb::arg("weights"), nb::arg("shortest"),
          nb::arg("longest"), nb::arg("rows"), nb::arg("firsts"), nb::arg("lasts"), nb::arg("scores"), nb::arg("threads"),
          "Twin of fabula.learn.retrieval.decode.score_spans_python.");
    m.def("suppress_spans", &suppress_spans, nb::arg("spans"), nb::arg("videos"), nb::arg("threshold"), nb::arg("stays"),
          nb::arg("threads"), "Twin of fabula.learn.retrieval.decode.suppress_spans_python.");
}
