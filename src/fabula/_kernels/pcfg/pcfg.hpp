// A probabilistic context-free grammar as the chart reads it (pcfg_chart.hpp): rules with scores, and what each state is to
// a chart. Twin of Grammar in fabula/text/spice/pcfg.py.
#pragma once

#include "check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace pcfg {

constexpr float NONE = -std::numeric_limits<float>::infinity();
constexpr float MOST = std::numeric_limits<float>::max();
enum Kind : uint8_t { PHRASE, TAG, UNFINISHED };
// What a grammar and a sentence may have, as in the twin: time grows with the cube of the words, chains with the square of the rules.
constexpr size_t MOST_STATES = 32766, MOST_TAGS = 4096, MOST_RULES = 1 << 22, MOST_CATEGORIES = 128, MOST_WORDS = 512;
constexpr size_t MOST_JOINS = 1 << 22;  // of unary rules with chains

template <class T> struct Span {
    const T *data = nullptr;
    size_t size = 0;
    const T &operator[](size_t k) const { return data[k]; }
};

// Items grouped by a number, in the order in which they came.
template <class T> struct Grouped {
    std::vector<uint32_t> at{0};
    std::vector<T> items;
    const T *begin(size_t k) const { return items.data() + at[k]; }
    const T *end(size_t k) const { return items.data() + at[k + 1]; }
    bool empty(size_t k) const { return at[k] == at[k + 1]; }
    void close() { at.push_back(static_cast<uint32_t>(items.size())); }  // what was put since belongs to the next number
};

template <class T, class Key, class Make> Grouped<T> group(size_t groups, size_t n, const Key &key, const Make &make) {
    Grouped<T> g;
    g.at.assign(groups + 1, 0);
    for (size_t i = 0; i < n; ++i) ++g.at[key(i) + 1];
    for (size_t k = 0; k < groups; ++k) g.at[k + 1] += g.at[k];
    g.items.resize(g.at[groups]);
    std::vector<uint32_t> next(g.at.begin(), g.at.end() - 1);
    for (size_t i = 0; i < n; ++i) g.items[next[key(i)]++] = make(i);
    return g;
}

// Sets of 0 … bits − 1.
class Sets {
  public:
    Sets() = default;
    Sets(size_t sets, size_t bits) : words((bits + 63) / 64), data_(sets * words) {}
    size_t words = 0;
    void add(size_t set, size_t bit) { data_[set * words + bit / 64] |= uint64_t(1) << bit % 64; }
    bool has(size_t set, size_t bit) const { return data_[set * words + bit / 64] >> bit % 64 & 1; }
    const uint64_t *of(size_t set) const { return data_.data() + set * words; }
    uint64_t *of(size_t set) { return data_.data() + set * words; }
    // True if the set has grown.
    bool join(size_t set, const Sets &from, size_t other) {
        uint64_t more = 0;
        for (size_t w = 0; w < words; ++w) {
            uint64_t &mine = data_[set * words + w];
            more |= from.data_[other * words + w] & ~mine;
            mine |= from.data_[other * words + w];
        }
        return more != 0;
    }
    // As many sets, all empty.
    void clear(size_t sets, size_t width) { words = width, data_.assign(sets * width, 0); }

  private:
    std::vector<uint64_t> data_;
};

inline bool in(const uint64_t *set, uint32_t k) { return set[k >> 6] >> (k & 63) & 1; }

struct Binary { uint16_t left, right; float score; };  // by parent
struct Unary { uint16_t child; float score; };         // by parent
struct Side { uint32_t sides; float score; };          // by one side of a rule: the parent, and the number of the other side
constexpr uint32_t pack(uint32_t parent, uint32_t number) { return parent << 16 | number; }
constexpr uint32_t parent_of(uint32_t sides) { return sides >> 16; }
constexpr uint32_t number_of(uint32_t sides) { return sides & 0xFFFF; }
struct Rise { uint32_t state; float score, limit; };   // a chain of unary rules to a state, which has a limit
struct Fall { uint32_t state; float score; };          // a chain of unary rules from a state
struct Ways { uint32_t shown, left, right, end; };     // where a source's chains lie in `rises`: to shown states, to starts

// What a grammar is made of; rows of rules are (parent, left, right) and (parent, child).
struct Given {
    Span<int32_t> binary, unary;
    Span<float> binary_scores, unary_scores;
    Span<uint8_t> kind;
    Span<int32_t> category;  // by state, 0 … 127; for `allowed`
    Span<float> limits;      // how far a state may lie below the best finished one of its span
    int32_t goal;
    Span<float> follows;     // [T + 1][T] scores of a tag behind another; first row: at the beginning. Empty: no such limit
    float tag_limit;         // how far the best sequence of tags with a tag may lie below the best
    bool follows_given;      // an empty table is given where there are no tags
};

// States are renumbered by what they are to a chart: a state's number says what has to be done with it.
//
//   shown     finished ones, whose best decides what a span keeps; then those that are made both by rules and by chains
//             (`mixed`), of which the later ones are unfinished: their scores are kept for every span
//   closing   made by rules, and used by chains only, which make finished states of them
//   starts    unfinished ones that only chains make, out of their first child; those that rules have on the left come last
//   plain     unfinished ones that only rules make and use: on the left, both ways, on the right
//   dead      the rest
//
// Only `shown` states are asked whether the words around them admit them. An unfinished state that those words rule out
// has no rule with the spans around it, and is the part of finished ones only that are ruled out as well.
class Grammar {
  public:
    explicit Grammar(const Given &given)
        : S(static_cast<uint32_t>(given.kind.size)), tag_limit(given.tag_limit) {
        check(given);
        number_tags(given);
        const std::vector<std::vector<Fall>> above = close(given);
        number_states(given, above);
        link_rules(given);
        link_chains(given, above);
        find_neighbours(given);
        follows.assign(given.follows.data, given.follows.data + given.follows.size);
    }

    const uint32_t S;
    const float tag_limit;
    uint32_t T = 0;     // tags
    uint32_t goal = 0;
    uint32_t mixed = 0, unfinished = 0, closing = 0, starts = 0, left_starts = 0, plain = 0, plain_both = 0, plain_right = 0,
             dead = 0;  // where each kind of states begins
    std::vector<uint16_t> state, id;  // number → state as given, and back
    std::vector<uint8_t> kind;
    std::vector<uint8_t> category;
    std::vector<float> limit;         // at most MOST
    std::vector<uint16_t> tag;        // number among the tags; only of tags
    std::vector<uint16_t> tag_state;  // and back
    Grouped<Binary> down;             // rules by parent, in the grammar's order
    Grouped<Unary> step;
    Grouped<Side> rights;             // rules with an unfinished left side, by it; other: 1 + number among the right sides
    Grouped<Side> lefts;              // rules with a finished left side, by the right one; other: 1 + number among their left sides
    std::vector<uint16_t> right_of;   // state → 1 + number among the right sides, 0: none; those of `rights` come first
    std::vector<uint16_t> left_of;    // state → 1 + number among the left sides of `lefts`
    uint32_t right_sides = 0, open_sides = 0, left_sides = 0;  // how many; of `rights`; of `lefts`
    uint32_t most_rules = 0;          // of a state in `rights`
    std::vector<Rise> rises;
    std::vector<Ways> ways;           // by source: states that rules or words make
    Grouped<Fall> falls;              // by start: sources that chains make it of, those of one word last
    std::vector<uint32_t> one_word;   // by start: where those begin
    Sets wanted;                      // by right side of `rights`: starts that have a rule with it
    Sets before, behind;              // by tag: states that may come right before it (shown ones to starts), and right behind; T: behind nothing
    std::vector<float> follows;       // [T + 1][T] scores of a tag behind another; first row: at the beginning. Empty: no such limit

  private:
    void check(const Given &g) const {
        using fabula::require;
        require(S <= MOST_STATES, "Pcfg: more than 32,766 states");
        const auto check_rules = [&](const Span<int32_t> &rules, const Span<float> &scores, size_t places) {
            require(rules.size == scores.size * places, "Pcfg: odd shapes");
            require(scores.size <= MOST_RULES, "Pcfg: too many rules");
            require(fabula::all_finite(scores.data, scores.size), "Pcfg: a score is not finite");
            for (size_t i = 0; i < rules.size; ++i)
                require(rules[i] >= 0 && static_cast<uint32_t>(rules[i]) < S, "Pcfg: no such state");
        };
        check_rules(g.binary, g.binary_scores, 3);
        check_rules(g.unary, g.unary_scores, 2);
        require(g.goal >= 0 && static_cast<uint32_t>(g.goal) < S, "Pcfg: no such goal");
        require(g.limits.size == S && g.category.size == S, "Pcfg: odd limits");
        size_t tags = 0;
        for (size_t s = 0; s < S; ++s) {
            require(g.kind[s] <= UNFINISHED, "Pcfg: no such kind");
            require(g.category[s] >= 0 && size_t(g.category[s]) < MOST_CATEGORIES, "Pcfg: no such category");
            require(g.limits[s] > NONE, "Pcfg: a limit is no number");
            tags += g.kind[s] == TAG;
        }
        require(!std::isnan(g.tag_limit), "Pcfg: a limit is no number");
        require(tags <= MOST_TAGS, "Pcfg: too many tags");
        if (!g.follows_given) return;
        require(fabula::all_finite(g.follows.data, g.follows.size), "Pcfg: a score is not finite");
        require(g.follows.size == (tags + 1) * tags, "Pcfg: odd follows");
    }

    void number_tags(const Given &g) {
        for (uint32_t s = 0; s < S; ++s)
            if (g.kind[s] == TAG) tag_state.push_back(static_cast<uint16_t>(s));
        T = static_cast<uint32_t>(tag_state.size());
    }

    // Best chains by their lower end: each rule joins every chain that ends in its parent with every chain that starts from its child.
    std::vector<std::vector<Fall>> close(const Given &g) const {
        std::vector<std::vector<Fall>> below(S), above(S);
        const auto relax = [&](uint32_t p, uint32_t c, float score) {
            for (Fall &x : below[p]) {
                if (x.state != c) continue;
                if (x.score >= score) return;
                x.score = score;
                for (Fall &y : above[c])
                    if (y.state == p) y.score = score;
                return;
            }
            below[p].push_back({c, score});
            above[c].push_back({p, score});
        };
        for (uint32_t s = 0; s < S; ++s) relax(s, s, 0.0f);
        size_t joins = 0;
        for (size_t i = 0; i < g.unary_scores.size; ++i) {
            const std::vector<Fall> over = above[g.unary[2 * i]], under = below[g.unary[2 * i + 1]];
            joins += over.size() * under.size();
            fabula::require(joins <= MOST_JOINS, "Pcfg: too many chains of unary rules");
            for (const Fall &x : over)
                for (const Fall &y : under) relax(x.state, y.state, x.score + y.score + g.unary_scores[i]);
        }
        for (uint32_t s = 0; s < S; ++s)
            above[s].erase(std::remove_if(above[s].begin(), above[s].end(), [&](const Fall &x) { return x.state == s; }), above[s].end());
        return above;
    }

    void number_states(const Given &g, const std::vector<std::vector<Fall>> &above) {
        std::vector<uint8_t> made(S), left(S), right(S), target(S), child(S);
        for (size_t i = 0; i < g.binary_scores.size; ++i)
            made[g.binary[3 * i]] = left[g.binary[3 * i + 1]] = right[g.binary[3 * i + 2]] = 1;
        for (size_t i = 0; i < g.unary_scores.size; ++i) child[g.unary[2 * i + 1]] = 1;
        for (const auto &chains : above)
            for (const Fall &x : chains) target[x.state] = 1;
        const auto place = [&](uint32_t s) {
            const bool finished = g.kind[s] != UNFINISHED, source = !above[s].empty();
            if (!made[s]) return finished ? 0 : left[s] ? 5 : right[s] || child[s] ? 4 : 9;
            if (finished) return 1;
            if (target[s] || (source && (left[s] || right[s]))) return 2;
            if (source) return 3;
            return left[s] ? right[s] ? 7 : 6 : right[s] ? 8 : 9;
        };
        id.resize(S);
        const std::array<uint32_t *, 10> begins{nullptr, &mixed, &unfinished, &closing, &starts, &left_starts, &plain, &plain_both, &plain_right, &dead};
        for (int k = 0; k < 10; ++k) {
            if (begins[k]) *begins[k] = static_cast<uint32_t>(state.size());
            for (uint32_t s = 0; s < S; ++s)
                if (place(s) == k) id[s] = static_cast<uint16_t>(state.size()), state.push_back(static_cast<uint16_t>(s));
        }
        goal = id[g.goal];
        tag.assign(S, 0);
        for (uint32_t t = 0; t < T; ++t) tag[tag_state[t] = id[tag_state[t]]] = static_cast<uint16_t>(t);
        for (const uint16_t s : state) {
            kind.push_back(g.kind[s]);
            category.push_back(static_cast<uint8_t>(g.category[s]));
            limit.push_back(std::min(g.limits[s], MOST));
        }
    }

    void link_rules(const Given &g) {
        const auto at = [&](size_t i, int k) { return id[g.binary[3 * i + k]]; };
        const size_t B = g.binary_scores.size, U = g.unary_scores.size;
        down = group<Binary>(S, B, [&](size_t i) { return at(i, 0); }, [&](size_t i) { return Binary{at(i, 1), at(i, 2), g.binary_scores[i]}; });
        step = group<Unary>(S, U, [&](size_t i) { return id[g.unary[2 * i]]; },
                            [&](size_t i) { return Unary{id[g.unary[2 * i + 1]], g.unary_scores[i]}; });
        right_of.assign(S, 0), left_of.assign(S, 0);
        std::vector<size_t> open, finished;
        for (size_t i = 0; i < B; ++i) {
            if (at(i, 0) >= dead) continue;
            if (kind[at(i, 1)] == UNFINISHED) {
                if (uint16_t &k = right_of[at(i, 2)]; !k) k = static_cast<uint16_t>(++open_sides);
                open.push_back(i);
            } else {
                if (uint16_t &k = left_of[at(i, 1)]; !k) k = static_cast<uint16_t>(++left_sides);
                finished.push_back(i);
            }
        }
        right_sides = open_sides;
        for (const size_t i : finished)
            if (uint16_t &k = right_of[at(i, 2)]; !k) k = static_cast<uint16_t>(++right_sides);
        const Grouped<Side> some = group<Side>(S, open.size(), [&](size_t k) { return at(open[k], 1); }, [&](size_t k) {
            return Side{pack(at(open[k], 0), right_of[at(open[k], 2)]), g.binary_scores[open[k]]};
        });
        for (uint32_t s = 0; s < S; ++s) {
            rights.items.insert(rights.items.end(), some.begin(s), some.end(s));
            while (rights.items.size() % 4) rights.items.push_back({0, 0});
            rights.close();
            most_rules = std::max(most_rules, static_cast<uint32_t>(rights.end(s) - rights.begin(s)));
        }
        lefts = group<Side>(S, finished.size(), [&](size_t k) { return at(finished[k], 2); },
                            [&](size_t k) { return Side{pack(at(finished[k], 0), left_of[at(finished[k], 1)]), g.binary_scores[finished[k]]}; });
        wanted = Sets(open_sides + 1, plain);
        for (uint32_t s = left_starts; s < plain; ++s)
            for (const Side *x = rights.begin(s); x != rights.end(s); ++x) wanted.add(number_of(x->sides), s);
    }

    // A chain to a state that lies too far below the best need not be followed, nor those behind it: those that get nearest
    // to their limit come first.
    void link_chains(const Given &g, const std::vector<std::vector<Fall>> &above) {
        std::vector<std::vector<Fall>> under(plain - starts), words(plain - starts);
        ways.resize(S);
        for (uint32_t s = 0; s < S; ++s) {
            const auto put = [&](const auto &wanted) {
                const size_t from = rises.size();
                if (kind[s] == TAG || (s >= mixed && s < starts))
                    for (const Fall &x : above[state[s]])
                        if (const uint32_t t = id[x.state]; wanted(t)) rises.push_back({t, x.score, limit[t]});
                std::stable_sort(rises.begin() + static_cast<std::ptrdiff_t>(from), rises.end(),
                                 [](const Rise &x, const Rise &y) { return x.score + x.limit > y.score + y.limit; });
                return static_cast<uint32_t>(from);
            };
            ways[s].shown = put([&](uint32_t t) { return t < closing; });
            ways[s].left = put([&](uint32_t t) { return t >= left_starts && t < plain; });
            ways[s].right = put([&](uint32_t t) { return t >= starts && t < plain && right_of[t]; });
            ways[s].end = static_cast<uint32_t>(rises.size());
            if (ways[s].shown == ways[s].end && kind[s] != TAG && !(s >= mixed && s < starts)) continue;
            for (const Fall &x : above[state[s]])
                if (const uint32_t t = id[x.state]; t >= starts && t < plain) (s < mixed ? words : under)[t - starts].push_back({s, x.score});
        }
        for (size_t k = 0; k < under.size(); ++k) {
            falls.items.insert(falls.items.end(), under[k].begin(), under[k].end());
            one_word.push_back(static_cast<uint32_t>(falls.items.size()));
            falls.items.insert(falls.items.end(), words[k].begin(), words[k].end());
            falls.close();
        }
    }

    // Which tags may come right before and right behind a state: the last ones of left siblings and the first ones of right
    // siblings, its own or, at an edge, its parent's.
    void find_neighbours(const Given &g) {
        const size_t B = g.binary_scores.size, U = g.unary_scores.size;
        std::vector<std::array<uint16_t, 3>> b(B);
        std::vector<std::array<uint16_t, 2>> u(U);
        for (size_t i = 0; i < B; ++i) b[i] = {id[g.binary[3 * i]], id[g.binary[3 * i + 1]], id[g.binary[3 * i + 2]]};
        for (size_t i = 0; i < U; ++i) u[i] = {id[g.unary[2 * i]], id[g.unary[2 * i + 1]]};
        Sets first(S, T), last(S, T), next(S, T), previous(S, T);  // by state: tags
        for (uint32_t t = 0; t < T; ++t) first.add(tag_state[t], t), last.add(tag_state[t], t);
        for (bool more = true; more;) {
            more = false;
            for (const auto &[p, l, r] : b) more |= first.join(p, first, l) | last.join(p, last, r);
            for (const auto &[p, c] : u) more |= first.join(p, first, c) | last.join(p, last, c);
        }
        for (const auto &[p, l, r] : b) next.join(l, first, r), previous.join(r, last, l);
        for (bool more = true; more;) {
            more = false;
            for (const auto &[p, l, r] : b) more |= next.join(r, next, p) | previous.join(l, previous, p);
            for (const auto &[p, c] : u) more |= next.join(c, next, p) | previous.join(c, previous, p);
        }
        before = Sets(T, plain), behind = Sets(T + 1, S);
        for (uint32_t s = 0; s < S; ++s)
            for (uint32_t t = 0; t < T; ++t) {
                if (s < plain && next.has(s, t)) before.add(t, s);
                if (previous.has(s, t)) behind.add(t, s);
            }
        behind.add(T, goal);
        for (bool more = true; more;) {
            more = false;
            const auto go_down = [&](uint32_t parent, uint32_t child) {
                if (!behind.has(T, parent) || behind.has(T, child)) return;
                behind.add(T, child);
                more = true;
            };
            for (const auto &[p, l, r] : b) go_down(p, l);
            for (const auto &[p, c] : u) go_down(p, c);
        }
    }
};

}  // namespace pcfg
