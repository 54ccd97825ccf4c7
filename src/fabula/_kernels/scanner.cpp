// Longest-match scanner over UTF-16 units, twin of fabula/text/ptb/scanner.py: same automaton, same tokens.
//
// The twin makes states as texts ask for them; here the whole table is made once (subset construction), so that lines()
// only reads and may run in many threads without the GIL.
#include "kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using std::string_view;

namespace {

using Table = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>;

constexpr int32_t DEAD = -1, NO_RULE = -1;
constexpr size_t OVERSHOT = 64, NOTE_EVERY = 16;  // as in the twin
constexpr size_t MOST_STATES = 1 << 17, MOST_TABLE = 1 << 25, MOST_POSITIONS = 1 << 26;  // of sane rules; the first is the twin's
constexpr int MOST_UNITS = 1024, MOST_EDIT = 64;  // that a rule gives back or makes a token of, and puts in place of one of its units

enum Kind { TOKEN, SKIP, LINE };

struct Rule {
    int ahead = 0;  // units of look-ahead, or -1: from the match's first blank
    int cut = 0, again = 0;
    Kind kind = TOKEN;
    bool fixed = false;
    std::u16string whole, empty;
    std::vector<std::pair<std::u16string, std::u16string>> edits;
};

// (ahead, cut, again, kind, whole or None, empty, edits), as text/ptb/__init__.py hands them over.
using RuleData = std::tuple<int, int, int, std::string, nb::object, nb::str, std::vector<std::pair<nb::str, nb::str>>>;

// The UTF-16 units of a Python string; a lone surrogate becomes U+FFFD.
void append_units(PyObject *text, std::u16string &out) {
    const auto size = static_cast<size_t>(PyUnicode_GET_LENGTH(text));
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    out.reserve(out.size() + size);
    if (kind == PyUnicode_1BYTE_KIND) {
        const auto *bytes = static_cast<const Py_UCS1 *>(data);
        out.append(bytes, bytes + size);
        return;
    }
    for (size_t i = 0; i < size; ++i) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c > 0xFFFF) {
            out.push_back(static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10)));
            out.push_back(static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF)));
        } else {
            out.push_back(c >= 0xD800 && c <= 0xDFFF ? u'\uFFFD' : static_cast<char16_t>(c));
        }
    }
}

std::u16string units_of(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text is a string");
    std::u16string out;
    append_units(text.ptr(), out);
    return out;
}

nb::object python_string(const std::u16string &units) {
    const bool ascii = std::all_of(units.begin(), units.end(), [](char16_t c) { return c < 0x80; });
    PyObject *made;
    if (ascii) {
        made = PyUnicode_New(static_cast<Py_ssize_t>(units.size()), 127);
        if (made) std::copy(units.begin(), units.end(), PyUnicode_1BYTE_DATA(made));
    } else {
        const uint16_t one = 1;
        int order = *reinterpret_cast<const uint8_t *>(&one) ? -1 : 1;  // told, not guessed: a first U+FEFF is text
        made = PyUnicode_DecodeUTF16(reinterpret_cast<const char *>(units.data()),
                                     static_cast<Py_ssize_t>(units.size() * sizeof(char16_t)), "replace", &order);
    }
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

void replace_all(std::u16string &text, const std::u16string &old, const std::u16string &with) {
    for (size_t at = 0; (at = text.find(old, at)) != std::u16string::npos; at += with.size()) text.replace(at, old.size(), with);
}

struct Hash {
    size_t operator()(const std::vector<int32_t> &positions) const {
        uint64_t h = 1469598103934665603ull;
        for (const int32_t p : positions) h = (h ^ static_cast<uint64_t>(p)) * 1099511628211ull, h ^= h >> 29;
        return static_cast<size_t>(h);
    }
};

// Tokens that are left out. Most words are told apart from all of them by their first letter.
struct Dropped {
    explicit Dropped(const std::vector<std::string> &tokens) : all(tokens.begin(), tokens.end()) {
        for (const std::string &token : tokens) first.set(token.empty() ? 0 : static_cast<unsigned char>(token[0]));
    }
    bool has(string_view token) const {
        return first[token.empty() ? 0 : static_cast<unsigned char>(token[0])] && all.count(std::string(token));
    }
    std::unordered_set<std::string> all;
    std::bitset<256> first;
};

class Scanner {
  public:
    Scanner(nb::bytes classes, const std::vector<nb::bytes> &members, const std::vector<std::vector<int32_t>> &follow,
            const std::vector<int32_t> &accept, const std::vector<int32_t> &first, const std::vector<RuleData> &rules,
            nb::str blanks)
        : blanks_(units_of(blanks)) {
        read_classes(classes);
        const auto positions = static_cast<int64_t>(members.size());
        fabula::require(positions > 0 && follow.size() == members.size() && accept.size() == members.size(), MISFIT);
        width_ = members[0].size();
        for (const auto &row : members) fabula::require(row.size() == width_, MISFIT);
        for (const auto &data : rules) rules_.push_back(rule_of(data));
        for (const auto &row : follow) within(row, 0, positions);
        within(first, 0, positions);
        within(accept, NO_RULE, static_cast<int64_t>(rules_.size()));
        check_width();
        std::vector<std::vector<int32_t>> reads;  // the classes each position reads
        for (const auto &row : members) {
            reads.emplace_back();
            for (size_t k = 0; k < width_; ++k)
                if (static_cast<const uint8_t *>(row.data())[k]) reads.back().push_back(static_cast<int32_t>(k));
        }
        nb::gil_scoped_release release;
        determinise(reads, follow, accept, first);
    }

    // From tables that were made before: `next` [states, classes], `accepts` [states].
    Scanner(nb::bytes classes, Table next, Table accepts, const std::vector<RuleData> &rules, nb::str blanks)
        : blanks_(units_of(blanks)) {
        read_classes(classes);
        fabula::all_aligned(next, accepts);
        fabula::require(accepts.size() > 0 && accepts.size() <= MOST_STATES && next.size() <= MOST_TABLE &&
                            next.size() % accepts.size() == 0, MISFIT);
        width_ = next.size() / accepts.size();
        check_width();
        for (const auto &data : rules) rules_.push_back(rule_of(data));
        next_.assign(next.data(), next.data() + next.size());
        accepts_.assign(accepts.data(), accepts.data() + accepts.size());
        within(next_, DEAD, static_cast<int64_t>(accepts_.size()));
        within(accepts_, NO_RULE, static_cast<int64_t>(rules_.size()));
    }

    // (next, accepts), for the constructor above.
    nb::tuple tables() const { return nb::make_tuple(copied(next_), copied(accepts_)); }

    // Each text read alone as a line: its tokens without those of `dropped`, joined by blanks. None where text or tokens are
    // not all printable ASCII: letters and blanks beyond it follow rules that the caller knows.
    nb::list kept(nb::list texts, const std::vector<std::string> &dropped, int64_t threads) const {
        const Dropped drop(dropped);
        const size_t n = nb::len(texts);
        std::string in;                         // all that are plain, end to end
        std::vector<size_t> ends;               // [n]
        std::vector<uint8_t> plain;             // [n]
        ends.reserve(n), plain.reserve(n);
        for (nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text is a string");
            const bool ascii = PyUnicode_IS_ASCII(text.ptr());
            const string_view view = ascii ? string_view(reinterpret_cast<const char *>(PyUnicode_1BYTE_DATA(text.ptr())),
                                                         static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr())))
                                           : string_view();
            plain.push_back(ascii && printable(view));
            if (plain.back()) in.append(view);
            ends.push_back(in.size());
        }
        constexpr size_t CHUNK = 256;
        const size_t chunks = (ends.size() + CHUNK - 1) / CHUNK;
        std::vector<std::string> out(chunks);   // the lines of each chunk, end to end
        std::vector<size_t> sizes(ends.size(), 0);
        {
            nb::gil_scoped_release release;
            const auto units = static_cast<int64_t>(in.size() / std::max<size_t>(1, chunks));
            parallel(static_cast<int64_t>(chunks), units, threads, 1 << 17, [&](Queue &queue) {
                Room room;
                std::u16string text, made;
                for (int64_t c; (c = queue.take()) >= 0;) {
                    std::string &to = out[static_cast<size_t>(c)];
                    for (size_t k = static_cast<size_t>(c) * CHUNK; k < std::min(ends.size(), static_cast<size_t>(c + 1) * CHUNK); ++k) {
                        if (!plain[k]) continue;
                        const size_t before = to.size();
                        text.assign(in.begin() + static_cast<ptrdiff_t>(k ? ends[k - 1] : 0), in.begin() + static_cast<ptrdiff_t>(ends[k]));
                        text.push_back(u'\n');
                        line(text, room, made);
                        plain[k] = keep(made, drop, to);
                        sizes[k] = to.size() - before;
                    }
                }
            });
        }
        nb::list found = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(ends.size())));
        if (!found.is_valid()) throw nb::python_error();
        for (size_t k = 0, at = 0; k < ends.size(); at += sizes[k++]) {
            if (k % CHUNK == 0) at = 0;
            PyObject *made = Py_NewRef(Py_None);
            if (plain[k]) {
                Py_DECREF(made);
                made = PyUnicode_New(static_cast<Py_ssize_t>(sizes[k]), 127);
                if (!made) throw nb::python_error();
                std::copy_n(out[k / CHUNK].data() + at, sizes[k], PyUnicode_1BYTE_DATA(made));
            }
            PyList_SET_ITEM(found.ptr(), static_cast<Py_ssize_t>(k), made);
        }
        return found;
    }

    nb::list lines(nb::list texts) const {
        std::vector<std::u16string> in, out;
        for (nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text is a string");
            in.emplace_back();
            append_units(text.ptr(), in.back());
        }
        {
            nb::gil_scoped_release release;
            out.reserve(in.size());
            Room room;
            for (const auto &units : in) line(units, room, out.emplace_back());
        }
        nb::list made;
        for (const auto &units : out) made.append(python_string(units));
        return made;
    }

  private:
    static constexpr const char *MISFIT = "not an automaton: its tables do not fit together";

    void read_classes(const nb::bytes &classes) {
        fabula::require(classes.size() == 65536, MISFIT);
        const auto *c = static_cast<const uint8_t *>(classes.data());
        class_of_.assign(c, c + 65536);
    }
    void check_width() const {
        fabula::require(*std::max_element(class_of_.begin(), class_of_.end()) < width_ && width_ <= 256, MISFIT);
    }
    static void within(const std::vector<int32_t> &numbers, int64_t low, int64_t end) {
        for (const int32_t n : numbers) fabula::require(n >= low && n < end, MISFIT);
    }

    std::vector<uint8_t> class_of_;
    size_t width_ = 0;
    std::vector<int32_t> next_;     // [states, classes]
    std::vector<int32_t> accepts_;  // [states]
    std::vector<Rule> rules_;
    std::u16string blanks_;

    template <class Text> static bool printable(const Text &units) {
        return std::all_of(units.begin(), units.end(), [](auto c) { return c >= 0x20 && c < 0x7f; });
    }

    // The line, its end left out, without the tokens of `drop`; false where it is not printable ASCII.
    static bool keep(std::u16string &line, const Dropped &drop, std::string &out) {
        fabula::require(!line.empty() && line.back() == u'\n', "the rules lose the end of a line");
        line.pop_back();
        if (!printable(line)) return false;
        while (!line.empty() && line.back() == u' ') line.pop_back();
        bool first = true;
        for (size_t start = 0, end; start <= line.size(); start = end + 1) {
            end = std::min(line.find(u' ', start), line.size());
            const size_t before = out.size();
            if (!first) out += ' ';
            out.append(line.begin() + static_cast<ptrdiff_t>(start), line.begin() + static_cast<ptrdiff_t>(end));
            if (drop.has(string_view(out).substr(before + !first))) out.resize(before);
            else first = false;
        }
        return true;
    }

    static Numbers copied(const std::vector<int32_t> &values) {
        auto *kept = new std::vector<int32_t>(values);
        nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<int32_t> *>(p); });
        return Numbers(kept->data(), {kept->size()}, owner);
    }

    static Rule rule_of(const RuleData &data) {
        Rule rule;
        const auto &[ahead, cut, again, kind, whole, empty, edits] = data;
        const auto sane = [](int units) { return units >= 0 && units <= MOST_UNITS; };
        fabula::require(sane(ahead + (ahead == -1)) && sane(cut) && sane(again), "a rule gives back too much, or less than nothing");
        fabula::require(kind == "token" || kind == "skip" || kind == "line", "a rule is for a token, skip or line");
        rule.ahead = ahead, rule.cut = cut, rule.again = again;
        rule.kind = kind == "line" ? LINE : kind == "skip" ? SKIP : TOKEN;
        rule.fixed = !whole.is_none();
        if (rule.fixed) rule.whole = units_of(whole);
        rule.empty = units_of(empty);
        for (const auto &[old, with] : edits) {
            rule.edits.emplace_back(units_of(old), units_of(with));
            fabula::require(!rule.edits.back().first.empty(), "a rule replaces nothing by something");
            fabula::require(rule.edits.back().second.size() <= size_t(MOST_EDIT), "a rule makes too long a token");
        }
        fabula::require(std::max(rule.whole.size(), rule.empty.size()) <= size_t(MOST_UNITS), "a rule makes too long a token");
        return rule;
    }

    void determinise(const std::vector<std::vector<int32_t>> &reads, const std::vector<std::vector<int32_t>> &follow,
                     const std::vector<int32_t> &accept, const std::vector<int32_t> &first) {
        std::unordered_map<std::vector<int32_t>, int32_t, Hash> numbers;
        std::vector<std::vector<int32_t>> states;
        size_t kept = 0;  // positions in them
        const auto number = [&](const std::vector<int32_t> &positions) {
            const auto [found, fresh] = numbers.emplace(positions, static_cast<int32_t>(states.size()));
            if (fresh) {
                kept += positions.size();
                fabula::require(states.size() < MOST_STATES && kept <= MOST_POSITIONS && (states.size() + 1) * width_ <= MOST_TABLE,
                                "the rules need too many states");
                states.push_back(positions);
                int32_t rule = NO_RULE;
                for (const int32_t p : positions)
                    if (accept[p] != NO_RULE && (rule == NO_RULE || accept[p] < rule)) rule = accept[p];
                accepts_.push_back(rule);
            }
            return found->second;
        };
        number({});  // state 0: nothing read yet
        std::vector<uint32_t> seen(reads.size(), 0);
        std::vector<std::vector<int32_t>> targets(width_);
        for (size_t state = 0; state < states.size(); ++state) {
            for (auto &target : targets) target.clear();
            std::vector<int32_t> nexts;
            if (state == 0) nexts = first;
            else
                for (const int32_t p : states[state])
                    for (const int32_t q : follow[p])
                        if (seen[q] != state) seen[q] = static_cast<uint32_t>(state), nexts.push_back(q);
            std::sort(nexts.begin(), nexts.end());
            for (const int32_t q : nexts)
                for (const int32_t k : reads[q]) targets[k].push_back(q);
            next_.resize((state + 1) * width_, DEAD);
            for (size_t k = 0; k < width_; ++k)
                if (!targets[k].empty()) next_[state * width_ + k] = number(targets[k]);
        }
    }

    struct Room {  // of one thread
        std::unordered_set<uint64_t> doomed;  // (place, state) of the line at hand from where no match is ever reached
    };

    // The match at `start`.
    std::pair<size_t, int32_t> longest(const std::u16string &units, size_t start, Room &room) const {
        auto &doomed = room.doomed;
        int32_t state = 0, rule = NO_RULE, state_at_end = 0;
        size_t at = start, end = start;
        while (at < units.size() && (doomed.empty() || !doomed.count(key(at, state)))) {
            const int32_t target = next_[state * width_ + class_of_[units[at]]];
            if (target == DEAD) break;
            state = target, ++at;
            if (accepts_[state] != NO_RULE) end = at, rule = accepts_[state], state_at_end = state;
        }
        if (at - end > OVERSHOT) {
            state = state_at_end;
            for (size_t place = end; place < at; ++place) {
                if (place % NOTE_EVERY == 0 && place > end) doomed.insert(key(place, state));
                state = next_[state * width_ + class_of_[units[place]]];
            }
        }
        return {end, rule};
    }

    static uint64_t key(size_t place, int32_t state) { return static_cast<uint64_t>(place) << 20 | static_cast<uint64_t>(state); }

    void line(const std::u16string &units, Room &room, std::u16string &out) const {
        out.clear();
        out.reserve(units.size() + units.size() / 8 + 8);
        if (!room.doomed.empty()) room.doomed.clear();
        bool fresh = true;
        for (size_t at = 0; at < units.size();) {
            auto [end, number] = longest(units, at, room);
            if (number == NO_RULE) throw std::invalid_argument("no rule matches a unit");
            const Rule &rule = rules_[number];
            const size_t back = static_cast<size_t>(rule.cut + rule.again);
            const size_t stop = rule.ahead >= 0 ? end - std::min(end, static_cast<size_t>(rule.ahead)) : units.find_first_of(blanks_, at);
            if (stop > end || (rule.ahead < 0 && stop == end) || stop <= at + back) throw std::invalid_argument("a rule gives back all that it has matched");
            end = stop - static_cast<size_t>(rule.cut);
            if (rule.kind == TOKEN) {
                if (!fresh) out.push_back(u' ');
                fresh = false;
                append_token(rule, units, at, end, out);
            } else if (rule.kind == LINE && std::find(units.begin() + at, units.begin() + end, u'\n') != units.begin() + end) {
                out.push_back(u'\n');
                fresh = true;
            }
            at = end - static_cast<size_t>(rule.again);
        }
    }

    // The token, its ASCII letters in lower case; other letters are lowered by the caller, who knows their rules.
    static void append_token(const Rule &rule, const std::u16string &units, size_t at, size_t end, std::u16string &out) {
        const size_t start = out.size();
        if (rule.fixed) out += rule.whole;
        else if (rule.edits.empty()) out.append(units, at, end - at);
        else {
            std::u16string match = units.substr(at, end - at);
            for (const auto &[old, with] : rule.edits) {
                replace_all(match, old, with);
                fabula::require(match.size() <= size_t(MOST_EDIT) * (end - at), "a rule makes too long a token");
            }
            out += match.empty() ? rule.empty : match;
        }
        for (size_t i = start; i < out.size(); ++i)
            if (out[i] >= u'A' && out[i] <= u'Z') out[i] += u'a' - u'A';
    }
};

}  // namespace

FABULA_KERNEL(m) {
    nb::class_<Scanner>(m, "Scanner", "Twin of fabula.text.ptb.scanner.Scanner.")
        .def(nb::init<nb::bytes, const std::vector<nb::bytes> &, const std::vector<std::vector<int32_t>> &,
                      const std::vector<int32_t> &, const std::vector<int32_t> &, const std::vector<RuleData> &, nb::str>(),
             nb::arg("classes"), nb::arg("members"), nb::arg("follow"), nb::arg("accept"), nb::arg("first"),
             nb::arg("rules"), nb::arg("blanks"))
        .def(nb::init<nb::bytes, Table, Table, const std::vector<RuleData> &, nb::str>(), nb::arg("classes"), nb::arg("next"),
             nb::arg("accepts"), nb::arg("rules"), nb::arg("blanks"))
        .def("tables", &Scanner::tables, "(next, accepts): what the shorter constructor takes.")
        .def("kept", &Scanner::kept, nb::arg("texts"), nb::arg("dropped"), nb::arg("threads"),
             "The lines without some tokens; None where they are not printable ASCII.")
        .def("lines", &Scanner::lines, nb::arg("texts"), "The tokens of each text joined by blanks.");
}
