// METEOR 1.5's aligner and score (Denkowski & Lavie 2014). Twin: fabula/text/meteor/align.py and __init__.py, which explain the rules.
//
// What differs from the twin is only how the work is arranged:
//  * paraphrases: the entries of a sentence are streamed once past the phrases of all sentences on the other side of a tile;
//  * synonyms: the synsets of a candidate are laid out once, with the words that have each, and asked for by every reference;
//  * the beam ranks light records and copies a path only once it is among the best 40;
//  * a reference word used by a path lies before its position or under a match without rival, so no bits are kept for it;
//  * if no match has a rival there is nothing to search.
#include "meteor.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace meteor {
namespace {

constexpr uint32_t CLOSED = 0xFFFFFFFF;  // no chunk is open

constexpr uint32_t mix(uint32_t number) { return number * 2654435761u; }

uint64_t bits(uint32_t start, uint32_t size) { return (size >= 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1) << start; }

std::string too_many_matches() {
    return "more than " + std::to_string(MOST_MATCHES) + " ways to match words; METEOR's search would not end; shorten the text";
}

// Why two sentences are too long to be compared; empty where they are not.
std::string too_long(uint64_t H, uint64_t R) {
    if (std::max(H, R) > MOST_WORDS)
        return std::to_string(std::max(H, R)) + " words in one text (at most " + std::to_string(MOST_WORDS) + "); shorten it";
    if (H * R > MOST_CELLS)
        return std::to_string(H) + " × " + std::to_string(R) + " words are too many for METEOR's aligner (at most " +
               std::to_string(MOST_CELLS) + "); shorten one";
    return {};
}

}  // namespace

// --- synonyms --------------------------------------------------------------------------------------------------------------

void Synsets::take(const Sentence &sentence) {
    size_t most = 0;
    for (size_t j = 0; j < sentence.size(); ++j) most += sentence.words[j]->synsets.size();
    if (slots_.size() < 2 * most) {
        size_t capacity = 512;
        while (capacity < 2 * most) capacity *= 2;
        slots_.assign(capacity, {0, 0, 0});
        turn_ = 0;
    }
    if (++turn_ == 0) std::fill(slots_.begin(), slots_.end(), Slot{0, 0, 0}), turn_ = 1;  // the count has gone round
    filter_.fill(0);
    const size_t mask = slots_.size() - 1;
    for (size_t j = 0; j < sentence.size(); ++j)
        for (const uint32_t synset : sentence.words[j]->synsets) {
            const uint32_t hash = mix(synset), bit = hash >> 20;
            filter_[bit / 64] |= uint64_t{1} << (bit % 64);
            size_t at = hash & mask;
            while (slots_[at].turn == turn_ && slots_[at].synset != synset) at = (at + 1) & mask;
            if (slots_[at].turn != turn_) slots_[at] = {synset, turn_, 0};
            slots_[at].words |= uint64_t{1} << (j % 64);
        }
}

uint64_t Synsets::shared(const Word &word) const {
    uint64_t found = 0;
    const size_t mask = slots_.size() - 1;
    for (const uint32_t synset : word.synsets) {
        const uint32_t hash = mix(synset), bit = hash >> 20;
        if (!(filter_[bit / 64] >> (bit % 64) & 1)) continue;
        for (size_t at = hash & mask; slots_[at].turn == turn_; at = (at + 1) & mask)
            if (slots_[at].synset == synset) {
                found |= slots_[at].words;
                break;
            }
    }
    return found;
}

// --- matches ---------------------------------------------------------------------------------------------------------------

void Aligner::propose(const Sentence &hyp, const Sentence &ref, const Hit *hits, size_t hit_count) {
    const uint32_t H = static_cast<uint32_t>(hyp.size()), R = static_cast<uint32_t>(ref.size());
    const bool identical = hyp.text == ref.text;
    found_.clear();
    found_start_.assign(1, 0);
    const uint32_t *h = hyp.hashes.data, *hs = hyp.stems.data;
    const Hit *hit = hits, *hits_end = hits + (identical ? 0 : hit_count);
    for (uint32_t i = 0; i < R; ++i) {
        const uint32_t word = ref.hashes[i], word_stem = ref.stems[i];
        if (hyp.hash_mask.may_have(word))
            for (uint32_t j = 0; j < H; ++j)
                if (h[j] == word) found_.push_back({i, j, 1, 1, 0});
        if (!identical) {
            if (hyp.stem_mask.may_have(word_stem))
                for (uint32_t j = 0; j < H; ++j)
                    if (hs[j] == word_stem && h[j] != word) found_.push_back({i, j, 1, 1, 1});
            const uint64_t synonyms = synsets_.shared(*ref.words[i]);  // of words 64 apart one bit speaks for both
            if (synonyms)
                for (uint32_t j = 0; j < H; ++j)
                    if (synonyms >> (j % 64) & 1 && h[j] != word && (H <= 64 || share(*hyp.words[j], *ref.words[i])))
                        found_.push_back({i, j, 1, 1, 2});
            for (; hit != hits_end && hit->ref == i; ++hit) found_.push_back(hit->match);
        }
        if (found_.size() > MOST_MATCHES) throw TooMuch(too_many_matches());
        found_start_.push_back(static_cast<uint32_t>(found_.size()));
    }
}

// Matches without a rival; returns whether any other is left to choose from.
bool Aligner::fix(size_t H, size_t R) {
    hyp_cover_.assign(H, 0);
    ref_cover_.assign(R, 0);
    for (const Match &m : found_) {
        for (uint32_t k = 0; k < m.ref_words; ++k) ++ref_cover_[m.ref + k];
        for (uint32_t k = 0; k < m.hyp_words; ++k) ++hyp_cover_[m.hyp + k];
    }
    chosen_.assign(R, -1);
    ref_fixed_.assign(R, 0);
    hyp_fixed_.assign((H + 63) / 64, 0);
    size_t fixed = 0;
    for (size_t i = 0; i < R; ++i) {
        if (found_start_[i + 1] - found_start_[i] != 1) continue;
        const Match &m = found_[found_start_[i]];
        bool alone = true;
        for (uint32_t k = 0; k < m.ref_words; ++k) alone = alone && ref_cover_[m.ref + k] == 1;
        for (uint32_t k = 0; k < m.hyp_words; ++k) alone = alone && hyp_cover_[m.hyp + k] == 1;
        if (!alone) continue;
        ++fixed;
        chosen_[i] = static_cast<int32_t>(found_start_[i]);
        for (uint32_t k = 0; k < m.ref_words; ++k) ref_fixed_[m.ref + k] = 1;
        for (uint32_t k = m.hyp; k < m.hyp + m.hyp_words; ++k) hyp_fixed_[k / 64] |= uint64_t{1} << (k % 64);
    }
    return fixed != found_.size();
}

// --- search ----------------------------------------------------------------------------------------------------------------

// Whether one word of bits is enough to know which words of the candidate are taken, and one number to rank paths, of 16, 12,
// 22 and 14 bits: matches and chunks are at most H + R, the distance at most R for each match found, the children one for
// each path and match.
bool Aligner::small(size_t H, size_t R) const {
    constexpr size_t FOUND = 400;
    static_assert((FOUND + 1) * BEAM <= 0x3FFF && FOUND * 1024 <= 0x3FFFFF);
    return H <= 64 && R <= 1024 && found_.size() <= FOUND;
}

// Whether no path is inside a match or has an open chunk: where nothing can be matched, all then stay as they are.
bool Aligner::idle(size_t count, uint32_t position) const {
    return std::all_of(paths_.begin(), paths_.begin() + static_cast<ptrdiff_t>(count),
                       [=](const Path &path) { return path.at <= position && path.open_end == CLOSED; });
}

// A match adds its words on both sides; of the modules with weight 0.5 half of them, cut to an integer on each side.
static uint32_t gain(const Match &m) { return m.module ? m.hyp_words / 2 + m.ref_words / 2 : m.hyp_words + m.ref_words; }
static uint32_t away(const Match &m) { return m.ref > m.hyp ? m.ref - m.hyp : m.hyp - m.ref; }

// The search for sentences of common length. A path's rank is one number, and a step adds to it; where a position has no
// choice every path takes one step and hardly ever changes its place.
void Aligner::search_small(size_t R) {
    constexpr uint64_t ORDER = 14, DISTANCE = uint64_t{1} << ORDER, CHUNK = uint64_t{1} << 36, MATCHED = uint64_t{1} << 48;
    if (history_.size() < BEAM * R) history_.resize(BEAM * R);
    size_t steps = 0;
    small_paths_.resize(BEAM), small_next_.resize(BEAM);
    small_paths_[0] = {0xFFFF * MATCHED, hyp_fixed_.empty() ? 0 : hyp_fixed_[0], CLOSED, 0, -1};
    size_t count = 1;  // of paths, best first
    for (uint32_t position = 0; position < R; ++position) {
        const uint32_t first = found_start_[position], last = found_start_[position + 1];
        const bool fixed = chosen_[position] >= 0;
        SmallPath *paths = small_paths_.data();
        if (first == last || fixed) {
            uint64_t before = 0;
            bool in_order = true;
            for (size_t p = 0; p < count; ++p) {
                SmallPath &path = paths[p];
                if (position >= path.at) {  // not inside a match
                    if (fixed) {
                        const Match &m = found_[first];
                        const bool breaks = path.open_end != CLOSED && path.open_end != m.hyp;
                        path.rank += away(m) * DISTANCE + breaks * CHUNK - gain(m) * MATCHED;
                        path.open_end = m.hyp + m.hyp_words, path.at = m.ref + m.ref_words;
                    } else {
                        path.rank += (path.open_end != CLOSED) * CHUNK;
                        path.open_end = CLOSED, path.at = position + 1;
                    }
                }
                in_order = in_order && before <= path.rank;
                before = path.rank;
            }
            if (!in_order)
                for (size_t p = 1; p < count; ++p) {  // of equals the earlier stays before
                    const SmallPath path = paths[p];
                    size_t at = p;
                    for (; at > 0 && path.rank < paths[at - 1].rank; --at) paths[at] = paths[at - 1];
                    paths[at] = path;
                }
            continue;
        }
        options_.clear();
        for (uint32_t k = first; k < last; ++k) {
            const Match &m = found_[k];
            bool free = true;
            for (uint32_t i = 1; i < m.ref_words; ++i) free = free && !ref_fixed_[m.ref + i];
            if (free) options_.push_back({bits(m.hyp, m.hyp_words), gain(m) * MATCHED, away(m) * DISTANCE, k, m.hyp, m.hyp + m.hyp_words, m.ref + m.ref_words});
        }
        const size_t most = count * (options_.size() + 1);
        if (children_.size() < most) children_.resize(most);
        if (small_keys_.size() < most) small_keys_.resize(most);
        Child *children = children_.data();
        uint64_t *keys = small_keys_.data();
        size_t made = 0;
        for (uint32_t p = 0; p < count; ++p) {
            const SmallPath &path = paths[p];
            uint64_t rank = path.rank;
            const auto child = [&](uint64_t its_rank, int32_t match, uint32_t open_end, uint32_t at) {
                keys[made] = its_rank | made;
                children[made++] = {p, match, open_end, at};
            };
            if (position < path.at) {  // inside a match
                child(rank, -1, path.open_end, path.at);
                continue;
            }
            const bool open = path.open_end != CLOSED;
            for (const Option &option : options_) {
                if (path.used & option.bits) continue;
                const bool breaks = open && path.open_end != option.hyp;
                child(rank + breaks * CHUNK - option.gain, static_cast<int32_t>(option.match), option.hyp_end, option.ref_end);
                rank += option.away;  // on the path that does not take it, as published
            }
            child(rank + open * CHUNK, -1, CLOSED, position + 1);
        }
        if (made > BEAM) std::nth_element(keys, keys + BEAM, keys + made), made = BEAM;
        std::sort(keys, keys + made);
        for (size_t c = 0; c < made; ++c) {
            const Child &child = children[keys[c] & (DISTANCE - 1)];
            const SmallPath &parent = paths[child.parent];
            uint64_t used = parent.used;
            int32_t step = parent.last;
            if (child.match >= 0) {
                const Match &m = found_[static_cast<size_t>(child.match)];
                used |= bits(m.hyp, m.hyp_words);
                history_[steps] = {static_cast<uint32_t>(child.match), step};
                step = static_cast<int32_t>(steps++);
            }
            small_next_[c] = {keys[c] & ~(DISTANCE - 1), used, child.open_end, child.at, step};
        }
        count = made;
        small_paths_.swap(small_next_);
    }
    // The end closes open chunks and the order is looked at once more; the first of equals stays first.
    size_t best = 0;
    uint64_t best_rank = 0;
    for (size_t p = 0; p < count; ++p) {
        const uint64_t rank = small_paths_[p].rank + (small_paths_[p].open_end != CLOSED) * CHUNK;
        if (p == 0 || rank < best_rank) best = p, best_rank = rank;
    }
    choose(small_paths_[best].last);
}

void Aligner::choose(int32_t step) {
    for (; step >= 0; step = history_[static_cast<size_t>(step)].before) {
        const uint32_t k = history_[static_cast<size_t>(step)].match;
        chosen_[found_[k].ref] = static_cast<int32_t>(k);
    }
}

// The same for any sentences.
void Aligner::search(size_t H, size_t R) {
    const size_t W = (H + 63) / 64;
    const auto is_free = [](const uint64_t *used, const Match &m) {
        for (uint32_t j = m.hyp; j < m.hyp + m.hyp_words; ++j)
            if (used[j / 64] >> (j % 64) & 1) return false;
        return true;
    };

    history_.clear();
    paths_.resize(BEAM), next_.resize(BEAM);
    paths_[0] = Path{0, 0, 0, CLOSED, 0, -1};
    size_t count = 1;  // of paths, best first
    bits_.resize(BEAM * W);
    next_bits_.resize(BEAM * W);
    std::copy(hyp_fixed_.begin(), hyp_fixed_.end(), bits_.begin());
    for (uint32_t position = 0; position < R; ++position) {
        const uint32_t first = found_start_[position], last = found_start_[position + 1];
        const bool fixed = chosen_[position] >= 0;
        if (first == last && idle(count, position)) continue;
        const size_t most = count * (last - first + 1);
        if (children_.size() < most) children_.resize(most);
        if (keys_.size() < most) keys_.resize(most);
        Child *children = children_.data();
        Key *keys = keys_.data();
        size_t made = 0;
        for (uint32_t p = 0; p < count; ++p) {
            Path path = paths_[p];
            const auto child = [&](uint32_t matched, uint32_t chunks, int32_t match, uint32_t open_end, uint32_t at) {
                keys[made] = Key(matched, chunks, path.distance, made);
                children[made++] = {p, match, open_end, at};
            };
            if (position < path.at) {  // inside a match
                child(path.matched, path.chunks, -1, path.open_end, path.at);
            } else if (fixed) {
                const Match &m = found_[first];
                path.distance += away(m);
                const bool breaks = path.open_end != CLOSED && path.open_end != m.hyp;
                child(path.matched + gain(m), path.chunks + breaks, -1, m.hyp + m.hyp_words, m.ref + m.ref_words);
            } else {
                for (uint32_t k = first; k < last; ++k) {
                    const Match &m = found_[k];
                    bool free = is_free(bits_.data() + p * W, m);
                    for (uint32_t i = 1; i < m.ref_words; ++i) free = free && !ref_fixed_[m.ref + i];
                    if (!free) continue;
                    const bool breaks = path.open_end != CLOSED && path.open_end != m.hyp;
                    const uint32_t hyp_end = m.hyp + m.hyp_words, ref_end = m.ref + m.ref_words;
                    child(path.matched + gain(m), path.chunks + breaks, static_cast<int32_t>(k), hyp_end, ref_end);
                    path.distance += away(m);  // on the path that does not take it, as published
                }
                child(path.matched, path.chunks + (path.open_end != CLOSED), -1, CLOSED, position + 1);
            }
        }
        if (made > BEAM) std::nth_element(keys, keys + BEAM, keys + made), made = BEAM;
        std::sort(keys, keys + made);
        for (size_t c = 0; c < made; ++c) {
            const Key &key = keys[c];
            const Child &child = children[key.order()];
            int32_t step = paths_[child.parent].last;
            std::copy_n(bits_.data() + child.parent * W, W, next_bits_.data() + c * W);
            if (child.match >= 0) {
                const Match &m = found_[static_cast<size_t>(child.match)];
                for (uint32_t j = m.hyp; j < m.hyp + m.hyp_words; ++j) next_bits_[c * W + j / 64] |= uint64_t{1} << (j % 64);
                history_.push_back({static_cast<uint32_t>(child.match), step});
                step = static_cast<int32_t>(history_.size()) - 1;
            }
            next_[c] = {child.at, key.matched(), key.chunks(), child.open_end, key.distance(), step};
        }
        count = made;
        paths_.swap(next_);
        bits_.swap(next_bits_);
    }
    // The end closes open chunks and the order is looked at once more; the first of equals stays first.
    size_t best = 0;
    Key best_key;
    for (size_t p = 0; p < count; ++p) {
        const Path &path = paths_[p];
        const Key key(path.matched, path.chunks + (path.open_end != CLOSED), path.distance, p);
        if (p == 0 || key < best_key) best = p, best_key = key;
    }
    choose(paths_[best].last);
}

// --- statistics and score --------------------------------------------------------------------------------------------------

// Those of a pair without a match.
void Aligner::unmatched(const Sentence &hyp, const Sentence &ref, Statistics &out) {
    out.fill(0.0);
    out[0] = static_cast<double>(hyp.size());
    out[1] = static_cast<double>(ref.size());
    out[2] = hyp.function_words;
    out[3] = ref.function_words;
}

void Aligner::statistics(const Sentence &hyp, const Sentence &ref, const Hit *hits, size_t hit_count, Statistics &out) {
    unmatched(hyp, ref, out);
    propose(hyp, ref, hits, hit_count);
    if (fix(hyp.size(), ref.size())) {
        if (small(hyp.size(), ref.size())) search_small(ref.size());
        else search(hyp.size(), ref.size());
    }
    uint32_t hyp_end = CLOSED, ref_end = CLOSED;
    for (int32_t k : chosen_) {
        if (k < 0) continue;
        const Match &m = found_[static_cast<size_t>(k)];
        const size_t base = 4 + 4 * size_t{m.module};
        for (uint32_t j = m.hyp; j < m.hyp + m.hyp_words; ++j) out[base + 2 * size_t{hyp.is_function[j]}] += 1.0;
        for (uint32_t i = m.ref; i < m.ref + m.ref_words; ++i) out[base + 1 + 2 * size_t{ref.is_function[i]}] += 1.0;
        out[20] += m.ref != ref_end || m.hyp != hyp_end;
        out[21] += m.hyp_words;
        out[22] += m.ref_words;
        hyp_end = m.hyp + m.hyp_words;
        ref_end = m.ref + m.ref_words;
    }
}

std::vector<Match> Aligner::matches() const {
    std::vector<Match> found;
    for (int32_t k : chosen_)
        if (k >= 0) found.push_back(found_[static_cast<size_t>(k)]);
    return found;
}

double score_of(const Statistics &s) {
    constexpr double ALPHA = 0.85, BETA = 0.2, GAMMA = 0.6, DELTA = 0.75, WEIGHTS[] = {1.0, 0.6, 0.8, 0.6};
    double m_h = 0.0, m_r = 0.0;
    for (size_t i = 0; i < 4; ++i) {
        m_h += s[4 + 4 * i] * WEIGHTS[i] * DELTA;
        m_r += s[5 + 4 * i] * WEIGHTS[i] * DELTA;
    }
    for (size_t i = 0; i < 4; ++i) {
        m_h += s[6 + 4 * i] * WEIGHTS[i] * (1.0 - DELTA);
        m_r += s[7 + 4 * i] * WEIGHTS[i] * (1.0 - DELTA);
    }
    const double P = m_h / (DELTA * (s[0] - s[2]) + (1.0 - DELTA) * s[2]);
    const double R = m_r / (DELTA * (s[1] - s[3]) + (1.0 - DELTA) * s[3]);
    const double F = 1.0 / ((1.0 - ALPHA) / P + ALPHA / R);
    const bool perfect = s[21] == s[0] && s[22] == s[1] && s[20] == 1.0;
    const double fragmentation = perfect ? 0.0 : s[20] / ((s[21] + s[22]) / 2.0);
    const double value = F * (1.0 - GAMMA * std::pow(fragmentation, BETA));
    return std::isnan(value) ? 0.0 : std::max(0.0, value);
}

// --- tiles -----------------------------------------------------------------------------------------------------------------

void Tile::Phrases::fill(const std::vector<const Sentence *> &sentences) {
    size_t count = 0;
    for (const Sentence *s : sentences) count += s->places.size;
    size_t capacity = 64;
    while (capacity < 2 * count) capacity *= 2;
    mask = static_cast<uint32_t>(capacity - 1);
    slots.assign(capacity, {UNKNOWN, UNKNOWN});
    filter.assign(capacity / 8, 0);  // 8 bits per slot
    links.clear();
    // Backwards, so that each chain lists sentences and places in their order.
    for (size_t s = sentences.size(); s-- > 0;) {
        for (size_t k = sentences[s]->places.size; k-- > 0;) {
            const Place &place = sentences[s]->places[k];
            const uint32_t hash = mix(place.node) >> 5, bit = hash & (8 * mask + 7);
            filter[bit / 64] |= uint64_t{1} << (bit % 64);
            uint32_t slot = hash & mask;
            while (slots[slot].node != UNKNOWN && slots[slot].node != place.node) slot = (slot + 1) & mask;
            links.push_back({static_cast<uint32_t>(s), place.at, place.words, slots[slot].chain});
            slots[slot] = {place.node, static_cast<uint32_t>(links.size() - 1)};
        }
    }
}

uint32_t Tile::Phrases::find(uint32_t node) const {
    const uint32_t hash = mix(node) >> 5, bit = hash & (8 * mask + 7);
    if (!(filter[bit / 64] >> (bit % 64) & 1)) return UNKNOWN;
    for (uint32_t slot = hash & mask; slots[slot].node != UNKNOWN; slot = (slot + 1) & mask)
        if (slots[slot].node == node) return slots[slot].chain;
    return UNKNOWN;
}

void Tile::stream(const Tables &tables, const std::vector<const Sentence *> &from, const Phrases &to, bool from_refs) {
    for (uint32_t f = 0; f < from.size(); ++f) {
        const Span<Source> sources = from[f]->sources;
        for (size_t s = 0, same_end; s < sources.size; s = same_end) {
            same_end = s + 1;
            while (same_end < sources.size && sources[same_end].first == sources[s].first) ++same_end;
            for (uint32_t entry = sources[s].first; entry < sources[s].last; ++entry) {
                for (uint32_t link = to.find(tables.target_node[entry]); link != UNKNOWN; link = to.links[link].next) {
                    const Link &there = to.links[link];
                    const uint32_t pair = static_cast<uint32_t>(from_refs ? there.sentence * refs_ + f : f * refs_ + there.sentence);
                    if (passed_[pair]) continue;
                    for (size_t k = s; k < same_end; ++k) {
                        const Source &here = sources[k];
                        if (hit_count_[pair] == MOST_MATCHES) {
                            passed_[pair] = 1;
                            crowded_.emplace(pair, too_many_matches());
                            break;
                        }
                        ++hit_count_[pair];
                        if (from_refs)
                            hits_.push_back({pair, here.at, 0, {here.words, entry, there.at}, {here.at, there.at, here.words, there.words, 3}});
                        else
                            hits_.push_back({pair, there.at, 1, {here.at, here.words, entry}, {there.at, here.at, there.words, here.words, 3}});
                    }
                }
            }
        }
    }
}

void Tile::run(const Tables &tables, const std::vector<const Sentence *> &hyps,
               const std::vector<const Sentence *> &refs, const std::vector<uint8_t> &skipped) {
    refs_ = refs.size();
    stats_.resize(hyps.size() * refs_);
    passed_ = skipped;
    crowded_.clear();
    for (size_t h = 0; h < hyps.size(); ++h)
        for (size_t r = 0; r < refs_; ++r) {
            const size_t pair = h * refs_ + r;
            std::string why = passed_[pair] ? std::string() : too_long(hyps[h]->size(), refs[r]->size());
            if (why.empty()) continue;
            passed_[pair] = 1;
            crowded_.emplace(pair, std::move(why));
        }
    hits_.clear();
    hit_count_.assign(hyps.size() * refs_, 0);
    if (std::find(passed_.begin(), passed_.end(), 0) != passed_.end()) {
        hyp_phrases_.fill(hyps);
        ref_phrases_.fill(refs);
        stream(tables, refs, hyp_phrases_, true);
        stream(tables, hyps, ref_phrases_, false);
    }
    std::sort(hits_.begin(), hits_.end(), [](const Hit &a, const Hit &b) {
        return std::tie(a.pair, a.ref, a.direction, a.order[0], a.order[1], a.order[2]) <
               std::tie(b.pair, b.ref, b.direction, b.order[0], b.order[1], b.order[2]);
    });
    const Hit *hit = hits_.data();
    for (size_t h = 0; h < hyps.size(); ++h) {
        aligner_.take(*hyps[h]);
        for (size_t r = 0; r < refs_; ++r) {
            const size_t pair = h * refs_ + r;
            if (!passed_[pair]) {
                try {
                    aligner_.statistics(*hyps[h], *refs[r], hit, hit_count_[pair], stats_[pair]);
                } catch (const TooMuch &error) {
                    crowded_.emplace(pair, error.what());
                }
            }
            if (crowded_.count(pair)) Aligner::unmatched(*hyps[h], *refs[r], stats_[pair]);
            hit += hit_count_[pair];
        }
    }
}

}  // namespace meteor
