// The best tree of a sentence under a probabilistic context-free grammar: CKY over spans, twin of fabula/text/pcfg.py.
//
//   I[a][b][X] = max( max_{X → Y Z, a<m<b} w + I[a][m][Y] + I[m][b][Z],  max_{X ⇒ Y} w + I[a][b][Y] )     (⇒: chains)
//
// Rules are held by their unfinished child (a state that binarising made) where they have one, else by the left child:
// few of those are in a span. A state that lies further below the best finished state of its span than its limit is
// dropped. The tree is read off from the top, without backpointers: the first split and the first
// rule that explain a score within a relative 1e-5 are taken, as the parser does that SPICE was built on.
#include "kernel.hpp"
#include "parallel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

template <typename T, int D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

constexpr float NONE = -std::numeric_limits<float>::infinity();
enum Kind : uint8_t { PHRASE, TAG, UNFINISHED };

struct Up { int32_t parent, other; float score; };   // from a child, with its sibling
struct Down { int32_t left, right; float score; };   // from the parent
struct Chain { int32_t state; float score; };

// Items grouped by a state, in the order in which they came.
template <typename T>
struct Grouped {
    std::vector<int32_t> at;
    std::vector<T> items;
    const T *begin(int32_t s) const { return items.data() + at[s]; }
    const T *end(int32_t s) const { return items.data() + at[s + 1]; }
    bool empty(int32_t s) const { return at[s] == at[s + 1]; }
};

template <typename T, typename Key, typename Make>
Grouped<T> group(int32_t S, int64_t n, const Key &key, const Make &make) {
    Grouped<T> g;
    g.at.assign(S + 1, 0);
    for (int64_t i = 0; i < n; ++i)
        if (const int32_t k = key(i); k >= 0) ++g.at[k + 1];
    for (int32_t s = 0; s < S; ++s) g.at[s + 1] += g.at[s];
    g.items.resize(g.at[S]);
    std::vector<int32_t> next(g.at.begin(), g.at.end() - 1);
    for (int64_t i = 0; i < n; ++i)
        if (const int32_t k = key(i); k >= 0) g.items[next[k]++] = make(i);
    return g;
}

// Up to 128 categories.
struct Set {
    uint64_t bits[2];
    bool has(int32_t c) const { return bits[c >> 6 & 1] >> (c & 63) & 1; }
};

struct Node { int32_t state, start, end; };

class Pcfg {
  public:
    Pcfg(In<int32_t, 2> binary, In<float, 1> binary_scores, In<int32_t, 2> unary, In<float, 1> unary_scores,
         In<uint8_t, 1> kind, In<int32_t, 1> category, In<float, 1> limits, int32_t goal)
        : S(static_cast<int32_t>(kind.shape(0))), goal(goal), kind(kind.data(), kind.data() + kind.shape(0)),
          category(category.data(), category.data() + category.shape(0)),
          limits(limits.data(), limits.data() + limits.shape(0)) {
        const auto check = [&](In<int32_t, 2> rules, In<float, 1> scores, size_t places) {
            if (rules.shape(1) != places || scores.shape(0) != rules.shape(0)) throw nb::value_error("Pcfg: odd shapes");
            for (size_t i = 0; i < rules.shape(0) * places; ++i)
                if (rules.data()[i] < 0 || rules.data()[i] >= S) throw nb::value_error("Pcfg: no such state");
        };
        check(binary, binary_scores, 3);
        check(unary, unary_scores, 2);
        if (goal < 0 || goal >= S) throw nb::value_error("Pcfg: no such goal");
        if (limits.shape(0) != kind.shape(0) || category.shape(0) != kind.shape(0)) throw nb::value_error("Pcfg: odd limits");
        const int32_t *b = binary.data(), *u = unary.data();
        const float *w = binary_scores.data(), *v = unary_scores.data();
        const int64_t B = static_cast<int64_t>(binary.shape(0)), U = static_cast<int64_t>(unary.shape(0));
        const auto open = [&](int32_t s) { return this->kind[s] == UNFINISHED; };
        left = group<Up>(S, B, [&](int64_t i) { return open(b[3 * i + 1]) || !open(b[3 * i + 2]) ? b[3 * i + 1] : -1; },
                         [&](int64_t i) { return Up{b[3 * i], b[3 * i + 2], w[i]}; });
        right = group<Up>(S, B, [&](int64_t i) { return open(b[3 * i + 2]) && !open(b[3 * i + 1]) ? b[3 * i + 2] : -1; },
                          [&](int64_t i) { return Up{b[3 * i], b[3 * i + 1], w[i]}; });
        down = group<Down>(S, B, [&](int64_t i) { return b[3 * i]; },
                           [&](int64_t i) { return Down{b[3 * i + 1], b[3 * i + 2], w[i]}; });
        step = group<Chain>(S, U, [&](int64_t i) { return u[2 * i]; }, [&](int64_t i) { return Chain{u[2 * i + 1], v[i]}; });
        close(u, v, U);
    }

    const int32_t S, goal;
    const std::vector<uint8_t> kind;
    const std::vector<int32_t> category;  // by state, 0 … 127; for `allowed`
    const std::vector<float> limits;  // how far a state may lie below the best finished one of its span
    Grouped<Up> left, right;
    Grouped<Down> down;
    Grouped<Chain> step, chains;  // one unary rule by parent; best chains of them by child

  private:
    // Best chains: each rule joins every chain that ends in its parent with every chain that starts from its child.
    void close(const int32_t *u, const float *v, int64_t U) {
        std::vector<std::vector<Chain>> below(S), above(S);
        const auto relax = [&](int32_t p, int32_t c, float score) {
            for (Chain &x : below[p]) {
                if (x.state != c) continue;
                if (x.score >= score) return;
                x.score = score;
                for (Chain &y : above[c])
                    if (y.state == p) y.score = score;
                return;
            }
            below[p].push_back({c, score});
            above[c].push_back({p, score});
        };
        for (int32_t s = 0; s < S; ++s) relax(s, s, 0.0f);
        for (int64_t i = 0; i < U; ++i) {
            const std::vector<Chain> over = above[u[2 * i]], under = below[u[2 * i + 1]];
            for (const Chain &x : over)
                for (const Chain &y : under) relax(x.state, y.state, x.score + y.score + v[i]);
        }
        chains.at.assign(1, 0);
        for (int32_t s = 0; s < S; ++s) {
            for (const Chain &x : above[s])
                if (x.state != s) chains.items.push_back(x);
            chains.at.push_back(static_cast<int32_t>(chains.items.size()));
        }
    }
};

// One sentence's scores; kept by a thread for the next sentence.
class Chart {
  public:
    explicit Chart(const Pcfg &g) : g(g) {}

    // word: numbers of the lexicon's words, whose tags and scores are at[w] … at[w + 1] - 1.
    bool fill(int32_t words, const int32_t *word, const int64_t *at, const int32_t *tags, const float *scores,
              const Set *allowed, bool limits) {
        resize(words);
        limited = limits;
        allow = allowed;
        for (int32_t a = 0; a < n; ++a) {
            open(a, a + 1);
            for (int64_t k = at[word[a]]; k < at[word[a] + 1]; ++k) put(tags[k], scores[k]);
            finish();
        }
        for (int32_t width = 2; width <= n; ++width) {
            const int32_t last = width == n ? 0 : n - 1 - width;  // the end mark joins the whole sentence only
            for (int32_t a = 0; a <= last; ++a) {
                if (!open(a, a + width)) continue;
                for (int32_t m = a + 1; m < a + width; ++m) join(a, m, a + width);
                finish();
            }
        }
        return score(g.goal, 0, n) != NONE;
    }

    // Pre-order, unfinished states left out unless the whole derivation is asked for. False where no rule explains a score.
    bool read(int32_t state, int32_t a, int32_t b, bool whole, std::vector<Node> &out) const {
        std::vector<Node> stack{{state, a, b}};
        for (int64_t steps = 0; !stack.empty(); ++steps) {
            if (steps > 64 * static_cast<int64_t>(n)) return false;  // unary rules in a circle
            const Node x = stack.back();
            stack.pop_back();
            if (whole || g.kind[x.state] != UNFINISHED) out.push_back(x);
            if (x.end - x.start == 1 && g.kind[x.state] == TAG) continue;
            if (!expand(x, stack)) return false;
        }
        return true;
    }

    float score(int32_t state, int32_t a, int32_t b) const { return cell(a, b)[state]; }
    float below(const Node &x) const { return tops[place(x.start, x.end)] - score(x.state, x.start, x.end); }

  private:
    const Pcfg &g;
    int32_t n = 0;
    const Set *allow = nullptr;  // by span: categories that it may hold; none: all
    bool limited = true;
    std::vector<float> scores;
    std::vector<std::vector<int32_t>> found, lefts, rights;  // by span: states in it; those that rules are held by
    std::vector<float> tops;  // by span: the best score of a finished state
    std::vector<float> before;
    float *now = nullptr;
    std::vector<int32_t> *states = nullptr;
    size_t here = 0;

    static size_t place(int32_t a, int32_t b) { return static_cast<size_t>(b) * (b - 1) / 2 + a; }
    const float *cell(int32_t a, int32_t b) const { return scores.data() + place(a, b) * g.S; }

    void resize(int32_t words) {
        const size_t used = static_cast<size_t>(n) * (n + 1) / 2, spans = static_cast<size_t>(words) * (words + 1) / 2;
        for (size_t i = 0; i < used; ++i) {
            for (const int32_t s : found[i]) scores[i * g.S + s] = NONE;
            found[i].clear(), lefts[i].clear(), rights[i].clear();
        }
        if (spans > found.size()) {
            scores.assign(spans * g.S, NONE);
            found.resize(spans), lefts.resize(spans), rights.resize(spans);
        }
        tops.assign(spans, NONE);
        n = words;
    }

    bool open(int32_t a, int32_t b) {
        here = place(a, b);
        now = scores.data() + here * g.S;
        states = &found[here];
        return !allow || allow[here].bits[0] || allow[here].bits[1];
    }

    void put(int32_t s, float value) {
        if (!(value > now[s])) return;
        if (allow && !allow[here].has(g.category[s])) return;
        if (now[s] == NONE) states->push_back(s);
        now[s] = value;
    }

    void join(int32_t a, int32_t m, int32_t b) {
        const size_t l = place(a, m), r = place(m, b);
        if (found[l].empty() || found[r].empty()) return;
        const float *L = scores.data() + l * g.S, *R = scores.data() + r * g.S;
        for (const int32_t s : lefts[l]) {
            const float mine = L[s];
            for (const Up *rule = g.left.begin(s), *end = g.left.end(s); rule != end; ++rule)
                if (const float other = R[rule->other]; other != NONE) put(rule->parent, rule->score + mine + other);
        }
        for (const int32_t s : rights[r]) {
            const float mine = R[s];
            for (const Up *rule = g.right.begin(s), *end = g.right.end(s); rule != end; ++rule)
                if (const float other = L[rule->other]; other != NONE) put(rule->parent, rule->score + other + mine);
        }
    }

    void finish() {
        const size_t made = states->size();
        before.clear();
        for (const int32_t s : *states) before.push_back(now[s]);
        for (size_t i = 0; i < made; ++i) {
            const int32_t s = (*states)[i];
            const float mine = before[i];
            for (const Chain *x = g.chains.begin(s), *end = g.chains.end(s); x != end; ++x) put(x->state, mine + x->score);
        }
        drop();
        for (const int32_t s : *states) {
            if (!g.left.empty(s)) lefts[here].push_back(s);
            if (!g.right.empty(s)) rights[here].push_back(s);
        }
    }

    void drop() {
        float best = NONE;
        for (const int32_t s : *states)
            if (g.kind[s] != UNFINISHED) best = std::max(best, now[s]);
        tops[here] = best;
        if (!limited || here + 1 == tops.size()) return;  // the whole sentence loses nothing
        size_t kept = 0;
        for (const int32_t s : *states) {
            if (best - now[s] <= g.limits[s]) (*states)[kept++] = s;
            else now[s] = NONE;
        }
        states->resize(kept);
    }

    static bool matches(double x, double y) { return std::fabs(x - y) / (std::fabs(x) + std::fabs(y) + 1e-10) < 1e-5; }

    bool expand(const Node &x, std::vector<Node> &stack) const {
        const double best = score(x.state, x.start, x.end);
        for (int32_t m = x.start + 1; m < x.end; ++m) {
            const float *L = cell(x.start, m), *R = cell(m, x.end);
            for (const Down *rule = g.down.begin(x.state), *end = g.down.end(x.state); rule != end; ++rule) {
                const float value = rule->score + L[rule->left] + R[rule->right];
                if (value == NONE || !matches(value, best)) continue;
                stack.push_back({rule->right, m, x.end});
                stack.push_back({rule->left, x.start, m});
                return true;
            }
        }
        const float *C = cell(x.start, x.end);
        for (const Chain *rule = g.step.begin(x.state), *end = g.step.end(x.state); rule != end; ++rule) {
            const float value = rule->score + C[rule->state];
            if (rule->state == x.state || value == NONE || !matches(value, best)) continue;
            stack.push_back({rule->state, x.start, x.end});
            return true;
        }
        return false;
    }
};

template <typename T>
nb::capsule owner(std::vector<T> *kept) {
    return nb::capsule(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
}

nb::tuple trees(const Pcfg &g, In<int64_t, 1> first, In<int32_t, 1> words, In<int64_t, 1> at, In<int32_t, 1> tags, In<float, 1> scores,
                int64_t threads, bool whole, std::optional<In<uint64_t, 2>> allowed) {
    const int64_t n = static_cast<int64_t>(first.shape(0)) - 1;
    const int64_t *f = first.data(), *t = at.data(), known = static_cast<int64_t>(at.shape(0)) - 1;
    for (int64_t i = 0; i < n; ++i)
        if (f[i] < 0 || f[i + 1] < f[i] || f[i + 1] > static_cast<int64_t>(words.shape(0))) throw nb::value_error("trees: odd first");
    for (size_t i = 0; i < words.shape(0); ++i)
        if (words.data()[i] < 0 || words.data()[i] >= known) throw nb::value_error("trees: no such word");
    for (int64_t i = 0; i < known; ++i)
        if (t[i] < 0 || t[i + 1] < t[i] || t[i + 1] > static_cast<int64_t>(tags.shape(0))) throw nb::value_error("trees: odd at");
    for (size_t i = 0; i < tags.shape(0); ++i)
        if (tags.data()[i] < 0 || tags.data()[i] >= g.S) throw nb::value_error("trees: no such tag");
    if (allowed && (n != 1 || allowed->shape(1) != 2)) throw nb::value_error("trees: allowed is for one sentence");
    const Set *allow = allowed ? reinterpret_cast<const Set *>(allowed->data()) : nullptr;
    std::vector<std::vector<Node>> found(n);
    std::vector<std::vector<float>> below(n);
    auto *best = new std::vector<float>(n, NONE);
    nb::capsule best_owner = owner(best);
    {
        nb::gil_scoped_release release;
        parallel(n, 1, threads, 4, [&](Queue &queue) {
            Chart chart(g);
            for (int64_t i; (i = queue.take()) >= 0;) {
                const int32_t length = static_cast<int32_t>(f[i + 1] - f[i]);
                if (length < 2) continue;
                for (const bool limits : {true, false}) {  // a sentence that the limits leave without a tree has another go
                    found[i].clear();
                    if (!chart.fill(length, words.data() + f[i], t, tags.data(), scores.data(), allow, limits)) continue;
                    (*best)[i] = chart.score(g.goal, 0, length);
                    if (chart.read(g.goal, 0, length, whole, found[i])) break;
                    found[i].clear();
                }
                for (const Node &x : found[i]) below[i].push_back(chart.below(x));
            }
        });
    }
    auto *offsets = new std::vector<int64_t>(1, 0);
    nb::capsule offsets_owner = owner(offsets);
    for (const auto &nodes : found) offsets->push_back(offsets->back() + static_cast<int64_t>(nodes.size()));
    auto *flat = new std::vector<int32_t>();
    nb::capsule flat_owner = owner(flat);
    flat->reserve(3 * offsets->back());
    for (const auto &nodes : found)
        for (const Node &x : nodes) flat->insert(flat->end(), {x.state, x.start, x.end});
    auto *deep = new std::vector<float>();
    nb::capsule deep_owner = owner(deep);
    for (const auto &b : below) deep->insert(deep->end(), b.begin(), b.end());
    return nb::make_tuple(
        nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(offsets->data(), {offsets->size()}, offsets_owner),
        nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(flat->data(), {flat->size() / 3, size_t(3)}, flat_owner),
        nb::ndarray<nb::numpy, float, nb::ndim<1>>(best->data(), {best->size()}, best_owner),
        nb::ndarray<nb::numpy, float, nb::ndim<1>>(deep->data(), {deep->size()}, deep_owner));
}

}  // namespace

FABULA_KERNEL(m) {
    nb::class_<Pcfg>(m, "Pcfg", "Twin of fabula.text.pcfg.Grammar.")
        .def(nb::init<In<int32_t, 2>, In<float, 1>, In<int32_t, 2>, In<float, 1>, In<uint8_t, 1>, In<int32_t, 1>,
                      In<float, 1>, int32_t>(),
             nb::arg("binary"), nb::arg("binary_scores"), nb::arg("unary"), nb::arg("unary_scores"), nb::arg("kind"),
             nb::arg("category"), nb::arg("limits"), nb::arg("goal"))
        .def("trees", &trees, nb::arg("first"), nb::arg("words"), nb::arg("at"), nb::arg("tags"), nb::arg("scores"), nb::arg("threads"),
             nb::arg("whole") = false, nb::arg("allowed") = nb::none());
}
