// The rows of a matrix that lie nearest to a query, exactly: a scan of one-byte codes, then the float32 rows of those that
// the error of the codes cannot exclude. The theorem and the numpy twin: fabula/library/nearest.py.
//
// Sums of codes are whole numbers: every instruction set gives the same. Exact products are sums in double in a fixed
// order of eight lanes; a product of two float32 is exact in double, so that fused or not the sum has the same bits.
#include "check.hpp"
#include "kernel.hpp"
#include "parallel.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define FABULA_X86 1
#if (defined(__clang__) && __clang_major__ >= 15) || (!defined(__clang__) && __GNUC__ >= 12)
#define FABULA_VNNI 1  // older compilers do not know the name
#endif
#endif

namespace nb = nanobind;

namespace {

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Query = nb::ndarray<const int16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CodesOut = nb::ndarray<int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowOut = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr size_t PAD = 32;        // bytes that the width of a row of codes is a multiple of
constexpr int MOST = 127;         // of a code
constexpr size_t BATCH = 256;     // rows whose sums are taken at once: they stay in the nearest cache
constexpr int64_t BLOCK = 16384;  // rows that a thread takes
constexpr int64_t GRAIN = 1 << 21;  // codes that a further thread is worth

// ── sums of codes: out[i] = Σ_d codes[i, d] · u[d], one row behind the other: memory is read in its order ─────────────

using Products = void (*)(const int8_t *codes, const int16_t *u, size_t rows, size_t width, int32_t *out);

void products_plain(const int8_t *codes, const int16_t *u, size_t rows, size_t width, int32_t *out) {
    for (size_t i = 0; i < rows; ++i, codes += width) {
        uint32_t sum = 0;  // of codes that are none of ours it may run over, as in lanes
        for (size_t d = 0; d < width; ++d) sum += static_cast<uint32_t>(static_cast<int16_t>(codes[d]) * u[d]);
        out[i] = static_cast<int32_t>(sum);
    }
}

#if defined(FABULA_X86)
__attribute__((target("avx2"))) int32_t add_up(__m256i lanes) {
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    half = _mm_hadd_epi32(half, half);
    return _mm_cvtsi128_si32(_mm_hadd_epi32(half, half));
}

__attribute__((target("avx2"))) void products_avx2(const int8_t *codes, const int16_t *u, size_t rows, size_t width,
                                                   int32_t *out) {
    for (size_t i = 0; i < rows; ++i, codes += width) {
        __m256i even = _mm256_setzero_si256(), odd = even;
        for (size_t d = 0; d < width; d += 32) {
            const __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + d)));
            const __m256i b = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + d + 16)));
            const auto *q = reinterpret_cast<const __m256i *>(u + d);
            even = _mm256_add_epi32(even, _mm256_madd_epi16(a, _mm256_loadu_si256(q)));
            odd = _mm256_add_epi32(odd, _mm256_madd_epi16(b, _mm256_loadu_si256(q + 1)));
        }
        out[i] = add_up(_mm256_add_epi32(even, odd));
    }
}

#if defined(FABULA_VNNI)
__attribute__((target("avx2,avxvnni"))) void products_avxvnni(const int8_t *codes, const int16_t *u, size_t rows,
                                                              size_t width, int32_t *out) {
    for (size_t i = 0; i < rows; ++i, codes += width) {
        __m256i even = _mm256_setzero_si256(), odd = even;
        for (size_t d = 0; d < width; d += 32) {
            const __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + d)));
            const __m256i b = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(codes + d + 16)));
            const auto *q = reinterpret_cast<const __m256i *>(u + d);
            even = _mm256_dpwssd_avx_epi32(even, a, _mm256_loadu_si256(q));
            odd = _mm256_dpwssd_avx_epi32(odd, b, _mm256_loadu_si256(q + 1));
        }
        out[i] = add_up(_mm256_add_epi32(even, odd));
    }
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void products_avx512vnni(const int8_t *codes, const int16_t *u,
                                                                                size_t rows, size_t width, int32_t *out) {
    for (size_t i = 0; i < rows; ++i, codes += width) {
        __m512i sum = _mm512_setzero_si512();
        for (size_t d = 0; d < width; d += 32) {
            const __m512i a = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(codes + d)));
            sum = _mm512_dpwssd_epi32(sum, a, _mm512_loadu_si512(u + d));
        }
        out[i] = _mm512_reduce_add_epi32(sum);
    }
}
#endif
#endif

#if defined(__aarch64__)
void products_neon(const int8_t *codes, const int16_t *u, size_t rows, size_t width, int32_t *out) {
    for (size_t i = 0; i < rows; ++i, codes += width) {
        int32x4_t even = vdupq_n_s32(0), odd = even;
        for (size_t d = 0; d < width; d += 16) {
            const int8x16_t v = vld1q_s8(codes + d);
            const int16x8_t a = vmovl_s8(vget_low_s8(v)), b = vmovl_high_s8(v);
            const int16x8_t p = vld1q_s16(u + d), q = vld1q_s16(u + d + 8);
            even = vmlal_s16(even, vget_low_s16(a), vget_low_s16(p));
            odd = vmlal_high_s16(odd, a, p);
            even = vmlal_s16(even, vget_low_s16(b), vget_low_s16(q));
            odd = vmlal_high_s16(odd, b, q);
        }
        out[i] = vaddvq_s32(vaddq_s32(even, odd));
    }
}
#endif

// ── their bounds: value ± margin of some rows; whether any reaches `least` ────────────────────────────────────────────

// What the theorem says of a query's products: q·r = unit · a · (u·v) ± (reach · E + loss · a).
struct Terms {
    double unit, reach, loss;
};

using Bounds = bool (*)(const Terms &q, const float *a, const float *e, const int32_t *sums, size_t rows, double least,
                        double *value, double *margin);

#if defined(__GNUC__) || defined(__clang__)
__attribute__((always_inline))
#endif
inline bool bound(const Terms &q, const float *a, const float *e, const int32_t *sums, size_t rows, double least,
                  double *value, double *margin) {
    const double unit = q.unit, reach = q.reach, loss = q.loss;
    for (size_t i = 0; i < rows; ++i) {
        value[i] = unit * a[i] * sums[i];
        margin[i] = reach * e[i] + loss * a[i];
    }
    int64_t any = 0;
    for (size_t i = 0; i < rows; ++i) any |= value[i] + margin[i] >= least ? 1 : 0;
    return any != 0;
}

bool bounds_plain(const Terms &q, const float *a, const float *e, const int32_t *sums, size_t rows, double least,
                  double *value, double *margin) {
    return bound(q, a, e, sums, rows, least, value, margin);
}

#if defined(FABULA_X86)  // the same numbers: nothing is fused
__attribute__((target("avx2"))) bool bounds_avx2(const Terms &q, const float *a, const float *e, const int32_t *sums,
                                                 size_t rows, double least, double *value, double *margin) {
    return bound(q, a, e, sums, rows, least, value, margin);
}
#endif

struct Path {
    const char *name;
    Products products;
    Bounds bounds;
};

// What this processor can run, the quickest first.
const std::vector<Path> &paths() {
    static const std::vector<Path> all = [] {
        std::vector<Path> found;
#if defined(FABULA_X86)
        __builtin_cpu_init();
#if defined(FABULA_VNNI)
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"))
            found.push_back({"avx512vnni", products_avx512vnni, bounds_avx2});
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("avxvnni"))
            found.push_back({"avxvnni", products_avxvnni, bounds_avx2});
#endif
        if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", products_avx2, bounds_avx2});
#elif defined(__aarch64__)
        found.push_back({"neon", products_neon, bounds_plain});
#endif
        found.push_back({"plain", products_plain, bounds_plain});
        return found;
    }();
    return all;
}

const Path &find_path(const std::string &name) {
    if (name.empty()) return paths().front();
    for (const Path &path : paths())
        if (name == path.name) return path;
    fabula::refuse("nearest: this processor has no path " + name);
}

// ── codes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

size_t padded(size_t dims) { return (dims + PAD - 1) / PAD * PAD; }

// Room for all roundings in double of a sum of `dims` numbers, many times over: η of the theorem.
double slack(size_t dims) { return std::ldexp(static_cast<double>(dims + 64), -50); }

// x · y in double: eight lanes, which run side by side, then their sum in a fixed order.
double exact_product(const float *x, const float *y, size_t dims) {
    double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t d = 0;
    for (; d + 8 <= dims; d += 8)
        for (size_t l = 0; l < 8; ++l) lane[l] += static_cast<double>(x[d + l]) * y[d + l];
    for (size_t l = 0; d + l < dims; ++l) lane[l] += static_cast<double>(x[d + l]) * y[d + l];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

double norm(const float *x, size_t dims) { return std::sqrt(exact_product(x, x, dims)); }

// The least float32 that is no smaller.
float round_up(double value) {
    if (value > std::numeric_limits<float>::max()) return std::numeric_limits<float>::infinity();
    const float near = static_cast<float>(value);
    return near >= value ? near : std::nextafterf(near, std::numeric_limits<float>::infinity());
}

// Round to the nearest whole number, ties to even, of |y| < 2⁵¹: plain additions, which run in vector lanes.
double whole(double y) {
    constexpr double EVEN = 6755399441055744.0;  // 1.5 · 2⁵²
    return (y + EVEN) - EVEN;
}

struct Encoder {
    const float *mean;
    size_t dims, width;
    double eta, mean_norm;
    std::vector<double> r;  // of one row, zeros behind it

    Encoder(const float *mean_, size_t dims_)
        : mean(mean_), dims(dims_), width(padded(dims_)), eta(slack(dims_)), mean_norm(norm(mean_, dims_)), r(width, 0.0) {}

    void row(const float *x, int8_t *code, float &scale, float &error) {
        double most[8] = {0, 0, 0, 0, 0, 0, 0, 0}, off[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (size_t d = 0; d < dims; ++d) r[d] = static_cast<double>(x[d]) - mean[d];
        for (size_t d = 0; d < width; d += 8)
            for (size_t l = 0; l < 8; ++l) most[l] = std::max(most[l], std::fabs(r[d + l]));
        scale = static_cast<float>(*std::max_element(most, most + 8) / MOST);
        const double a = scale, by = a > 0 ? 1 / a : 0.0, top = MOST;
        for (size_t d = 0; d < width; d += 8)
            for (size_t l = 0; l < 8; ++l) {
                const double v = whole(std::min(std::max(r[d + l] * by, -top), top)), e = r[d + l] - a * v;
                code[d + l] = static_cast<int8_t>(static_cast<int32_t>(v));
                off[l] += e * e;
            }
        double sum = 0;
        for (double part : off) sum += part;
        error = round_up(std::sqrt(sum) * (1 + eta) + eta * (norm(x, dims) + mean_norm));
    }
};

void check_codes(const char *what, size_t n, size_t dims, size_t rows, size_t width, size_t scales, size_t errors) {
    if (rows != n || scales != n || errors != n || width != padded(dims))
        fabula::refuse(std::string(what) + ": codes, a scale and an error for each row");
}

// Fills codes, scales and errors; the first row with a number that is not finite, or -1.
int64_t encode_rows(Rows rows, Row mean, CodesOut codes, RowOut scales, RowOut errors, int64_t threads) {
    fabula::all_aligned(rows, mean, codes, scales, errors);
    const size_t n = rows.shape(0), dims = rows.shape(1), width = codes.shape(1);
    check_codes("encode_rows", n, dims, codes.shape(0), width, scales.size(), errors.size());
    fabula::require(mean.size() == dims, "encode_rows: the mean has a number for each column");
    fabula::require(fabula::all_finite(mean.data(), dims), "encode_rows: the mean is finite");
    std::atomic<int64_t> bad{std::numeric_limits<int64_t>::max()};
    const int64_t blocks = (static_cast<int64_t>(n) + BLOCK - 1) / BLOCK;
    nb::gil_scoped_release release;
    parallel(blocks, BLOCK * static_cast<int64_t>(width), threads, GRAIN, [&](Queue &queue) {
        Encoder encoder(mean.data(), dims);
        for (int64_t b; (b = queue.take()) >= 0;) {
            const size_t first = static_cast<size_t>(b * BLOCK), last = std::min(first + static_cast<size_t>(BLOCK), n);
            for (size_t i = first; i < last; ++i) {
                const float *x = rows.data() + i * dims;
                if (!fabula::all_finite(x, dims)) {
                    int64_t seen = bad.load();
                    while (static_cast<int64_t>(i) < seen && !bad.compare_exchange_weak(seen, static_cast<int64_t>(i))) {
                    }
                    break;
                }
                encoder.row(x, codes.data() + i * width, scales.data()[i], errors.data()[i]);
            }
        }
    });
    return bad == std::numeric_limits<int64_t>::max() ? -1 : bad.load();
}

// ── the query ───────────────────────────────────────────────────────────────────────────────────────────────────────

// A query as whole numbers, and its terms of the theorem.
struct Asked : Terms {
    std::vector<int16_t> u;

    Asked(const float *q, size_t dims) : Terms{}, u(padded(dims), 0) {
        double most = 0;
        for (size_t d = 0; d < dims; ++d) most = std::max(most, std::fabs(static_cast<double>(q[d])));
        const double fits = std::floor(2147483647.0 / (MOST * static_cast<double>(std::max<size_t>(dims, 1))));
        const double largest = std::min(32767.0, fits), eta = slack(dims), length = norm(q, dims);
        unit = most / largest;
        double off = 0;
        for (size_t d = 0; d < dims && unit > 0; ++d) {
            const double y = std::min(std::max(whole(q[d] / unit), -largest), largest), e = q[d] - unit * y;
            u[d] = static_cast<int16_t>(y);
            off += e * e;
        }
        reach = length * (1 + 2 * eta) + std::numeric_limits<double>::min();
        const double widest = MOST * std::sqrt(static_cast<double>(dims)) * (1 + eta);  // ‖v‖ at most
        loss = (std::sqrt(off) * (1 + 2 * eta) + length * std::ldexp(1.0, -45)) * widest;
    }
};

// ── the scan ────────────────────────────────────────────────────────────────────────────────────────────────────────

// Numbers that are sorted: of arrays that are none of ours they may be NaN, which has no place among others.
double sortable(double value) { return value == value ? value : -std::numeric_limits<double>::infinity(); }

struct Candidate {
    double upper;
    int64_t row;
};

// What one thread has seen: the k largest lower bounds, and the rows whose upper bound reaches the k-th of them.
class Selection {
  public:
    Selection(size_t k, std::atomic<double> &shared) : k_(k), shared_(shared) {}

    double least() const { return least_; }

    void add(double value, double margin, int64_t row) {
        const double lower = sortable(value - margin);
        found_.push_back({value + margin, row});
        if (lowers_.size() < k_) {
            lowers_.push_back(lower);
            std::push_heap(lowers_.begin(), lowers_.end(), std::greater<double>());
        } else if (lower > lowers_.front()) {
            std::pop_heap(lowers_.begin(), lowers_.end(), std::greater<double>());
            lowers_.back() = lower;
            std::push_heap(lowers_.begin(), lowers_.end(), std::greater<double>());
        }
        if (lowers_.size() == k_ && lowers_.front() > least_) raise(lowers_.front());
        if (found_.size() >= prune_at_) {
            keep(found_, least_);
            prune_at_ = std::max<size_t>(1 << 16, 2 * found_.size());
        }
    }

    // What the other threads know is true here too.
    void learn() { least_ = std::max(least_, shared_.load(std::memory_order_relaxed)); }

    static void keep(std::vector<Candidate> &some, double least) {
        some.erase(std::remove_if(some.begin(), some.end(), [least](const Candidate &c) { return c.upper < least; }), some.end());
    }

    std::vector<double> lowers_;
    std::vector<Candidate> found_;

  private:
    void raise(double value) {
        least_ = value;
        double known = shared_.load(std::memory_order_relaxed);
        while (known < value && !shared_.compare_exchange_weak(known, value)) {
        }
    }

    const size_t k_;
    std::atomic<double> &shared_;
    double least_ = -std::numeric_limits<double>::infinity();
    size_t prune_at_ = 1 << 16;
};

struct Table {
    const int8_t *codes;
    const float *scales, *errors;
    const bool *allowed;  // or null
    size_t n, width;
};

// Of most rows nothing is kept.
void sift(const Table &table, const Asked &asked, size_t first, size_t count, const int32_t *sums, Bounds bounds,
          Selection &into) {
    double value[BATCH], margin[BATCH];
    if (!bounds(asked, table.scales + first, table.errors + first, sums, count, into.least(), value, margin)) return;
    for (size_t i = 0; i < count; ++i)
        if (value[i] + margin[i] >= into.least() && (!table.allowed || table.allowed[first + i]))
            into.add(value[i], margin[i], static_cast<int64_t>(first + i));
}

// Rows that may be among the k nearest, all others are certainly not.
std::vector<Candidate> find_candidates(const Table &table, const Asked &asked, size_t k, int64_t threads, const Path &path) {
    std::atomic<double> shared{-std::numeric_limits<double>::infinity()};
    std::vector<double> lowers;
    std::vector<Candidate> found;
    std::mutex lock;
    const int64_t blocks = (static_cast<int64_t>(table.n) + BLOCK - 1) / BLOCK;
    parallel(blocks, BLOCK * static_cast<int64_t>(table.width), threads, GRAIN, [&](Queue &queue) {
        Selection own(k, shared);
        std::vector<int32_t> sums(BATCH);
        for (int64_t b; (b = queue.take()) >= 0;) {
            const size_t first = static_cast<size_t>(b * BLOCK), last = std::min(first + static_cast<size_t>(BLOCK), table.n);
            for (size_t i = first; i < last; i += BATCH) {
                const size_t count = std::min(BATCH, last - i);
                const bool *may = table.allowed ? table.allowed + i : nullptr;
                if (may && std::find(may, may + count, true) == may + count) continue;
                path.products(table.codes + i * table.width, asked.u.data(), count, table.width, sums.data());
                own.learn();
                sift(table, asked, i, count, sums.data(), path.bounds, own);
            }
        }
        const std::lock_guard<std::mutex> alone(lock);
        lowers.insert(lowers.end(), own.lowers_.begin(), own.lowers_.end());
        found.insert(found.end(), own.found_.begin(), own.found_.end());
    });
    if (lowers.size() >= k) {
        const auto kth = lowers.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(lowers.begin(), kth, lowers.end(), std::greater<double>());
        Selection::keep(found, *kth);
    }
    return found;
}

nb::object nearest_rows(Codes codes, Row scales, Row errors, Rows rows, Row query, int64_t k, std::optional<Mask> allowed,
                        int64_t threads, const std::string &path) {
    fabula::all_aligned(codes, scales, errors, rows, query);
    const size_t n = rows.shape(0), dims = rows.shape(1);
    check_codes("nearest_rows", n, dims, codes.shape(0), codes.shape(1), scales.size(), errors.size());
    fabula::require(query.size() == dims, "nearest_rows: the query has a number for each column");
    fabula::require(fabula::all_finite(query.data(), dims), "nearest_rows: the query is finite");
    fabula::require(!allowed || allowed->size() == n, "nearest_rows: a mark for each row");
    fabula::require(k >= 0, "nearest_rows: a number of rows");
    const Path &way = find_path(path);
    const Table table{codes.data(), scales.data(), errors.data(), allowed ? allowed->data() : nullptr, n, codes.shape(1)};
    std::vector<int64_t> which;
    std::vector<double> scores;
    size_t compared = 0;
    {
        nb::gil_scoped_release release;
        const Asked asked(query.data(), dims);
        std::vector<Candidate> found;
        if (k > 0 && n > 0) found = find_candidates(table, asked, static_cast<size_t>(k), threads, way);
        compared = found.size();
        constexpr int64_t SOME = 256;
        const int64_t parts = (static_cast<int64_t>(compared) + SOME - 1) / SOME;
        parallel(parts, SOME * static_cast<int64_t>(dims), threads, GRAIN / 4, [&](Queue &queue) {
            for (int64_t p; (p = queue.take()) >= 0;) {
                const size_t last = std::min(static_cast<size_t>((p + 1) * SOME), compared);
                for (size_t c = static_cast<size_t>(p * SOME); c < last; ++c)
                    found[c].upper =
                        sortable(exact_product(rows.data() + static_cast<size_t>(found[c].row) * dims, query.data(), dims));
            }
        });
        const size_t wanted = std::min(compared, static_cast<size_t>(k));
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted), found.end(),
                          [](const Candidate &a, const Candidate &b) { return a.upper != b.upper ? a.upper > b.upper : a.row < b.row; });
        for (size_t c = 0; c < wanted; ++c) which.push_back(found[c].row), scores.push_back(found[c].upper);
    }
    const size_t wanted = which.size();
    return nb::make_tuple(fabula::owned(std::move(which), {wanted}), fabula::owned(std::move(scores), {wanted}), compared);
}

nb::object code_products(Codes codes, Query query, const std::string &path) {
    fabula::all_aligned(query);
    const size_t n = codes.shape(0), width = codes.shape(1);
    fabula::require(query.size() == width && width % PAD == 0, "code_products: rows as wide as the query, of 32 bytes each");
    fabula::room_for(n, sizeof(int32_t));
    std::vector<int32_t> out(n);
    const Products products = find_path(path).products;
    {
        nb::gil_scoped_release release;
        products(codes.data(), query.data(), n, width, out.data());
    }
    return fabula::owned(std::move(out), {n});
}

std::vector<std::string> code_paths() {
    std::vector<std::string> names;
    for (const Path &path : paths()) names.emplace_back(path.name);
    return names;
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("encode_rows", &encode_rows, nb::arg("rows"), nb::arg("mean"), nb::arg("codes").noconvert(),
          nb::arg("scales").noconvert(), nb::arg("errors").noconvert(), nb::arg("threads"),
          "Fills codes [N, W], scales and errors [N]; the first row that is not finite, or -1. Twin of "
          "fabula.library.nearest.encode_python.");
    m.def("nearest_rows", &nearest_rows, nb::arg("codes").noconvert(), nb::arg("scales").noconvert(),
          nb::arg("errors").noconvert(), nb::arg("rows").noconvert(), nb::arg("query"), nb::arg("k"),
          nb::arg("allowed").none(), nb::arg("threads"), nb::arg("path") = "",
          "The k nearest rows, their products, and how many were compared as they are. Twin of "
          "fabula.library.nearest.nearest_python.");
    m.def("code_products", &code_products, nb::arg("codes").noconvert(), nb::arg("query").noconvert(), nb::arg("path"),
          "Sums of codes by one path of this processor. [N]");
    m.def("code_paths", &code_paths, "The paths that this processor can run, the quickest first.");
}
