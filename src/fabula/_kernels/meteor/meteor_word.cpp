// METEOR 1.5's words (Denkowski & Lavie 2014): normaliser for ASCII, Porter2 stems, WordNet base forms, phrases of the table.
// Twins: fabula/text/meteor/norm.py, stem.py, and Sentence in align.py, which explain the rules.
#include "meteor.hpp"

#include "check.hpp"
#include "slots.hpp"

#include <algorithm>
#include <bitset>
#include <tuple>
#include <utility>

namespace meteor {

// --- tables ----------------------------------------------------------------------------------------------------------------

namespace {

uint32_t fnv(std::string_view word) {
    uint32_t h = 2166136261u;
    for (unsigned char c : word) h = (h ^ c) * 16777619u;
    return h ^ (h >> 15);
}

std::unordered_set<std::string> lines(Span<uint8_t> text) {
    std::unordered_set<std::string> found;
    std::string line;
    for (size_t k = 0; k <= text.size; ++k) {
        if (k < text.size && text[k] != '\n') line += static_cast<char>(text[k]);
        else if (!line.empty()) found.insert(std::exchange(line, {}));
    }
    return found;
}

std::string_view word_at(const Tables &t, uint32_t k) {
    return {reinterpret_cast<const char *>(t.word_bytes.data) + t.word_start[k], t.word_start[k + 1] - t.word_start[k]};
}

}  // namespace

namespace {

using fabula::require;

// Rows of unequal length: where each of `rows` begins in `size` things.
void check_starts(Span<uint32_t> start, size_t rows, size_t size, const char *why) {
    require(start.size == rows + 1 && start[0] == 0 && start[rows] == size, why);
    uint32_t falls = 0;
    for (size_t k = 0; k < rows; ++k) falls |= start[k + 1] < start[k];
    require(!falls, why);
}

// Each row strictly rising; neighbours may fall only where a row begins.
template <class T> void check_rising(Span<uint32_t> start, size_t rows, Span<T> values, const char *why) {
    for (size_t k = 0; k < rows; ++k)
        for (size_t i = start[k] + size_t{1}; i < start[k + 1]; ++i) require(values[i - 1] < values[i], why);
}

// As Python reads it: no half characters, no long forms, no surrogates.
bool is_utf8(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        const uint8_t c = *at++;
        if (c < 0x80) continue;
        const int more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        if (c < 0xC2 || c > 0xF4 || end - at < more) return false;
        uint32_t point = c & (0x3Fu >> more);
        for (int j = 0; j < more; ++j, ++at) {
            if ((*at & 0xC0) != 0x80) return false;
            point = point << 6 | (*at & 0x3Fu);
        }
        if ((more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10FFFF)) || (point >= 0xD800 && point < 0xE000)) return false;
    }
    return true;
}

}  // namespace

void Tables::check() const {
    const size_t V = word_flags.size, N = trie_word.size, bits = (N + 63) / 64;
    require(V < UNKNOWN && N < UNKNOWN && target_node.size < UNKNOWN, "the tables are too long");
    check_starts(word_start, V, word_bytes.size, "word_start");
    for (size_t k = 0; k < V; ++k)
        require(is_utf8(word_bytes.data + word_start[k], word_bytes.data + word_start[k + 1]), "word_bytes");
    for (size_t k = 0; k < V; ++k) require(word_flags[k] <= (FUNCTION | IRREGULAR | LEMMA), "word_flags");
    check_starts(synset_start, V, synset_ids.size, "synset_start");
    check_rising(synset_start, V, synset_ids, "synset_ids");
    check_starts(base_start, V, base_ids.size, "base_start");
    check_rising(base_start, V, base_ids, "base_ids");
    for (const auto &text : {prefixes, prefixes_number}) require(is_utf8(text.data, text.data + text.size), "prefixes");

    // A forest in breadth-first order: the roots are the words of phrases, children come behind their parents.
    require(trie_first.size == N + 1, "trie_first");
    const size_t P = trie_first[0];
    require(P <= N && P <= V && P < 0x10000 && trie_first[N] == N, "trie_first");
    uint32_t odd = 0;
    for (size_t k = 0; k < N; ++k) odd |= trie_first[k + 1] < trie_first[k] || (trie_first[k] <= k && trie_first[k] != trie_first[k + 1]);
    require(!odd, "trie_first");
    for (size_t k = 0; k < P; ++k) odd |= trie_word[k] != k;
    for (size_t k = P; k < N; ++k) odd |= trie_word[k] >= P;
    require(!odd, "trie_word");
    check_rising(trie_first, N, trie_word, "trie_word");

    require(source_bits.size == bits && source_rank.size == bits && source_first.size > 0, "source_bits");
    require(N % 64 == 0 || !(source_bits[bits - 1] >> (N % 64)), "source_bits");
    size_t sources = 0;
    for (size_t k = 0; k < bits; ++k) {
        require(source_rank[k] == sources, "source_rank");
        sources += std::bitset<64>(source_bits[k]).count();
    }
    check_starts(source_first, sources, target_node.size, "source_first");
    uint32_t greatest = 0;
    for (size_t k = 0; k < target_node.size; ++k) greatest = std::max(greatest, target_node[k]);
    require(target_node.size == 0 || greatest < N, "target_node");
}

void Tables::prepare() {
    const uint32_t V = static_cast<uint32_t>(word_flags.size);
    size_t capacity = 1024;
    while (capacity < 2 * size_t{V}) capacity *= 2;
    slots.assign(capacity, UNKNOWN);
    for (uint32_t k = 0; k < V; ++k) {
        size_t slot = fnv(word_at(*this, k)) & (capacity - 1);
        while (slots[slot] != UNKNOWN) slot = (slot + 1) & (capacity - 1);
        slots[slot] = k;
    }
    keep_dot = lines(prefixes);
    keep_dot_before_number = lines(prefixes_number);
}

uint32_t Tables::number(std::string_view word) const {
    for (size_t slot = fnv(word) & (slots.size() - 1); slots[slot] != UNKNOWN; slot = (slot + 1) & (slots.size() - 1))
        if (word_at(*this, slots[slot]) == word) return slots[slot];
    return UNKNOWN;
}

std::pair<uint32_t, uint32_t> Tables::entries(uint32_t node) const {
    const uint64_t bits = source_bits[node / 64], bit = uint64_t{1} << (node % 64);
    if (!(bits & bit)) return {0, 0};
    const size_t s = source_rank[node / 64] + std::bitset<64>(bits & (bit - 1)).count();
    return {source_first[s], source_first[s + 1]};
}

uint32_t Tables::child(uint32_t node, uint32_t word) const {
    return children.get(uint64_t{node} << 16 | word, [&] {
        const uint16_t *a = trie_word.data + trie_first[node], *b = trie_word.data + trie_first[node + 1];
        const uint16_t *k = std::lower_bound(a, b, static_cast<uint16_t>(word));
        return (k != b && *k == word ? static_cast<uint32_t>(k - trie_word.data) : UNKNOWN) + 1;  // 0: none
    }) - 1;
}

// --- normaliser ------------------------------------------------------------------------------------------------------------

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_alnum(char c) { return is_digit(c) || is_alpha(c); }
bool is_gap(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
constexpr char HIDDEN_DOT = '\x01';

// One pass of s/(left)middle(right)/\1 between \2/g.
template <class Left, class Right>
void around(std::string &line, char middle, Left left, Right right, std::string_view between) {
    if (line.find(middle) == std::string::npos) return;
    std::string out;
    out.reserve(line.size() + 16);
    for (size_t k = 0; k < line.size();) {
        if (k + 2 < line.size() && line[k + 1] == middle && left(line[k]) && right(line[k + 2])) {
            out += line[k];
            out += between;
            out += line[k + 2];
            k += 3;
        } else {
            out += line[k++];
        }
    }
    line.swap(out);
}

// One pass of s/cc/to/g.
void doubled(std::string &line, char c, std::string_view to) {
    const char pair[] = {c, c};
    if (line.find(pair, 0, 2) == std::string::npos) return;
    std::string out;
    for (size_t k = 0; k < line.size(); ++k) {
        if (line[k] == c && k + 1 < line.size() && line[k + 1] == c) out += to, ++k;
        else out += line[k];
    }
    line.swap(out);
}

}  // namespace

bool plain_ascii(std::string_view text) {
    for (char c : text)
        if (!((c >= 0x20 && c < 0x7f) || is_gap(c))) return false;
    return text.find("DOTMULTI") == std::string_view::npos;
}

std::string normalise_ascii(std::string_view text, const Tables &tables) {
    std::string line = " ";
    for (size_t k = 0; k < text.size();) {
        const char c = text[k];
        size_t run = 1;
        if (c == '.')
            while (k + run < text.size() && text[k + run] == '.') ++run;
        if (run > 1) {
            (line += ' ').append(run, HIDDEN_DOT) += ' ';
        } else if (is_alnum(c) || is_gap(c) || c == '.' || c == '\'' || c == ',' || c == '-') {
            line += c;
        } else if (c == '`') {
            line += '`';
        } else {
            ((line += ' ') += c) += ' ';
        }
        k += run;
    }
    line += ' ';
    const auto digit = is_digit;
    const auto not_digit = [](char c) { return !is_digit(c); };
    const auto alpha = is_alpha;
    const auto not_alpha = [](char c) { return !is_alpha(c); };
    around(line, ',', not_digit, not_digit, " , ");
    around(line, ',', digit, not_digit, " , ");
    around(line, ',', not_digit, digit, " , ");
    std::replace(line.begin(), line.end(), '`', '\'');
    doubled(line, '\'', " \" ");
    doubled(line, '-', "-");
    around(line, '-', [](char c) { return is_alnum(c) || c == '.'; }, is_alnum, " ");
    around(line, '\'', not_alpha, not_alpha, " ' ");
    around(line, '\'', [](char c) { return !is_alnum(c); }, alpha, " ' ");
    around(line, '\'', alpha, not_alpha, " ' ");
    around(line, '\'', alpha, alpha, " '");
    around(line, '\'', digit, [](char c) { return c == 's'; }, " '");

    std::vector<std::string_view> tokens;
    for (size_t k = 0; k < line.size();) {
        while (k < line.size() && is_gap(line[k])) ++k;
        size_t end = k;
        while (end < line.size() && !is_gap(line[end])) ++end;
        if (end > k) tokens.emplace_back(line.data() + k, end - k);
        k = end;
    }
    std::string out;
    out.reserve(line.size());
    for (size_t k = 0; k < tokens.size(); ++k) {
        const std::string_view token = tokens[k], pre = token.substr(0, token.size() - 1);
        if (k) out += ' ';
        if (pre.empty() || token.back() != '.') {
            out += token;
            continue;
        }
        const char next = k + 1 < tokens.size() ? tokens[k + 1][0] : '\0';
        if (pre.find('.') != std::string_view::npos && std::any_of(pre.begin(), pre.end(), is_alpha)) {
            for (char c : pre)
                if (c != '.') out += c;
        } else if (is_lower(next) || tables.keep_dot.count(std::string(pre)) ||
                   (is_digit(next) && tables.keep_dot_before_number.count(std::string(pre)))) {
            out += token;
        } else {
            (out += pre) += " .";
        }
    }
    for (char &c : out) {
        if (c == HIDDEN_DOT) c = '.';
        else if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    return out;
}

// --- words -----------------------------------------------------------------------------------------------------------------

std::u16string utf16(std::string_view text) {
    std::u16string out;
    out.reserve(text.size());
    for (size_t k = 0; k < text.size();) {
        const unsigned char c = static_cast<unsigned char>(text[k]);
        const size_t more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        uint32_t point = more == 0 ? c : c & (0x3F >> more);
        for (size_t j = 1; j <= more && k + j < text.size(); ++j) point = point << 6 | (static_cast<unsigned char>(text[k + j]) & 0x3F);
        if (point < 0x10000) {
            out += static_cast<char16_t>(point);
        } else {
            out += static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10));
            out += static_cast<char16_t>(0xDC00 + ((point - 0x10000) & 0x3FF));
        }
        k += more + 1;
    }
    return out;
}

uint32_t java_hash(const std::u16string &word) {
    uint32_t h = 0;
    for (char16_t c : word) h = 31 * h + c;
    return h;
}

namespace {

bool ends(std::string_view word, std::string_view suffix) {
    return word.size() >= suffix.size() && word.compare(word.size() - suffix.size(), suffix.size(), suffix) == 0;
}

constexpr std::pair<std::string_view, std::string_view> DETACHMENT[] = {
    {"s", ""},  {"ses", "s"}, {"xes", "x"}, {"zes", "z"}, {"ches", "ch"}, {"shes", "sh"}, {"men", "man"}, {"ies", "y"},
    {"s", ""},  {"ies", "y"}, {"es", "e"},  {"es", ""},   {"ed", "e"},    {"ed", ""},     {"ing", "e"},   {"ing", ""},
    {"er", ""}, {"est", ""},  {"er", "e"},  {"est", "e"},
};

// The number of the base form; UNKNOWN if there is none.
uint32_t base_form(std::string_view word, size_t length, uint32_t number, const Tables &tables) {
    if (ends(word, "ss") || length <= 2) return number;
    std::string base;
    for (const auto &[suffix, ending] : DETACHMENT) {
        if (!ends(word, suffix)) continue;
        base.assign(word.substr(0, word.size() - suffix.size())) += ending;
        const uint32_t found = tables.number(base);
        if (found != UNKNOWN && tables.word_flags[found] & LEMMA) return found;
    }
    return UNKNOWN;
}

}  // namespace

Word word_of(std::string_view text, uint32_t number, const Tables &t) {
    const std::u16string units = utf16(text);
    Word word{number, java_hash(units), java_hash(stem(units)), false, 0, 0, std::string(text), {}};
    if (number < t.phrase_words()) std::tie(word.first, word.last) = t.entries(number);
    const uint8_t flags = word.number == UNKNOWN ? 0 : t.word_flags[word.number];
    word.is_function = flags & FUNCTION;
    const auto add = [&](const Span<uint32_t> &start, const Span<uint32_t> &ids, uint32_t n) {
        if (n != UNKNOWN) word.synsets.insert(word.synsets.end(), ids.data + start[n], ids.data + start[n + 1]);
    };
    add(t.synset_start, t.synset_ids, word.number);
    if (flags & IRREGULAR) {
        add(t.base_start, t.base_ids, word.number);
    } else {
        const uint32_t base = base_form(text, units.size(), word.number, t);
        if (base != word.number) add(t.synset_start, t.synset_ids, base);
    }
    std::sort(word.synsets.begin(), word.synsets.end());
    return word;
}

Words::~Words() {
    for (const auto &word : known_) delete word.load();
}

const Word &Words::get(std::string_view text, Word &other) {
    std::atomic<const Word *> &slot = common_[fabula::hash_of(text) >> (32 - BITS)];
    const Word *common = slot.load(std::memory_order_acquire);
    if (common && common->text == text) return *common;
    const uint32_t number = tables_.number(text);
    if (number == UNKNOWN) return other = word_of(text, UNKNOWN, tables_);
    const Word *known = known_[number].load(std::memory_order_acquire);
    if (!known) {
        const Word *fresh = new Word(word_of(text, number, tables_));
        if (known_[number].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) known = fresh;
        else delete fresh;  // another thread was first
    }
    slot.store(known, std::memory_order_release);
    return *known;
}

bool share(const Word &one, const Word &two) {
    auto a = one.synsets.begin(), b = two.synsets.begin();
    while (a != one.synsets.end() && b != two.synsets.end()) {
        if (*a == *b) return true;
        if (*a < *b) ++a;
        else ++b;
    }
    return false;
}

const Sentence *Maker::make(std::string_view normalised, const Tables &t, Words &known, Arena &arena) {
    const size_t most = static_cast<size_t>(std::count(normalised.begin(), normalised.end(), ' ')) + 1;
    Sentence &made = *new (arena.take<Sentence>(1)) Sentence;
    const std::string_view text(arena.keep(normalised.data(), normalised.size()).data, normalised.size());
    const Word **words = arena.take<const Word *>(most);
    uint32_t *hashes = arena.take<uint32_t>(most), *stems = arena.take<uint32_t>(most);
    uint8_t *is_function = arena.take<uint8_t>(most);
    size_t count = 0;
    Word other;
    for (size_t k = 0; k < text.size(); ++count) {
        const size_t end = std::min(text.find(' ', k), text.size());
        const Word *word = &known.get(text.substr(k, end - k), other);
        if (word == &other) word = &arena.others.emplace_front(std::move(other));
        words[count] = word;
        hashes[count] = word->hash;
        stems[count] = word->stem;
        made.hash_mask.add(word->hash);
        made.stem_mask.add(word->stem);
        is_function[count] = word->is_function;
        made.function_words += word->is_function;
        k = end + 1;
    }
    places_.clear();
    sources_.clear();
    const uint32_t P = t.phrase_words();
    for (uint32_t at = 0; at < count; ++at) {
        uint32_t node = UNKNOWN;
        for (uint32_t k = at; k < count && words[k]->number < P; ++k) {
            node = k == at ? words[k]->number : t.child(node, words[k]->number);
            if (node == UNKNOWN) break;
            places_.push_back({node, at, k - at + 1});
            const auto [first, last] = k == at ? std::pair(words[k]->first, words[k]->last) : t.entries(node);
            if (first != last) sources_.push_back({first, last, at, k - at + 1});
        }
    }
    std::sort(sources_.begin(), sources_.end(), [](const Source &a, const Source &b) {
        return a.first != b.first ? a.first < b.first : a.at < b.at;
    });
    made.text = text;
    made.words = {words, count};
    made.hashes = {hashes, count};
    made.stems = {stems, count};
    made.is_function = {is_function, count};
    made.sources = arena.keep(sources_.data(), sources_.size());
    made.places = arena.keep(places_.data(), places_.size());
    return &made;
}

}  // namespace meteor
