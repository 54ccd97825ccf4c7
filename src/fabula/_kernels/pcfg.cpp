// The best tree of a sentence under a probabilistic context-free grammar: CKY over spans, twin of fabula/text/spice/pcfg.py.
//
//   I[a][b][X] = max( max_{X → Y Z, a<m<b} w + I[a][m][Y] + I[m][b][Z],  max_{X ⇒ Y} w + I[a][b][Y] )     (⇒: chains)
//
// A state that lies further below the best finished state of its span than its limit is dropped. The tree is read off from
// the top, without backpointers: the first split and the first rule that explain a score within a relative 1e-5 are taken,
// as the parser does that SPICE was built on.
#include "check.hpp"
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
// What a grammar and a sentence may have, as in the twin: time grows with the cube of the words, chains with the square of the rules.
constexpr size_t MOST_STATES = 65534, MOST_TAGS = 4096, MOST_RULES = 1 << 22, MOST_CATEGORIES = 128, MOST_WORDS = 512;
constexpr size_t MOST_JOINS = 1 << 22;  // of unary rules with chains

struct Up { uint16_t parent, other; float score; };  // from the left child, with its sibling
struct Down { int32_t left, right; float score; };   // from the parent
struct Chain { int32_t state; float score; };
struct Rise { int32_t state; float score, limit; };  // a chain of unary rules to a state that has a limit

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
    for (int64_t i = 0; i < n; ++i) ++g.at[key(i) + 1];
    for (int32_t s = 0; s < S; ++s) g.at[s + 1] += g.at[s];
    g.items.resize(g.at[S]);
    std::vector<int32_t> next(g.at.begin(), g.at.end() - 1);
    for (int64_t i = 0; i < n; ++i) g.items[next[key(i)]++] = make(i);
    return g;
}

// Up to 128 categories.
struct Set {
    uint64_t bits[2];
    bool has(int32_t c) const { return bits[c >> 6 & 1] >> (c & 63) & 1; }
};

struct Node { int32_t state, start, end; };

// Sets of 0 … bits − 1.
class Sets {
  public:
    Sets() = default;
    Sets(size_t sets, size_t bits) : words((bits + 63) / 64), data(sets * words) {}
    void add(size_t set, size_t bit) { data[set * words + bit / 64] |= uint64_t(1) << bit % 64; }
    bool has(size_t set, size_t bit) const { return data[set * words + bit / 64] >> bit % 64 & 1; }
    const uint64_t *of(size_t set) const { return data.data() + set * words; }
    // True if the set has grown.
    bool join(size_t set, const Sets &from, size_t other) {
        uint64_t more = 0;
        for (size_t w = 0; w < words; ++w) {
            uint64_t &mine = data[set * words + w];
            more |= from.data[other * words + w] & ~mine;
            mine |= from.data[other * words + w];
        }
        return more != 0;
    }
    void fill(size_t set) { std::fill_n(data.data() + set * words, words, ~uint64_t(0)); }

  private:
    size_t words = 0;
    std::vector<uint64_t> data;
};

class Pcfg {
  public:
    Pcfg(In<int32_t, 2> binary, In<float, 1> binary_scores, In<int32_t, 2> unary, In<float, 1> unary_scores,
         In<uint8_t, 1> kind, In<int32_t, 1> category, In<float, 1> limits, int32_t goal,
         std::optional<In<float, 2>> follows, float tag_limit)
        : S(static_cast<int32_t>(kind.shape(0))), goal(goal), kind(kind.data(), kind.data() + kind.shape(0)),
          category(category.data(), category.data() + category.shape(0)),
          limits(limits.data(), limits.data() + limits.shape(0)), tag_limit(tag_limit) {
        fabula::all_aligned(binary, binary_scores, unary, unary_scores, kind, category, limits);
        const size_t states = kind.shape(0);
        if (states > MOST_STATES) throw nb::value_error("Pcfg: more than 65,534 states");
        const auto check = [&](const In<int32_t, 2> &rules, const In<float, 1> &scores, size_t places) {
            if (rules.shape(1) != places || scores.shape(0) != rules.shape(0)) throw nb::value_error("Pcfg: odd shapes");
            if (rules.shape(0) > MOST_RULES) throw nb::value_error("Pcfg: too many rules");
            if (!fabula::all_finite(scores.data(), scores.size())) throw nb::value_error("Pcfg: a score is not finite");
            for (size_t i = 0; i < rules.shape(0) * places; ++i)
                if (rules.data()[i] < 0 || rules.data()[i] >= S) throw nb::value_error("Pcfg: no such state");
        };
        check(binary, binary_scores, 3);
        check(unary, unary_scores, 2);
        if (goal < 0 || goal >= S) throw nb::value_error("Pcfg: no such goal");
        if (limits.shape(0) != states || category.shape(0) != states) throw nb::value_error("Pcfg: odd limits");
        for (size_t s = 0; s < states; ++s) {
            if (this->kind[s] > UNFINISHED) throw nb::value_error("Pcfg: no such kind");
            if (this->category[s] < 0 || size_t(this->category[s]) >= MOST_CATEGORIES) throw nb::value_error("Pcfg: no such category");
            if (!(this->limits[s] > NONE)) throw nb::value_error("Pcfg: a limit is no number");
        }
        if (std::isnan(tag_limit)) throw nb::value_error("Pcfg: a limit is no number");
        if (size_t(std::count(this->kind.begin(), this->kind.end(), TAG)) > MOST_TAGS) throw nb::value_error("Pcfg: too many tags");
        tag.assign(S, -1);
        for (int32_t s = 0; s < S; ++s)
            if (this->kind[s] == TAG) tag[s] = T++;
        if (follows) {
            fabula::aligned(*follows);
            if (!fabula::all_finite(follows->data(), follows->size())) throw nb::value_error("Pcfg: a score is not finite");
            if (follows->shape(0) != size_t(T) + 1 || follows->shape(1) != size_t(T)) throw nb::value_error("Pcfg: odd follows");
            this->follows.assign(follows->data(), follows->data() + follows->size());
        }
        const int32_t *b = binary.data(), *u = unary.data();
        const float *w = binary_scores.data(), *v = unary_scores.data();
        const int64_t B = static_cast<int64_t>(binary.shape(0)), U = static_cast<int64_t>(unary.shape(0));
        left = group<Up>(S, B, [&](int64_t i) { return b[3 * i + 1]; },
                         [&](int64_t i) { return Up{uint16_t(b[3 * i]), uint16_t(b[3 * i + 2]), w[i]}; });
        down = group<Down>(S, B, [&](int64_t i) { return b[3 * i]; },
                           [&](int64_t i) { return Down{b[3 * i + 1], b[3 * i + 2], w[i]}; });
        step = group<Chain>(S, U, [&](int64_t i) { return u[2 * i]; }, [&](int64_t i) { return Chain{u[2 * i + 1], v[i]}; });
        close(u, v, U);
        neighbours(b, B, u, U);
    }

    const int32_t S, goal;
    const std::vector<uint8_t> kind;
    const std::vector<int32_t> category;  // by state, 0 … 127; for `allowed`
    const std::vector<float> limits;  // how far a state may lie below the best finished one of its span
    const float tag_limit;  // how far the best sequence of tags with a tag may lie below the best
    int32_t T = 0;
    std::vector<int32_t> tag;    // state → number among the tags, −1: none
    std::vector<float> follows;  // [T + 1][T] scores of a tag behind another; first row: at the beginning. Empty: no such limit
    Sets before, behind;         // by tag: states of spans that may come right before or behind it; T: behind nothing
    Grouped<Up> left;
    Grouped<Down> down;
    Grouped<Chain> step;   // one unary rule, by parent
    Grouped<Rise> chains;  // best chains of them by child; those that get nearest to their limit first

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
        size_t joins = 0;
        for (int64_t i = 0; i < U; ++i) {
            const std::vector<Chain> over = above[u[2 * i]], under = below[u[2 * i + 1]];
            joins += over.size() * under.size();
            if (joins > MOST_JOINS) throw nb::value_error("Pcfg: too many chains of unary rules");
            for (const Chain &x : over)
                for (const Chain &y : under) relax(x.state, y.state, x.score + y.score + v[i]);
        }
        chains.at.assign(1, 0);
        for (int32_t s = 0; s < S; ++s) {
            for (const Chain &x : above[s])
                if (x.state != s) chains.items.push_back({x.state, x.score, limits[x.state]});
            std::stable_sort(chains.items.begin() + chains.at.back(), chains.items.end(),
                             [](const Rise &x, const Rise &y) { return x.score + x.limit > y.score + y.limit; });
            chains.at.push_back(static_cast<int32_t>(chains.items.size()));
        }
    }

    // Which tags may come right before and right behind a state: the last ones of left siblings and the first ones of right
    // siblings, its own or, at an edge, its parent's.
    void neighbours(const int32_t *b, int64_t B, const int32_t *u, int64_t U) {
        Sets first(S, T), last(S, T), next(S, T), previous(S, T);  // by state: tags
        for (int32_t s = 0; s < S; ++s)
            if (tag[s] >= 0) first.add(s, tag[s]), last.add(s, tag[s]);
        for (bool more = true; more;) {
            more = false;
            for (int64_t i = 0; i < B; ++i) {
                more |= first.join(b[3 * i], first, b[3 * i + 1]);
                more |= last.join(b[3 * i], last, b[3 * i + 2]);
            }
            for (int64_t i = 0; i < U; ++i) {
                more |= first.join(u[2 * i], first, u[2 * i + 1]);
                more |= last.join(u[2 * i], last, u[2 * i + 1]);
            }
        }
        for (int64_t i = 0; i < B; ++i) {
            next.join(b[3 * i + 1], first, b[3 * i + 2]);
            previous.join(b[3 * i + 2], last, b[3 * i + 1]);
        }
        for (bool more = true; more;) {
            more = false;
            for (int64_t i = 0; i < B; ++i) {
                more |= next.join(b[3 * i + 2], next, b[3 * i]);
                more |= previous.join(b[3 * i + 1], previous, b[3 * i]);
            }
            for (int64_t i = 0; i < U; ++i) {
                more |= next.join(u[2 * i + 1], next, u[2 * i]);
                more |= previous.join(u[2 * i + 1], previous, u[2 * i]);
            }
        }
        before = Sets(T, S), behind = Sets(T + 1, S);
        for (int32_t s = 0; s < S; ++s)
            for (int32_t t = 0; t < T; ++t) {
                if (next.has(s, t)) before.add(t, s);
                if (previous.has(s, t)) behind.add(t, s);
            }
        behind.add(T, goal);
        for (bool more = true; more;) {
            more = false;
            const auto go_down = [&](int32_t parent, int32_t child) {
                if (!behind.has(T, parent) || behind.has(T, child)) return;
                behind.add(T, child);
                more = true;
            };
            for (int64_t i = 0; i < B; ++i) go_down(b[3 * i], b[3 * i + 1]);
            for (int64_t i = 0; i < U; ++i) go_down(u[2 * i], u[2 * i + 1]);
        }
    }
};

// One sentence's scores; kept by a thread for the next sentence.
//
// The scores of a state over all spans that begin with the same word lie in one line, a lane for each end; a row is the lines
// of one beginning. Rows are filled from the last word to the first. In a row, a span that is finished meets as a left child
// all spans that begin behind it at once, P[·] = max(P[·], w + L + R[·]) over whole lines, with −∞ where there is no tree.
class Chart {
  public:
    explicit Chart(const Pcfg &g) : g(g), now(g.S, NONE), states(g.S) {}

    // word: numbers of the lexicon's words, whose tags and scores are at[w] … at[w + 1] - 1.
    bool fill(int32_t words, const int32_t *word, const int64_t *at, const int32_t *tags, const float *scores,
              const Set *allowed, bool limited) {
        resize(words);
        allow = allowed;
        look_up(word, at, tags, scores);
        if (limited && !g.follows.empty()) drop_tags();
        edges();
        for (int32_t a = n - 1; a >= 0; --a) {
            begin(a);
            const int32_t last = a == 0 || a == n - 1 ? n : n - 1;  // the end mark joins the whole sentence only
            for (int32_t b = a + 1; b <= last; ++b) {
                here = place(a, b);
                ending = may_end.of(b);
                for (const int32_t s : touched[b]) put(s, take(s, b));
                if (b == a + 1)
                    for (int32_t k = word_at[a]; k < word_at[b]; ++k) put(word_tags[k].state, word_tags[k].score);
                finish(b, limited && b - a < n);
                if (b < last) meet(b);
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

    float score(int32_t state, int32_t a, int32_t b) const {
        const float *line = rows[a].line(state);
        return line ? line[b - rows[a].from] : NONE;
    }
    float below(const Node &x) const { return tops[place(x.start, x.end)] - score(x.state, x.start, x.end); }

  private:
    struct Row {
        std::vector<uint16_t> number;  // by state: 1 + number of its line; 0: none
        std::vector<int32_t> states;   // by line
        std::vector<float> scores;     // by line: lanes, the first of which is for spans that end at `from`
        std::vector<uint64_t> held;    // by line: bits of the ends for which there is a score
        int32_t from = 0, length = 0, words = 0;  // from: a multiple of 4, so that lines of two rows lie over each other

        const float *line(int32_t s) const { return number[s] ? scores.data() + (number[s] - 1) * size_t(length) : nullptr; }

        // The number of a state's line, which is made if there is none.
        size_t get(int32_t s) {
            if (!number[s]) {
                states.push_back(s);
                number[s] = static_cast<uint16_t>(states.size());
                const size_t lanes = states.size() * length, bits = states.size() * words;
                if (scores.size() < lanes) fabula::room_for(lanes, 2 * sizeof(float)), scores.resize(2 * lanes);
                if (held.size() < bits) held.resize(2 * bits);
                std::fill_n(scores.data() + lanes - length, length, NONE);
                std::fill_n(held.data() + bits - words, words, 0);
            }
            return number[s] - 1u;
        }
    };

    const Pcfg &g;
    int32_t n = 0;
    const Set *allow = nullptr;  // by span: categories that it may hold; none: all
    std::vector<Chain> word_tags;  // of word a: word_at[a] … word_at[a + 1] − 1
    std::vector<int32_t> word_at;
    std::vector<float> ahead, back;  // by tag of a word: best sequence of tags up to it, and behind it
    Sets may_begin, may_end;  // by place between words: states of spans that may begin or end there
    std::vector<Row> rows;
    Row *row = nullptr;  // the one that is filled
    std::vector<std::vector<int32_t>> touched;  // by end: states that rules have made in this row
    std::vector<float> tops;  // by span: the best score of a finished state
    std::vector<float> now;   // of the span at hand: scores by state, and which states there are
    std::vector<int32_t> states;
    int32_t count = 0;
    std::vector<float> made;
    std::vector<Chain> kept;
    size_t here = 0;
    const uint64_t *beginning = nullptr, *ending = nullptr;

    static size_t place(int32_t a, int32_t b) { return static_cast<size_t>(b) * (b - 1) / 2 + a; }
    static bool in(const uint64_t *set, int32_t s) { return set[s >> 6] >> (s & 63) & 1; }

    void resize(int32_t words) {
        for (int32_t a = 0; a < n; ++a) {
            for (const int32_t s : rows[a].states) rows[a].number[s] = 0;
            rows[a].states.clear();
        }
        n = words;
        if (rows.size() < static_cast<size_t>(n)) rows.resize(n), touched.resize(n + 1);
        tops.assign(static_cast<size_t>(n) * (n + 1) / 2, NONE);
    }

    void look_up(const int32_t *word, const int64_t *at, const int32_t *tags, const float *scores) {
        word_tags.clear();
        word_at.assign(1, 0);
        for (int32_t a = 0; a < n; ++a) {
            for (int64_t k = at[word[a]]; k < at[word[a] + 1]; ++k) word_tags.push_back({tags[k], scores[k]});
            word_at.push_back(static_cast<int32_t>(word_tags.size()));
        }
    }

    // Tags whose best sequence lies further below the best of all than the limit:
    //   F[k, t] = max_s F[k − 1, s] + f(t | s) + w(k, t)     B[k, t] = max_u f(u | t) + w(k + 1, u) + B[k + 1, u]
    void drop_tags() {
        const auto f = [&](int32_t s, int32_t t) { return g.follows[size_t(s + 1) * g.T + t]; };
        const auto tag = [&](int32_t k) { return g.tag[word_tags[k].state]; };
        ahead.assign(word_tags.size(), NONE);
        back.assign(word_tags.size(), NONE);
        for (int32_t a = 0; a < n; ++a)
            for (int32_t k = word_at[a]; k < word_at[a + 1]; ++k) {
                if (a == 0) ahead[k] = f(-1, tag(k));
                else
                    for (int32_t j = word_at[a - 1]; j < word_at[a]; ++j) ahead[k] = std::max(ahead[k], ahead[j] + f(tag(j), tag(k)));
                ahead[k] += word_tags[k].score;
            }
        float best = NONE;
        for (int32_t a = n - 1; a >= 0; --a)
            for (int32_t k = word_at[a]; k < word_at[a + 1]; ++k) {
                if (a == n - 1) back[k] = 0, best = std::max(best, ahead[k]);
                else
                    for (int32_t j = word_at[a + 1]; j < word_at[a + 2]; ++j)
                        back[k] = std::max(back[k], f(tag(k), tag(j)) + (word_tags[j].score + back[j]));
            }
        int32_t kept = 0;
        for (int32_t a = 0, k = 0; a < n; ++a) {
            for (; k < word_at[a + 1]; ++k)
                if (best - (ahead[k] + back[k]) <= g.tag_limit) word_tags[kept++] = word_tags[k];
            word_at[a + 1] = kept;
        }
        word_tags.resize(kept);
    }

    // A span ends where some tag of the next word may follow its state, and begins likewise.
    void edges() {
        may_begin = Sets(n + 1, g.S), may_end = Sets(n + 1, g.S);
        may_begin.join(0, g.behind, g.T);
        may_end.fill(n);
        for (int32_t a = 0; a < n; ++a)
            for (int32_t k = word_at[a]; k < word_at[a + 1]; ++k) {
                const int32_t t = g.tag[word_tags[k].state];
                may_end.join(a, g.before, t);
                may_begin.join(a + 1, g.behind, t);
            }
    }

    void begin(int32_t a) {
        row = &rows[a];
        row->number.resize(g.S, 0);
        row->from = a / 4 * 4;
        row->length = (n + 4) / 4 * 4 - row->from;
        row->words = n / 64 + 1;
        beginning = may_begin.of(a);
        for (auto &some : touched) some.clear();
    }

    // The score that rules have made; its place is free again.
    float take(int32_t s, int32_t b) {
        const size_t k = row->number[s] - 1u;
        row->held[k * row->words + b / 64] &= ~(uint64_t(1) << b % 64);
        return std::exchange(row->scores[k * row->length + b - row->from], NONE);
    }

    void put(int32_t s, float value) {
        if (!(value > now[s]) || !in(beginning, s) || !in(ending, s)) return;
        if (allow && !allow[here].has(g.category[s])) return;
        if (now[s] == NONE) states[count++] = s;
        now[s] = value;
    }

    // Chains, then limits. A chain to a state that is too far below the best so far need not be put at all, nor those behind it.
    void finish(int32_t b, bool limited) {
        float best = NONE;
        const int32_t before = count;
        made.resize(before);
        for (int32_t i = 0; i < before; ++i) {
            made[i] = now[states[i]];
            if (g.kind[states[i]] != UNFINISHED) best = std::max(best, made[i]);
        }
        for (int32_t i = 0; i < before; ++i)
            for (const Rise *x = g.chains.begin(states[i]), *end = g.chains.end(states[i]); x != end; ++x) {
                const float value = made[i] + x->score, beyond = best - value - x->limit;
                if (limited && beyond > 0.01f) break;  // more than rounding
                put(x->state, value);
                if (g.kind[x->state] != UNFINISHED && now[x->state] > best) best = now[x->state];
            }
        tops[here] = best;
        kept.clear();
        const int32_t lane = b - row->from;
        for (int32_t i = 0; i < count; ++i) {
            const int32_t s = states[i];
            const float value = std::exchange(now[s], NONE);
            if (limited && best - value > g.limits[s]) continue;
            const size_t k = row->get(s);
            row->scores[k * row->length + lane] = value;
            row->held[k * row->words + b / 64] |= uint64_t(1) << b % 64;
            if (!g.left.empty(s)) kept.push_back({s, value});
        }
        count = 0;
    }

    // The span at hand, which ends at m, with all spans that begin there.
    void meet(int32_t m) {
        const Row &right = rows[m];
        const uint16_t *const number = right.number.data();
        const uint64_t *const may = beginning;
        const int32_t shift = right.from - row->from, length = right.length, words = right.words;
        for (const Chain &left : kept)
            for (const Up *rule = g.left.begin(left.state), *end = g.left.end(left.state); rule != end; ++rule) {
                const uint32_t other = number[rule->other];
                if (!other || !in(may, rule->parent)) continue;
                const size_t k = other - 1u, p = row->get(rule->parent);
                const uint64_t *ends = right.held.data() + k * words;
                uint64_t *mine = row->held.data() + p * words;
                for (int32_t w = 0; w < words; ++w) {
                    uint64_t fresh = ends[w] & ~mine[w];
                    mine[w] |= fresh;
                    for (int32_t e = 64 * w; fresh; ++e, fresh >>= 1)
                        if (fresh & 1) touched[e].push_back(rule->parent);
                }
                over(row->scores.data() + p * row->length + shift, right.scores.data() + k * length, rule->score + left.score, length);
            }
    }

    // P[·] = max(P[·], base + R[·]); lanes come in fours.
    static void over(float *__restrict P, const float *__restrict R, float base, int32_t lanes) {
        for (int32_t e = 0; e < lanes; e += 4) {
            float sum[4], old[4];
            for (int32_t i = 0; i < 4; ++i) sum[i] = base + R[e + i], old[i] = P[e + i];
            for (int32_t i = 0; i < 4; ++i) P[e + i] = sum[i] > old[i] ? sum[i] : old[i];
        }
    }

    static bool matches(double x, double y) { return std::fabs(x - y) / (std::fabs(x) + std::fabs(y) + 1e-10) < 1e-5; }

    // The first split, then the first rule, that explains a score; else the first unary rule.
    bool expand(const Node &x, std::vector<Node> &stack) const {
        const double best = score(x.state, x.start, x.end);
        const Down *found = nullptr;
        int32_t split = x.end;
        for (const Down *rule = g.down.begin(x.state), *end = g.down.end(x.state); rule != end; ++rule) {
            const float *L = rows[x.start].line(rule->left);
            for (int32_t m = x.start + 1; L && m < split; ++m) {
                const float value = rule->score + L[m - rows[x.start].from] + score(rule->right, m, x.end);
                if (value == NONE || !matches(value, best)) continue;
                found = rule;
                split = m;
            }
        }
        if (found) {
            stack.push_back({found->right, split, x.end});
            stack.push_back({found->left, x.start, split});
            return true;
        }
        for (const Chain *rule = g.step.begin(x.state), *end = g.step.end(x.state); rule != end; ++rule) {
            const float value = rule->score + score(rule->state, x.start, x.end);
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
    fabula::all_aligned(first, words, at, tags, scores);
    const auto require = [](bool holds, const char *why) {
        if (!holds) throw nb::value_error(why);
    };
    require(first.shape(0) > 0 && at.shape(0) > 0, "trees: first and at have an end each");
    require(scores.shape(0) == tags.shape(0), "trees: a score for each tag");
    require(fabula::all_finite(scores.data(), scores.size()), "trees: a score is not finite");
    const int64_t n = static_cast<int64_t>(first.shape(0)) - 1;
    const int64_t *f = first.data(), *t = at.data(), known = static_cast<int64_t>(at.shape(0)) - 1;
    const auto rises = [&](const int64_t *place, int64_t count, size_t limit, size_t step, const char *odd, const char *much) {
        require(place[0] >= 0 && place[count] <= static_cast<int64_t>(limit), odd);
        for (int64_t i = 0; i < count; ++i) require(place[i + 1] >= place[i], odd);
        for (int64_t i = 0; i < count; ++i) require(place[i + 1] - place[i] <= static_cast<int64_t>(step), much);
    };
    rises(f, n, words.shape(0), MOST_WORDS, "trees: odd first", "trees: more than 512 words in a sentence");
    rises(t, known, tags.shape(0), size_t(g.T), "trees: odd at", "trees: more tags of a word than there are");
    for (size_t i = 0; i < words.shape(0); ++i) require(words.data()[i] >= 0 && words.data()[i] < known, "trees: no such word");
    for (size_t i = 0; i < tags.shape(0); ++i)
        require(tags.data()[i] >= 0 && tags.data()[i] < g.S && g.tag[tags.data()[i]] >= 0, "trees: no such tag");
    if (allowed) {
        fabula::aligned(*allowed);
        require(n == 1 && allowed->shape(1) == 2, "trees: allowed is for one sentence");
        const auto length = static_cast<size_t>(f[1] - f[0]);
        require(allowed->shape(0) == length * (length + 1) / 2, "trees: allowed has a row for each span");
    }
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
    nb::class_<Pcfg>(m, "Pcfg", "Twin of fabula.text.spice.pcfg.Grammar.")
        .def(nb::init<In<int32_t, 2>, In<float, 1>, In<int32_t, 2>, In<float, 1>, In<uint8_t, 1>, In<int32_t, 1>,
                      In<float, 1>, int32_t, std::optional<In<float, 2>>, float>(),
             nb::arg("binary"), nb::arg("binary_scores"), nb::arg("unary"), nb::arg("unary_scores"), nb::arg("kind"),
             nb::arg("category"), nb::arg("limits"), nb::arg("goal"), nb::arg("follows") = nb::none(), nb::arg("tag_limit") = 0.0f)
        .def("trees", &trees, nb::arg("first"), nb::arg("words"), nb::arg("at"), nb::arg("tags"), nb::arg("scores"), nb::arg("threads"),
             nb::arg("whole") = false, nb::arg("allowed") = nb::none());
}
