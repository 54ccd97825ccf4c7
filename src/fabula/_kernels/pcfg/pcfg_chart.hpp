// The best tree of a sentence under a grammar (pcfg.hpp): CKY over spans, twin of fabula/text/spice/pcfg.py.
//
//   I[a][b][X] = max( max_{X → Y Z, a<m<b} w + I[a][m][Y] + I[m][b][Z],  max_{X ⇒ Y} w + I[a][b][Y] )     (⇒: chains)
//
// A state that lies further below the best finished state of its span than its limit is dropped. The tree is read off from
// the top, without backpointers: the first split and the first rule that explain a score within a relative 1e-5 are taken,
// as the parser does that SPICE was built on.
#pragma once

#include "pcfg.hpp"

#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace pcfg {

// Up to 128 categories.
struct Set {
    uint64_t bits[2];
    bool has(uint32_t c) const { return bits[c >> 6 & 1] >> (c & 63) & 1; }
};

struct Node { int32_t state, start, end; };

// P[·] = max(P[·], base + R[·]); lanes come in fours, and lines begin at a multiple of 16 bytes.
inline void raise(float *P, const float *R, float base, uint32_t lanes) {
#if defined(__SSE2__)
    const __m128 w = _mm_set1_ps(base);
    for (uint32_t e = 0; e < lanes; e += 4) _mm_store_ps(P + e, _mm_max_ps(_mm_add_ps(w, _mm_load_ps(R + e)), _mm_load_ps(P + e)));
#else
    for (uint32_t e = 0; e < lanes; ++e) P[e] = base + R[e] > P[e] ? base + R[e] : P[e];
#endif
}

// The same for any number of lanes, wherever they lie.
inline void raise_all(float *P, const float *R, float base, uint32_t lanes) {
    for (uint32_t e = 0; e < lanes; ++e) P[e] = base + R[e] > P[e] ? base + R[e] : P[e];
}

// P[·] = −∞ where it lies further below the best than the limit; true if anything is left.
inline bool drop(float *P, const float *best, float limit, uint32_t lanes) {
#if defined(__SSE2__)
    const __m128 most = _mm_set1_ps(limit), none = _mm_set1_ps(NONE);
    int any = 0;
    for (uint32_t e = 0; e < lanes; e += 4) {
        const __m128 x = _mm_load_ps(P + e), keep = _mm_cmple_ps(_mm_sub_ps(_mm_loadu_ps(best + e), x), most);
        any |= _mm_movemask_ps(keep);
        _mm_store_ps(P + e, _mm_or_ps(_mm_and_ps(keep, x), _mm_andnot_ps(keep, none)));
    }
    return any != 0;
#else
    bool any = false;
    for (uint32_t e = 0; e < lanes; ++e) {
        const bool keep = best[e] - P[e] <= limit;
        P[e] = keep ? P[e] : NONE;
        any |= keep;
    }
    return any;
#endif
}

// One sentence's scores; kept by a thread for the next sentence.
//
// The scores of a state over all spans that begin with the same word lie in one line, a lane for each end; a row is the lines
// of one beginning. Rows are filled from the last word to the first. In a row, a span that is finished meets as a left child
// all spans that begin behind it at once, P[·] = max(P[·], w + L + R[·]) over whole lines, with −∞ where there is no tree.
//
// A state's line in the row that is filled holds what rules have made of it; what limits drop of a line that only later rows
// ask for is dropped when the row is done, for all ends at once. The lines of `shown` states hold what is kept.
class Chart {
  public:
    explicit Chart(const Grammar &g)
        : g(g), now(g.plain + 1, NONE), nothing(g.left_sides + 1), hits(HITS + g.most_rules + 1),
          reached(g.plain + 1), sources(2 * g.S + 1), open_lefts(g.S + 1), closed_lefts(g.closing + 1), left(g.S), both(g.S), right(g.S),
          special(g.S), starting(g.S), showing(g.closing) {}

    // word: numbers of the lexicon's words, whose tags and scores are at[w] … at[w + 1] - 1.
    bool fill(uint32_t words, const int32_t *word, const int64_t *at, const int32_t *tags, const float *scores, const Set *allowed, bool limits) {
        n = words, limited = limits, allow = allowed;
        stride = (n + 4) / 4 * 4;
        if (rows.size() < n) rows.resize(n);
        look_up(word, at, tags, scores);
        if (limited && !g.follows.empty()) drop_tags();
        find_edges();
        tops.assign(size_t(n) * stride, NONE);
        cells.assign(size_t(n) * stride, {0, 0});
        items_used = 0;
        for (uint32_t a = n; a-- > 0;) {
            begin(a);
            const uint32_t last = a == 0 || a == n - 1 ? n : n - 1;  // the end mark joins the whole sentence only
            for (uint32_t b = a + 1; b <= last; ++b) {
                fill_span(a, b, b < last);
                if (b < last) meet(b);
            }
            finish(a);
        }
        return value(g.goal, 0, n) != NONE;
    }

    // Pre-order, unfinished states left out unless the whole derivation is asked for. False where no rule explains a score.
    bool read(bool whole, std::vector<Node> &out) {
        std::vector<Node> stack{{static_cast<int32_t>(g.goal), 0, static_cast<int32_t>(n)}};
        for (int64_t steps = 0; !stack.empty(); ++steps) {
            if (steps > 64 * static_cast<int64_t>(n)) return false;  // unary rules in a circle
            const Node x = stack.back();
            stack.pop_back();
            if (whole || g.kind[x.state] != UNFINISHED) out.push_back({g.state[x.state], x.start, x.end});
            if (x.end - x.start == 1 && g.kind[x.state] == TAG) continue;
            if (!expand(x, stack)) return false;
        }
        return true;
    }

    float best() const { return value(g.goal, 0, n); }
    // How far a node lies below the best finished state of its span.
    float below(const Node &x) const { return tops[place(x.start, x.end)] - value(g.id[x.state], x.start, x.end); }

  private:
    static constexpr uint32_t SINK = 1, FIRST = 2;  // lines: nothing is line 0, what may not begin here goes to line 1
    static constexpr uint32_t HITS = 1024;          // that are gathered before they are applied
    static constexpr uint16_t SHOWN = 0x8000;       // marks the line of what is kept of a state

    struct Item { float score; uint32_t state; };
    struct Left { float score; uint32_t what; };  // a left child: its state, or the first of its rules in the row to its right
    struct Line { uint32_t at; float limit; uint32_t state; };
    struct Hit { uint32_t sides; float base; };   // a rule with both of its children: the parent, and the line of the right one
    struct Cell { uint32_t first, end; };         // of `items`
    struct Entry { uint32_t next, line; float score; uint32_t parent; };

    struct Row {
        std::vector<float> scores;   // by line: lanes, the first of which is for spans that end at `from`
        std::vector<uint16_t> state; // by line; marked if it is what is kept
        std::vector<uint16_t> number;  // by state: the line of what rules make of it, 0: none
        std::vector<uint16_t> shown;   // by shown state: the line of what is kept
        uint32_t lines = 0, ready = 0;  // in use, and set to −∞
        uint32_t from = 0, length = 0;  // from: a multiple of 4, so that lines of two rows lie over each other
        std::vector<uint16_t> right;  // by right side: its line, 0: none
        std::vector<uint32_t> head;   // by finished left side: the first of the rules with right sides in this row, 0: none
        std::vector<Entry> entries;
        std::vector<uint64_t> wanted; // starts that have a rule with a right side in this row
    };

    const Grammar &g;
    uint32_t n = 0, stride = 0;
    bool limited = false;
    const Set *allow = nullptr;  // by span: categories that it may hold; none: all
    std::vector<Item> tags;      // of word a: tags_at[a] … tags_at[a + 1] − 1
    std::vector<uint32_t> tags_at;
    std::vector<float> ahead, back, links, rest;
    std::vector<uint16_t> numbers;
    Sets may_begin, may_end;     // by place between words: states of spans that may begin or end there
    std::vector<uint64_t> may;   // of the span at hand
    std::vector<Row> rows;
    Row *row = nullptr;          // the one that is filled
    const uint64_t *beginning = nullptr;
    std::vector<float> tops;     // by span: the best score of a finished state
    std::vector<Item> items;     // scores of shown states, by span
    size_t items_used = 0;
    std::vector<Cell> cells;
    std::vector<float> now;      // of the span at hand: scores of shown states, and of starts; one more that nobody reads
    std::vector<uint32_t> nothing;
    std::vector<Hit> hits;
    std::vector<uint16_t> reached;
    std::vector<Item> sources;
    std::vector<Left> open_lefts, closed_lefts;  // left children: unfinished, finished
    uint32_t opens = 0, closeds = 0;
    std::vector<Line> left, both, right, special;  // lines of the row: plain states that rules have on the left, both ways, on the right; sources
    uint32_t lefts = 0, boths = 0, rights = 0, specials = 0;
    std::vector<uint16_t> starting, showing;       // lines of starts, and of what is kept
    uint32_t startings = 0, showings = 0;

    size_t place(uint32_t a, uint32_t b) const { return size_t(a) * stride + b; }
    static uint32_t bits(float x) {
        uint32_t y;
        std::memcpy(&y, &x, sizeof y);
        return y;
    }
    static bool is_some(float x) { return bits(x) != 0xFF800000u; }  // −∞ is none

    void look_up(const int32_t *word, const int64_t *at, const int32_t *tag, const float *scores) {
        tags.clear();
        tags_at.assign(1, 0);
        for (uint32_t a = 0; a < n; ++a) {
            for (int64_t k = at[word[a]]; k < at[word[a] + 1]; ++k) tags.push_back({scores[k], g.id[tag[k]]});
            tags_at.push_back(static_cast<uint32_t>(tags.size()));
        }
    }

    // Tags whose best sequence lies further below the best of all than the limit:
    //   F[k, t] = max_s F[k − 1, s] + f(t | s) + w(k, t)     B[k, t] = max_u f(u | t) + w(k + 1, u) + B[k + 1, u]
    void drop_tags() {
        const size_t all = tags.size();
        ahead.assign(all, NONE), back.resize(all), numbers.resize(all), rest.resize(g.T);
        for (size_t k = 0; k < all; ++k) numbers[k] = g.tag[tags[k].state];
        size_t pairs = 0;
        for (uint32_t a = 1; a < n; ++a) pairs += size_t(tags_at[a] - tags_at[a - 1]) * (tags_at[a + 1] - tags_at[a]);
        links.resize(pairs);  // f, word by word, as F goes through it
        float *f = links.data();
        for (uint32_t k = 0; k < tags_at[1]; ++k) ahead[k] = g.follows[numbers[k]] + tags[k].score;
        for (uint32_t a = 1; a < n; ++a) {
            const uint32_t from = tags_at[a], here = tags_at[a + 1] - from;
            const uint16_t *const number = numbers.data() + from;
            float *const F = ahead.data() + from;
            for (uint32_t j = tags_at[a - 1]; j < from; ++j, f += here) {
                const float *const follows = g.follows.data() + size_t(numbers[j] + 1u) * g.T;
                for (uint32_t k = 0; k < here; ++k) f[k] = follows[number[k]];
                raise_all(F, f, ahead[j], here);
            }
            for (uint32_t k = 0; k < here; ++k) F[k] += tags[from + k].score;
        }
        float most = NONE;
        for (uint32_t k = tags_at[n - 1]; k < tags_at[n]; ++k) back[k] = 0, most = std::max(most, ahead[k]);
        for (uint32_t a = n - 1; a-- > 0;) {
            const uint32_t from = tags_at[a + 1], here = tags_at[a + 2] - from;
            for (uint32_t k = 0; k < here; ++k) rest[k] = tags[from + k].score + back[from + k];
            for (uint32_t j = from; j-- > tags_at[a];) {
                f -= here;
                float best = NONE;
                for (uint32_t k = 0; k < here; ++k) best = f[k] + rest[k] > best ? f[k] + rest[k] : best;
                back[j] = best;
            }
        }
        uint32_t kept = 0;
        for (uint32_t a = 0, k = 0; a < n; ++a) {
            for (; k < tags_at[a + 1]; ++k)
                if (most - (ahead[k] + back[k]) <= g.tag_limit) tags[kept++] = tags[k];
            tags_at[a + 1] = kept;
        }
        tags.resize(kept);
    }

    // A span ends where some tag of the next word may follow its state, and begins likewise.
    void find_edges() {
        may_begin.clear(n + 1, g.behind.words), may_end.clear(n + 1, g.before.words);
        may.resize(g.before.words);
        std::copy_n(g.behind.of(g.T), g.behind.words, may_begin.of(0));
        std::fill_n(may_end.of(n), g.before.words, ~uint64_t(0));
        const auto unite = [&](const Sets &sets, uint64_t *to, uint32_t a) {
            const auto of = [&](uint32_t k) { return sets.of(g.tag[tags[k].state]); };
            const uint32_t end = tags_at[a + 1];
            uint32_t k = tags_at[a];
            for (; k + 4 <= end; k += 4) {  // four at a time
                const uint64_t *const p = of(k), *const q = of(k + 1), *const r = of(k + 2), *const s = of(k + 3);
                for (size_t w = 0; w < sets.words; ++w) to[w] |= (p[w] | q[w]) | (r[w] | s[w]);
            }
            for (; k < end; ++k)
                for (size_t w = 0; w < sets.words; ++w) to[w] |= of(k)[w];
        };
        for (uint32_t a = 0; a < n; ++a) {
            unite(g.before, may_end.of(a), a);
            unite(g.behind, may_begin.of(a + 1), a);
        }
    }

    void begin(uint32_t a) {
        row = &rows[a];
        Row &r = *row;
        if (r.state.empty()) {
            r.state.resize(size_t(g.S) + g.closing + FIRST), r.number.resize(g.S), r.shown.resize(g.closing);
            r.right.resize(g.right_sides + 1), r.head.resize(g.left_sides + 1), r.wanted.resize(g.before.words);
        }
        r.from = a / 4 * 4;
        r.length = stride - r.from;
        r.lines = FIRST, r.ready = 0;
        prepare(r, 256);
        std::fill(r.number.begin(), r.number.end(), 0);
        std::fill(r.shown.begin(), r.shown.end(), 0);
        lefts = boths = rights = specials = startings = showings = 0;
        beginning = may_begin.of(a);
    }

    // The first `lines` lines are −∞ from here on, if they were not in use.
    void prepare(Row &r, size_t lines) {
        const size_t lanes = lines * r.length;
        if (r.scores.size() < lanes) fabula::room_for(lanes, sizeof(float)), r.scores.resize(lanes);
        std::fill(r.scores.begin() + size_t(r.ready) * r.length, r.scores.begin() + lanes, NONE);
        r.ready = static_cast<uint32_t>(lines);
    }

    uint32_t add_line(uint32_t state) {
        Row &r = *row;
        const uint32_t k = r.lines++;
        if (k == r.ready) prepare(r, size_t(k) + k / 4);
        r.state[k] = static_cast<uint16_t>(state);
        return k;
    }

    // A line for what rules make of a state, if it may begin here.
    uint32_t open(uint32_t state) {
        Row &r = *row;
        if (!in(beginning, state)) return r.number[state] = SINK;
        const uint32_t k = add_line(state);
        const Line line{k * r.length, g.limit[state], state};
        if (state < g.starts) special[specials++] = line;
        else if (state < g.plain_both) left[lefts++] = line;
        else if (state < g.plain_right) both[boths++] = line;
        else right[rights++] = line;
        return r.number[state] = static_cast<uint16_t>(k);
    }

    // A line for a start that rules have on the right; the sink if it may not begin here.
    uint32_t open_start(uint32_t state) {
        uint16_t &k = row->number[state];
        if (k) return k;
        if (!in(beginning, state)) return k = SINK;
        return k = starting[startings++] = static_cast<uint16_t>(add_line(state));
    }

    void show(uint32_t state, uint32_t lane, float score) {
        uint32_t k = row->shown[state];
        if (!k) {
            k = add_line(state | SHOWN);
            row->shown[state] = showing[showings++] = static_cast<uint16_t>(k);
        }
        row->scores[size_t(k) * row->length + lane] = score;
    }

    // What rules and words make of the span, chains, then limits; and which left children it has for the spans behind it.
    void fill_span(uint32_t a, uint32_t b, bool meets) {
        const bool limit = limited && b - a < n;
        const uint32_t lane = b - row->from;
        const uint64_t *const ending = may_end.of(b);
        uint64_t *const may = this->may.data();
        for (size_t w = 0; w < g.before.words; ++w) may[w] = beginning[w] & ending[w];
        if (allow) hold(a, b, lane);
        float *const now = this->now.data();
        uint16_t *const reached = this->reached.data();
        Item *const sources = this->sources.data();
        uint32_t count = 0, states = 0;
        float best = NONE;
        {
            const float *const scores = row->scores.data() + lane;
            const Line *const special = this->special.data();
            for (uint32_t i = 0, end = specials; i < end; ++i) {
                const float x = scores[special[i].at];
                sources[count] = {x, special[i].state};
                count += is_some(x);
            }
        }
        const uint32_t made = count;
        if (b == a + 1)
            for (uint32_t k = tags_at[a]; k < tags_at[b]; ++k)
                if (in(may, tags[k].state)) sources[count++] = tags[k];
        if (b == a + 1 || g.mixed < g.closing)
            for (uint32_t i = 0; i < count; ++i) {
                const uint32_t s = sources[i].state;
                if (s >= g.closing || !in(may, s)) continue;
                const float x = sources[i].score;
                if (!is_some(now[s])) reached[states++] = static_cast<uint16_t>(s);
                now[s] = std::max(now[s], x);
                if (s < g.unfinished) best = std::max(best, x);
            }
        if (b == a + 1)
            for (uint32_t i = made; i < count; ++i) {
                const uint32_t s = sources[i].state;
                for (const Rise *x = g.rises.data() + g.ways[s].right, *end = g.rises.data() + g.ways[s].end; x != end; ++x)
                {
                    const size_t k = open_start(x->state);
                    float &to = row->scores[k * row->length + lane];
                    to = std::max(to, sources[i].score + x->score);
                }
            }
        const float least = limit ? 0.01f : std::numeric_limits<float>::infinity();  // more than rounding
        const Rise *const rises = g.rises.data();
        const Ways *const ways = g.ways.data();
        const uint32_t unfinished = g.unfinished;
        for (uint32_t i = 0; i < count; ++i) {
            const float from = sources[i].score;
            const Ways &way = ways[sources[i].state];
            for (const Rise *x = rises + way.shown, *end = rises + way.left; x != end; ++x) {
                const float score = from + x->score;
                if (best - score - x->limit > least) break;
                const uint32_t s = x->state;
                const float old = now[s];
                if (!(score > old) || !in(may, s)) continue;
                reached[states] = static_cast<uint16_t>(s);
                states += !is_some(old);
                now[s] = score;
                if (score > best && s < unfinished) best = score;
            }
        }
        tops[place(a, b)] = best;
        const float top = limit ? best : NONE;
        keep_shown(a, b, lane, top, states, meets ? rows[b].head.data() : nothing.data());
        if (meets) {
            find_starts(b, count, top);
            const float *const scores = row->scores.data() + lane;
            Left *const out = open_lefts.data();
            uint32_t opens = this->opens;
            const auto keep = [&](const Line *lines, uint32_t count) {
                for (uint32_t i = 0; i < count; ++i) {
                    const float x = scores[lines[i].at];
                    out[opens] = {x, lines[i].state};
                    opens += top - x <= lines[i].limit;
                }
            };
            keep(left.data(), lefts);
            keep(both.data(), boths);
            this->opens = opens;
        }
    }

    void keep_shown(uint32_t a, uint32_t b, uint32_t lane, float top, uint32_t states, const uint32_t *head) {
        if (items.size() < items_used + states) items.resize(2 * items.size() + states + 1024);
        Item *const out = items.data() + items_used;
        Left *const closed_lefts = this->closed_lefts.data();
        const uint16_t *const reached = this->reached.data(), *const left_of = g.left_of.data();
        float *const now = this->now.data();
        uint32_t kept = 0, closeds = 0, opens = 0;
        for (uint32_t i = 0; i < states; ++i) {
            const uint32_t s = reached[i];
            const float x = now[s];
            now[s] = NONE;
            if (!(top - x <= g.limit[s])) continue;
            out[kept++] = {x, s};
            const uint32_t first = head[left_of[s]];
            closed_lefts[closeds] = {x, first};
            closeds += first != 0;
            if (g.right_of[s]) show(s, lane, x);
            if (s >= g.unfinished && !g.rights.empty(s)) open_lefts[opens++] = {x, s};
        }
        cells[place(a, b)] = {static_cast<uint32_t>(items_used), static_cast<uint32_t>(items_used + kept)};
        items_used += kept;
        this->closeds = closeds, this->opens = opens;
    }

    // Starts that have a rule with something behind the span.
    void find_starts(uint32_t b, uint32_t count, float top) {
        const uint64_t *const wanted = rows[b].wanted.data();
        uint64_t *const may = this->may.data();
        for (size_t w = g.left_starts / 64; w < this->may.size(); ++w) may[w] &= wanted[w];
        const Rise *const rises = g.rises.data();
        const Ways *const ways = g.ways.data();
        const Item *const sources = this->sources.data();
        uint16_t *const reached = this->reached.data();
        float *const now = this->now.data();
        const uint32_t nobody = g.plain;
        uint32_t states = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const float from = sources[i].score;
            const Ways &way = ways[sources[i].state];
            for (const Rise *x = rises + way.left, *end = rises + way.right; x != end; ++x) {
                const float score = from + x->score;
                if (top - score - x->limit > 0.01f) break;
                const uint32_t s = x->state;
                const float old = now[s];
                const bool more = (score > old) & in(may, s);
                reached[states] = static_cast<uint16_t>(s);
                states += more & !is_some(old);
                now[more ? s : nobody] = score;
            }
        }
        now[nobody] = NONE;
        Left *const out = open_lefts.data();
        uint32_t opens = this->opens;
        for (uint32_t i = 0; i < states; ++i) {
            const uint32_t s = reached[i];
            out[opens] = {now[s], s};
            opens += top - now[s] <= g.limit[s];
            now[s] = NONE;
        }
        this->opens = opens;
    }

    // The span at hand, which ends at m, with all spans that begin there.
    void meet(uint32_t m) {
        switch (rows[m].length / 4) {
            case 1: return join<4>(m);
            case 2: return join<8>(m);
            case 3: return join<12>(m);
            case 4: return join<16>(m);
            case 5: return join<20>(m);
            default: return join<0>(m);
        }
    }

    // LANES: how long the lines of the spans behind are, 0 where it is not known before.
    template <uint32_t LANES> void join(uint32_t m) {
        const Row &behind = rows[m];
        const uint32_t shift = behind.from - row->from, length = LANES ? LANES : behind.length, mine = row->length;
        const float *const R = behind.scores.data();
        const uint16_t *const number = row->number.data();
        float *P = row->scores.data() + shift;
        const auto apply = [&](uint32_t parent, uint32_t line, float base) {
            uint32_t k = number[parent];
            if (!k) k = open(parent), P = row->scores.data() + shift;
            raise(P + size_t(k) * mine, R + line, base, length);
        };
        const uint16_t *const right = behind.right.data();
        const Side *const rules = g.rights.items.data();
        const uint32_t *const at = g.rights.at.data();
        Hit *const hits = this->hits.data();
        uint32_t found = 0;
        const auto flush = [&] {
            for (const Hit *hit = hits, *end = hits + found; hit != end; ++hit) apply(parent_of(hit->sides), number_of(hit->sides) * length, hit->base);
            found = 0;
        };
        for (const Left *left = open_lefts.data(), *end = left + opens; left != end; ++left) {
            const float score = left->score;
            for (const Side *rule = rules + at[left->what], *last = rules + at[left->what + 1]; rule != last; rule += 4)
                for (int k = 0; k < 4; ++k) {
                    const uint32_t sides = rule[k].sides, line = right[number_of(sides)];
                    hits[found] = {(sides & ~0xFFFFu) | line, rule[k].score + score};
                    found += line != 0;
                }
            if (found >= HITS) flush();
        }
        flush();
        const Entry *const entries = behind.entries.data();
        for (const Left *left = closed_lefts.data(), *end = left + closeds; left != end; ++left)
            for (uint32_t e = left->what; e; e = entries[e].next) apply(entries[e].parent, entries[e].line, entries[e].score + left->score);
    }

    // What only later rows ask for: starts on the right, limits, and which rules there are for what stands before.
    void finish(uint32_t a) {
        Row &r = *row;
        if (a) {
            for (uint32_t i = 0; i < specials; ++i) {
                const Ways &way = g.ways[special[i].state];
                for (const Rise *x = g.rises.data() + way.right, *end = g.rises.data() + way.end; x != end; ++x) {
                    const size_t k = open_start(x->state);
                    raise(r.scores.data() + k * r.length, r.scores.data() + special[i].at, x->score, r.length);
                }
            }
            if (allow) hold_starts(a);
            std::fill(r.right.begin(), r.right.end(), 0);
            std::fill(r.head.begin(), r.head.end(), 0);
            std::fill(r.wanted.begin(), r.wanted.end(), 0);
            uint32_t entries = 1, *const head = r.head.data();
            uint64_t *const wanted = r.wanted.data();
            const size_t from = g.left_starts / 64, words = r.wanted.size();
            const float *const top = tops.data() + place(a, r.from);
            const auto offer = [&](uint32_t k, uint32_t s, bool dropped) {
                const uint32_t at = k * r.length;
                if (dropped && limited && !drop(r.scores.data() + at, top, g.limit[s], r.length)) return;
                const uint32_t side = g.right_of[s];
                if (!side) return;
                r.right[side] = static_cast<uint16_t>(k);
                if (side <= g.open_sides) {
                    const uint64_t *const some = g.wanted.of(side);
                    for (size_t w = from; w < words; ++w) wanted[w] |= some[w];
                }
                const Side *rule = g.lefts.begin(s), *const end = g.lefts.end(s);
                if (const size_t more = entries + static_cast<size_t>(end - rule); r.entries.size() < more) r.entries.resize(2 * more + 1024);
                for (Entry *out = r.entries.data() + entries; rule != end; ++rule, ++out) {
                    uint32_t &first = head[number_of(rule->sides)];
                    *out = {first, at, rule->score, parent_of(rule->sides)};
                    first = entries++;
                }
            };
            for (uint32_t i = 0; i < startings; ++i) offer(starting[i], r.state[starting[i]], true);
            for (uint32_t i = 0; i < boths; ++i) offer(r.number[both[i].state], both[i].state, true);
            for (uint32_t i = 0; i < rights; ++i) offer(r.number[right[i].state], right[i].state, true);
            for (uint32_t i = 0; i < showings; ++i) offer(showing[i], r.state[showing[i]] & ~SHOWN, false);
        }
    }

    // Only categories that the span may hold.
    void hold(uint32_t a, uint32_t b, uint32_t lane) {
        const Set &some = allow[size_t(b) * (b - 1) / 2 + a];
        for (uint32_t s = 0; s < g.plain; ++s)
            if (!some.has(g.category[s])) may[s / 64] &= ~(uint64_t(1) << s % 64);
        for (uint32_t k = FIRST; k < row->lines; ++k)
            if (const uint32_t s = row->state[k]; !(s & SHOWN) && !some.has(g.category[s])) row->scores[size_t(k) * row->length + lane] = NONE;
    }

    void hold_starts(uint32_t a) {
        for (uint32_t i = 0; i < startings; ++i)
            for (uint32_t b = a + 1; b <= n; ++b)
                if (!allow[size_t(b) * (b - 1) / 2 + a].has(g.category[row->state[starting[i]]]))
                    row->scores[size_t(starting[i]) * row->length + b - row->from] = NONE;
    }

    // --- reading -----------------------------------------------------------------------------------------------------

    // What rules make of a state over a span.
    float made(uint32_t state, uint32_t a, uint32_t b) const {
        const Row &r = rows[a];
        const size_t k = r.number[state];
        return k > SINK ? r.scores[k * r.length + b - r.from] : NONE;
    }

    // The score of a state that is not shown.
    float hidden(uint32_t state, uint32_t a, uint32_t b) const {
        float x = NONE;
        if (state < g.starts || state >= g.plain) x = made(state, a, b);
        else {
            const uint32_t k = state - g.starts;
            const Fall *const one_word = g.falls.items.data() + g.one_word[k];
            for (const Fall *f = g.falls.begin(k); f != g.falls.end(k); ++f) {
                if (f < one_word) x = std::max(x, made(f->state, a, b) + f->score);
                if (b == a + 1)
                    for (uint32_t t = tags_at[a]; t < tags_at[b]; ++t)
                        if (tags[t].state == f->state) x = std::max(x, tags[t].score + f->score);
            }
            if (allow && !allow[size_t(b) * (b - 1) / 2 + a].has(g.category[state])) return NONE;
        }
        return limited && b - a < n && !(tops[place(a, b)] - x <= g.limit[state]) ? NONE : x;
    }

    float value(uint32_t state, uint32_t a, uint32_t b) const {
        if (state < g.closing) {
            const Cell &cell = cells[place(a, b)];
            for (uint32_t i = cell.first; i < cell.end; ++i)
                if (items[i].state == state) return items[i].score;
            return NONE;
        }
        return hidden(state, a, b);
    }

    // The score of the right child of a rule.
    float value_behind(const Binary &rule, uint32_t m, uint32_t b) const {
        const Row &r = rows[m];
        const uint32_t k = r.right[g.right_of[rule.right]];
        return k ? r.scores[size_t(k) * r.length + b - r.from] : NONE;
    }

    static bool matches(double x, double y) { return std::fabs(x - y) / (std::fabs(x) + std::fabs(y) + 1e-10) < 1e-5; }

    // The first split, then the first rule, that explains a score; else the first unary rule.
    bool expand(const Node &x, std::vector<Node> &stack) {
        const auto a = static_cast<uint32_t>(x.start), b = static_cast<uint32_t>(x.end);
        const double best = value(x.state, a, b);
        if (!g.down.empty(x.state)) {
            for (uint32_t m = a + 1; m < b; ++m)
                if (const Binary *rule = find_rule(x.state, best, a, m, b)) {
                    stack.push_back({rule->right, static_cast<int32_t>(m), x.end});
                    stack.push_back({rule->left, x.start, static_cast<int32_t>(m)});
                    return true;
                }
        }
        for (const Unary *rule = g.step.begin(x.state), *end = g.step.end(x.state); rule != end; ++rule) {
            if (rule->child == x.state) continue;
            const float score = rule->score + value(rule->child, a, b);
            if (score == NONE || !matches(score, best)) continue;
            stack.push_back({rule->child, x.start, x.end});
            return true;
        }
        return false;
    }

    const Binary *find_rule(uint32_t parent, double best, uint32_t a, uint32_t m, uint32_t b) {
        const Cell cell = cells[place(a, m)];
        for (uint32_t i = cell.first; i < cell.end; ++i) now[items[i].state] = items[i].score;
        const Binary *found = nullptr;
        for (const Binary *rule = g.down.begin(parent), *end = g.down.end(parent); rule != end && !found; ++rule) {
            const float R = value_behind(*rule, m, b);
            if (R == NONE) continue;
            const float L = rule->left < g.closing ? now[rule->left] : hidden(rule->left, a, m);
            if (L != NONE && matches(rule->score + L + R, best)) found = rule;
        }
        for (uint32_t i = cell.first; i < cell.end; ++i) now[items[i].state] = NONE;
        return found;
    }
};

}  // namespace pcfg
