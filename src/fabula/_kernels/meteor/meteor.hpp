// METEOR 1.5 (Denkowski & Lavie 2014): what the compiled aligner's files share. Twin: fabula/text/meteor/align.py, stem.py,
// norm.py; the layout of the tables is told in fabula/text/meteor/index.py.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace meteor {

constexpr size_t BEAM = 40;
constexpr uint64_t MOST_CELLS = 25'000'000;  // candidate words x reference words
constexpr uint64_t MOST_WORDS = 250'000;  // in one text; keeps distances within Key's 38 bits
constexpr uint64_t MOST_MATCHES = 1'000'000;
constexpr uint8_t FUNCTION = 1, IRREGULAR = 2, LEMMA = 4;  // bits of word_flags
constexpr uint32_t UNKNOWN = 0xFFFFFFFF;

template <class T> struct Span {
    const T *data = nullptr;
    size_t size = 0;
    const T &operator[](size_t k) const { return data[k]; }
};

// Answers to questions that captions ask over and over, shared by the threads without locks: one number holds both. Questions
// of more than 40 bits and answers of more than 24 are not kept.
class Memo {
  public:
    template <class Ask> uint32_t get(uint64_t question, Ask ask) const {
        if (question >> 40) return ask();
        std::atomic<uint64_t> &slot = slots_[question * 0x9E3779B97F4A7C15u >> (64 - BITS)];
        const uint64_t kept = slot.load(std::memory_order_relaxed), mark = question + 1;  // 0: nothing kept
        if (kept >> 24 == mark) return static_cast<uint32_t>(kept & 0xFFFFFF);
        const uint32_t answer = ask();
        if (!(answer >> 24) && !(mark >> 40)) slot.store(mark << 24 | answer, std::memory_order_relaxed);
        return answer;
    }

  private:
    static constexpr unsigned BITS = 16;
    mutable std::vector<std::atomic<uint64_t>> slots_ = std::vector<std::atomic<uint64_t>>(size_t{1} << BITS);
};

// The sections of the mapped index.
struct Tables {
    Span<uint32_t> word_start, synset_start, synset_ids, base_start, base_ids;
    Span<uint8_t> word_bytes, word_flags, prefixes, prefixes_number;
    Span<uint16_t> trie_word;
    Span<uint32_t> trie_first, source_rank, source_first, target_node;
    Span<uint64_t> source_bits;

    std::vector<uint32_t> slots;  // open addressing: word -> number
    std::unordered_set<std::string> keep_dot, keep_dot_before_number;

    void check() const;  // throws std::invalid_argument where a section does not fit the others; all that is read later is in range
    void prepare();      // fills the three above
    uint32_t number(std::string_view word) const;
    std::pair<uint32_t, uint32_t> entries(uint32_t node) const;  // first and last: those that paraphrase this phrase
    uint32_t child(uint32_t node, uint32_t word) const;
    Memo children;
    uint32_t phrase_words() const { return trie_first[0]; }
};

// Whether `normalise_ascii` may be asked: printable ASCII and plain white space, no METEOR escape spelled out.
bool plain_ascii(std::string_view text);
std::string normalise_ascii(std::string_view text, const Tables &tables);
std::u16string stem(std::u16string word);
std::u16string utf16(std::string_view utf8);
uint32_t java_hash(const std::u16string &word);

struct Source {  // a phrase of the sentence that the table can paraphrase
    uint32_t first, last;  // its entries
    uint32_t at, words;
};
struct Place {  // a phrase of the sentence that the trie knows
    uint32_t node, at, words;
};

// One bit per number: without its bit, a number is not there.
struct Mask {
    uint64_t bits[4] = {0, 0, 0, 0};
    static uint32_t bit(uint32_t number) { return number * 2654435761u >> 24; }
    void add(uint32_t number) { bits[bit(number) / 64] |= uint64_t{1} << (bit(number) % 64); }
    bool may_have(uint32_t number) const { return bits[bit(number) / 64] >> (bit(number) % 64) & 1; }
};

// What the matchers ask of a word.
struct Word {
    uint32_t number, hash, stem;
    bool is_function;
    uint32_t first = 0, last = 0;   // its entries, where it is a phrase that the table can paraphrase
    std::string text;
    std::vector<uint32_t> synsets;  // sorted
};
bool share(const Word &one, const Word &two);  // a synset
Word word_of(std::string_view word, uint32_t number, const Tables &tables);

// The tables' words, analysed when first met and shared by the threads without locks; other words are analysed each time.
class Words {
  public:
    explicit Words(const Tables &tables) : tables_(tables) {}
    ~Words();
    void prepare() {
        known_ = std::vector<std::atomic<const Word *>>(tables_.word_flags.size);
        common_ = std::vector<std::atomic<const Word *>>(size_t{1} << BITS);
    }
    // The word of a number, or `other` filled in.
    const Word &get(std::string_view text, Word &other);

  private:
    static constexpr unsigned BITS = 14;
    const Tables &tables_;
    std::vector<std::atomic<const Word *>> known_;   // by number
    std::vector<std::atomic<const Word *>> common_;  // by hash: those that were met last
};

// Memory of many sentences, given back at once with the last of them: they are made and forgotten by the thousand.
class Arena {
  public:
    std::forward_list<Word> others;  // words that the tables do not have

    template <class T> T *take(size_t count) {  // room that nothing is in yet
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
        const size_t bytes = (count * sizeof(T) + 7) / 8 * 8;
        if (bytes > left_) {
            left_ = std::max(bytes, BLOCK);
            at_ = blocks_.emplace_back(new std::byte[left_]).get();
        }
        std::byte *found = at_;
        at_ += bytes;
        left_ -= bytes;
        return reinterpret_cast<T *>(found);
    }
    template <class T> Span<T> keep(const T *from, size_t count) {
        T *to = take<T>(count);
        std::copy_n(from, count, to);
        return {to, count};
    }

  private:
    static constexpr size_t BLOCK = 1 << 18;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::byte *at_ = nullptr;
    size_t left_ = 0;
};

// A normalised sentence and all that the matchers ask of it, worked out once; it lies in an arena, as all that it has.
struct Sentence {
    size_t size() const { return hashes.size; }

    std::string_view text;
    Span<const Word *> words;    // of the tables, or of the arena
    Span<uint32_t> hashes, stems;
    Span<uint8_t> is_function;
    Mask hash_mask, stem_mask;    // of all its words
    Span<Source> sources;        // sorted by entry
    Span<Place> places;
    uint32_t function_words = 0;
};

// Makes sentences; keeps its buffers from one to the next. One per thread.
class Maker {
  public:
    const Sentence *make(std::string_view normalised, const Tables &tables, Words &known, Arena &arena);

  private:
    std::vector<Source> sources_;
    std::vector<Place> places_;
};

struct Match {
    uint32_t ref, hyp, ref_words, hyp_words, module;
};

// A paraphrase match found by streaming a sentence's entries past the phrases of others; the order is METEOR's.
struct Hit {
    uint32_t pair, ref, direction;
    uint32_t order[3];
    Match match;
};

using Statistics = std::array<double, 23>;
double score_of(const Statistics &stats);

struct TooMuch : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The synsets of a sentence, and which of its words have each.
class Synsets {
  public:
    void take(const Sentence &sentence);
    // The words that share a synset with this one, a bit each; of a sentence of more than 64, a bit for every 64th word.
    uint64_t shared(const Word &word) const;

  private:
    struct Slot {
        uint32_t synset, turn;  // of another turn: free
        uint64_t words;
    };
    std::vector<Slot> slots_;
    uint32_t turn_ = 0;
    std::array<uint64_t, 64> filter_{};  // one bit for each synset: without its bit, it is not there
};

// Aligns pairs; keeps its buffers from one pair to the next. One per thread.
class Aligner {
  public:
    // The hypothesis of the pairs that follow.
    void take(const Sentence &hyp) { synsets_.take(hyp); }
    // `hits` are those of this pair, sorted.
    void statistics(const Sentence &hyp, const Sentence &ref, const Hit *hits, size_t hit_count, Statistics &out);
    static void unmatched(const Sentence &hyp, const Sentence &ref, Statistics &out);
    // What the last statistics were made of, in the order of the reference.
    std::vector<Match> matches() const;

  private:
    struct Path {
        uint32_t at, matched, chunks, open_end;
        uint64_t distance;
        int32_t last;  // in history_
    };
    struct Child {
        uint32_t parent;
        int32_t match;  // -1: none taken
        uint32_t open_end, at;
    };
    // METEOR's order of paths, smaller is better: more words, fewer chunks, smaller distance, and the earlier of equals.
    struct Key {
        uint64_t high = 0, low = 0;
        Key() = default;
        Key(uint32_t matched, uint32_t chunks, uint64_t distance, size_t order)
            : high(uint64_t{~matched} << 32 | chunks), low(distance << 26 | order) {}
        bool operator<(const Key &other) const { return high != other.high ? high < other.high : low < other.low; }
        uint32_t matched() const { return ~static_cast<uint32_t>(high >> 32); }
        uint32_t chunks() const { return static_cast<uint32_t>(high); }
        uint64_t distance() const { return low >> 26; }
        size_t order() const { return low & 0x3FFFFFF; }
    };
    // The same for sentences of common length: the rank is the key in one number, without the order.
    struct SmallPath {
        uint64_t rank, used;  // a bit for each word of the candidate that is taken
        uint32_t open_end, at;
        int32_t last;
    };
    struct Option {  // a match that a path may take
        uint64_t bits, gain, away;
        uint32_t match, hyp, hyp_end, ref_end;
    };
    struct Step {
        uint32_t match;
        int32_t before;
    };
    void propose(const Sentence &hyp, const Sentence &ref, const Hit *hits, size_t hit_count);
    bool fix(size_t hyp_size, size_t ref_size);
    bool idle(size_t count, uint32_t position) const;
    bool small(size_t hyp_size, size_t ref_size) const;
    void search(size_t hyp_size, size_t ref_size);
    void search_small(size_t ref_size);
    void choose(int32_t step);

    Synsets synsets_;  // of the hypothesis
    std::vector<Match> found_;
    std::vector<uint32_t> found_start_, hyp_cover_, ref_cover_;
    std::vector<int32_t> chosen_;     // per reference position the match that starts there, -1: none
    std::vector<uint8_t> ref_fixed_;  // per reference position: covered by a match without rival
    std::vector<uint64_t> hyp_fixed_, bits_, next_bits_;
    std::vector<Path> paths_, next_;
    std::vector<Child> children_;
    std::vector<Key> keys_;
    std::vector<SmallPath> small_paths_, small_next_;
    std::vector<Option> options_;
    std::vector<uint64_t> small_keys_;
    std::vector<Step> history_;
};

// The scores of every hypothesis against every reference of a tile.
class Tile {
  public:
    // Pairs that are `skipped` (a flag each, row by row) have no statistics; `crowded` ones those of a pair without a match.
    void run(const Tables &tables, const std::vector<const Sentence *> &hyps,
             const std::vector<const Sentence *> &refs, const std::vector<uint8_t> &skipped);
    const Statistics &stats(size_t hyp, size_t ref) const { return stats_[hyp * refs_ + ref]; }
    // The matches of the pair that was aligned last.
    std::vector<Match> matches() const { return aligner_.matches(); }
    // Pairs whose alignment nobody could wait for, and why.
    const std::map<size_t, std::string> &crowded() const { return crowded_; }

  private:
    struct Slot {
        uint32_t node, chain;
    };
    struct Link {
        uint32_t sentence, at, words, next;
    };
    // Phrases of a set of sentences, by node.
    struct Phrases {
        std::vector<uint64_t> filter;
        std::vector<Slot> slots;
        std::vector<Link> links;
        uint32_t mask = 0;
        void fill(const std::vector<const Sentence *> &sentences);
        uint32_t find(uint32_t node) const;
    };
    void stream(const Tables &tables, const std::vector<const Sentence *> &from, const Phrases &to, bool from_refs);

    size_t refs_ = 0;
    Phrases hyp_phrases_, ref_phrases_;
    std::vector<Hit> hits_;
    std::vector<uint32_t> hit_count_;
    std::vector<uint8_t> passed_;  // skipped or crowded
    std::map<size_t, std::string> crowded_;
    std::vector<Statistics> stats_;
    Aligner aligner_;
};

}  // namespace meteor
