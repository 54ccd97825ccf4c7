// Stories of a JSON text as columns: times, captions and ids of all videos end to end; twin of fabula/documents/columns_twin.py.
//
// The whole text is plain or none of it: nothing is said about what is not, for a reader that can say what is wrong with it,
// or that nothing is, begins again from the first byte.
#include "check.hpp"
#include "json.hpp"
#include "kernel.hpp"
#include "slots.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string_view>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace nb = nanobind;
using fabula::Json;
using fabula::owned;
using std::string_view;

namespace {

constexpr size_t LONGEST = 100000;                // bytes of a caption: fabula.documents.fields.LONGEST_CAPTION
constexpr int DEEPEST = 64;                       // lists and objects in each other, of what nobody keeps
constexpr size_t MOST_FIELDS = 64;                // of an object that nobody keeps, or beside those that are kept
constexpr size_t MOST_NAMES = 256;                // of fields that nobody keeps, in all of the text
constexpr uint32_t NONE = 0xFFFFFFFF;             // no caption
constexpr double ABSENT = std::numeric_limits<double>::quiet_NaN();

enum class Kind { TRUTH, RESULTS, PDVC, LINES };

Kind kind_named(const std::string &name) {
    static const char *const names[] = {"truth", "results", "pdvc", "lines"};
    for (int i = 0; i < 4; ++i)
        if (name == names[i]) return static_cast<Kind>(i);
    throw std::invalid_argument("no kind of stories is called " + name);
}

// Whether it is UTF-8 as Python reads it: no half characters, no long forms, no surrogates.
bool is_utf8(const char *from, const char *end) {
    const auto *at = reinterpret_cast<const unsigned char *>(from), *stop = reinterpret_cast<const unsigned char *>(end);
    while (at < stop) {
        if (stop - at >= 8) {
            uint64_t eight;
            std::memcpy(&eight, at, 8);
            if (!(eight & 0x8080808080808080u)) {
                at += 8;
                continue;
            }
        }
        const unsigned c = *at++;
        if (c < 0x80) continue;
        const int more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        if (c < 0xC2 || c > 0xF4 || stop - at < more) return false;
        uint32_t point = c & (0x3Fu >> more);
        for (int j = 0; j < more; ++j, ++at) {
            if ((*at & 0xC0) != 0x80) return false;
            point = point << 6 | (*at & 0x3Fu);
        }
        if ((more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10FFFF)) || (point >= 0xD800 && point < 0xE000))
            return false;
    }
    return true;
}

// The first sign of a text that ends it or needs a look: a quote, a backslash, a control character.
inline const char *next_sign(const char *at, const char *end) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    while (end - at >= 16) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at));
        const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(some, control), some);
        const __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(some, quote), _mm_cmpeq_epi8(some, escape)), low);
        if (const int bits = _mm_movemask_epi8(found)) return at + __builtin_ctz(static_cast<unsigned>(bits));
        at += 16;
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
    return at;
}

// Fields that nobody keeps, in the order of their first appearance, and how often each was seen.
struct Unused {
    std::vector<std::pair<string_view, int64_t>> counts;
    size_t first = 0;     // the story in which the first was seen
    size_t next = 0;      // which one probably comes next

    bool add(string_view name, size_t story) {
        for (size_t i = 0; i < counts.size(); ++i, ++next) {
            if (next >= counts.size()) next = 0;
            if (counts[next].first != name) continue;
            ++counts[next++].second;
            return true;
        }
        if (counts.empty()) first = story;
        counts.emplace_back(name, 1);
        next = counts.size();
        return counts.size() <= MOST_NAMES;
    }
};

struct Outer {  // a field of the root that is not read here
    string_view key;
    const char *from, *to;
};

// After any false the cursor is of no use, and nothing that was read.
class Reader {
  public:
    Reader(const char *at, const char *end, Kind kind) : r{at, end, kind == Kind::LINES}, kind_(kind) {}

    std::vector<string_view> ids;
    std::vector<int64_t> starts{0}, lines;
    std::vector<double> durations, spans, scores;  // scores: empty, or one for each event
    std::vector<uint32_t> captions;
    fabula::Texts words;  // the distinct captions: most systems say the same thing many times
    Unused of_videos, of_events;
    std::vector<Outer> outer;
    std::vector<string_view> first_fields;  // of the first event, of results

    bool run() {
        if (kind_ == Kind::LINES) return run_lines();
        r.blank();
        const bool is_truth = kind_ == Kind::TRUTH;
        if (!members([&](string_view key) { return is_truth ? truth(key) : root(key); })) return false;
        r.blank();
        return r.at == r.end && (is_truth || seen_results_);
    }

    // Room for what the text can hold at most; false where that is more than there is.
    bool prepare() {
        const char *at = r.at, *end = r.end;
        const auto lists = std::count(at, end, '['), objects = std::count(at, end, '{'), escapes = std::count(at, end, '\\');
        const bool truth = kind_ == Kind::TRUTH;
        const auto events = truth ? lists : objects, videos = truth || kind_ == Kind::LINES ? objects : lists;
        const double needs = 120.0 * static_cast<double>(events) + 400.0 * static_cast<double>(videos) + 64.0 * static_cast<double>(escapes);
        if (needs > 1 << 28 && needs > fabula::memory_there()) return false;
        spans.reserve(2 * static_cast<size_t>(events));
        captions.reserve(static_cast<size_t>(events));
        return true;
    }

  private:
    Json r;
    Kind kind_;
    bool seen_results_ = false;
    std::deque<std::string> kept_;          // texts that were written with escapes
    std::vector<string_view> names_;        // of the present object's fields that nobody keeps

    // --- texts ---------------------------------------------------------------------------------------------------------

    bool text(string_view &found) {
        if (*r.at != '"') return false;
        const char *from = ++r.at;
        r.at = next_sign(r.at, r.end);
        if (*r.at == '"') {
            found = string_view(from, static_cast<size_t>(r.at - from));
            ++r.at;
            return true;
        }
        if (*r.at != '\\') return false;
        std::string &made = kept_.emplace_back();
        for (;;) {
            made.append(from, r.at);
            if (*r.at == '"') break;
            if (*r.at != '\\' || !escaped(made)) return false;
            from = r.at;
            r.at = next_sign(r.at, r.end);
        }
        ++r.at;
        found = made;
        return true;
    }

    bool unit(uint32_t &found) {  // the four digits of \uXXXX
        found = 0;
        for (int i = 0; i < 4; ++i, ++r.at) {
            const char c = *r.at, low = static_cast<char>(c | 0x20);
            if (c >= '0' && c <= '9') found = found << 4 | static_cast<uint32_t>(c - '0');
            else if (low >= 'a' && low <= 'f') found = found << 4 | static_cast<uint32_t>(low - 'a' + 10);
            else return false;
        }
        return true;
    }

    bool escaped(std::string &to) {  // from the backslash on; half a character is not plain
        static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char c = *++r.at;
        if (c != 'u') {
            const char *found = c == 0 ? nullptr : std::strchr(plain, c);
            if (found == nullptr) return false;
            to += meant[found - plain];
            ++r.at;
            return true;
        }
        ++r.at;
        uint32_t point = 0, low = 0;
        if (!unit(point) || (point >= 0xDC00 && point < 0xE000)) return false;
        if (point >= 0xD800 && point < 0xDC00) {
            if (*r.at != '\\' || *++r.at != 'u') return false;
            ++r.at;
            if (!unit(low) || low < 0xDC00 || low >= 0xE000) return false;
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        }
        if (point < 0x80) to += static_cast<char>(point);
        else if (point < 0x800) to += {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
        else if (point < 0x10000)
            to += {static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 0x3F)), static_cast<char>(0x80 | (point & 0x3F))};
        else
            to += {static_cast<char>(0xF0 | point >> 18), static_cast<char>(0x80 | (point >> 12 & 0x3F)),
                   static_cast<char>(0x80 | (point >> 6 & 0x3F)), static_cast<char>(0x80 | (point & 0x3F))};
        return true;
    }

    bool caption() {
        uint32_t word = NONE;
        if (!words_of(word)) return false;
        captions.push_back(word);
        return true;
    }

    bool words_of(uint32_t &word) {
        const size_t before = kept_.size(), known = words.size();
        string_view said;
        if (!text(said) || said.size() > LONGEST) return false;
        word = words.number(said);
        if (words.size() == known) kept_.resize(before);
        return true;
    }

    // --- values --------------------------------------------------------------------------------------------------------

    // field(key) for each field of the object that begins here.
    template <class Field> bool members(Field field) {
        if (*r.at != '{') return false;
        ++r.at;
        r.blank();
        if (*r.at == '}') return ++r.at, true;
        for (;;) {
            string_view key;
            if (!text(key)) return false;
            r.blank();
            if (*r.at != ':') return false;
            ++r.at;
            r.blank();
            if (!field(key)) return false;
            r.blank();
            const char c = *r.at;
            if (c != ',' && c != '}') return false;
            ++r.at;
            if (c == '}') return true;
            r.blank();
        }
    }

    // item() for each element of the list that begins here.
    template <class Item> bool elements(Item item) {
        if (*r.at != '[') return false;
        ++r.at;
        r.blank();
        if (*r.at == ']') return ++r.at, true;
        for (;;) {
            if (!item()) return false;
            r.blank();
            const char c = *r.at;
            if (c != ',' && c != ']') return false;
            ++r.at;
            if (c == ']') return true;
            r.blank();
        }
    }

    bool literal(const char *word) {
        const size_t n = std::strlen(word);
        if (static_cast<size_t>(r.end - r.at) < n || std::memcmp(r.at, word, n) != 0) return false;
        r.at += n;
        return true;
    }

    // Any value, which nobody keeps.
    bool skip(int depth = 1) {
        string_view unread;
        double number = 0.0;
        const size_t before = kept_.size();
        switch (*r.at) {
            case '"': return text(unread) && (kept_.resize(before), true);
            case 't': return literal("true");
            case 'f': return literal("false");
            case 'n': return literal("null");
            case '[': return depth <= DEEPEST && elements([&] { return skip(depth + 1); });
            case '{': {
                if (depth > DEEPEST) return false;
                std::vector<string_view> keys;
                return members([&](string_view key) { return fresh(keys, key) && skip(depth + 1); });
            }
            default: return r.number(number);
        }
    }

    static bool fresh(std::vector<string_view> &keys, string_view key) {
        for (const string_view other : keys)
            if (other == key) return false;  // twice
        keys.push_back(key);
        return keys.size() <= MOST_FIELDS;
    }

    bool unused(string_view key, Unused &counted) {
        return fresh(names_, key) && counted.add(key, ids.size()) && skip();
    }

    bool span() {  // [start, end]
        if (*r.at != '[') return false;
        ++r.at;
        for (const char close : {',', ']'}) {
            double value = 0.0;
            r.blank();
            if (!r.number(value)) return false;
            spans.push_back(value);
            r.blank();
            if (*r.at != close) return false;
            ++r.at;
        }
        return true;
    }

    bool once(unsigned &seen, unsigned bit) {  // a key that stands twice is not plain
        const bool is_new = !(seen & bit);
        seen |= bit;
        return is_new;
    }

    bool positive(double &value) { return r.number(value) && value > 0; }

    void score(double value) {  // of the event at hand
        scores.resize(captions.size(), ABSENT);
        scores.push_back(value);
    }

    void story(string_view id, double duration) {
        ids.push_back(id);
        durations.push_back(duration);
        starts.push_back(static_cast<int64_t>(captions.size()));
    }

    // --- the shapes ----------------------------------------------------------------------------------------------------

    // {"duration": s, "timestamps": [[start, end], …], "sentences": [text, …]}
    bool truth(string_view id) {
        unsigned seen = 0;
        double duration = ABSENT;
        names_.clear();
        const bool good = members([&](string_view key) {
            if (key == "timestamps") return once(seen, 1) && elements([&] { return span(); });
            if (key == "sentences") return once(seen, 2) && elements([&] { return caption(); });
            if (key == "duration") return once(seen, 4) && positive(duration);
            return unused(key, of_videos);
        });
        if (!good || !(seen & 1)) return false;
        if (!(seen & 2)) captions.resize(spans.size() / 2, NONE);
        if (captions.size() * 2 != spans.size()) return false;
        story(id, duration);
        return true;
    }

    // {…, "results": {video: [event, …]}, …}
    bool root(string_view key) {
        if (key == "results") {
            if (seen_results_) return false;
            seen_results_ = true;
            return members([&](string_view id) { return results(id); });
        }
        const char *from = r.at;
        if (outer.size() >= MOST_FIELDS || !skip()) return false;
        for (const Outer &other : outer)
            if (other.key == key) return false;
        outer.push_back({key, from, r.at});
        return true;
    }

    bool results(string_view id) {
        double duration = ABSENT;
        if (!elements([&] { return predicted(duration); })) return false;
        story(id, duration);
        return true;
    }

    // {"sentence": text, "timestamp": [start, end]}; of PDVC also "proposal_score" and "vid_duration"
    bool predicted(double &duration) {
        const bool pdvc = kind_ == Kind::PDVC, is_first = captions.empty();
        unsigned seen = 0;
        double said = ABSENT;
        uint32_t word = NONE;
        names_.clear();
        const bool good = members([&](string_view key) {
            if (is_first) first_fields.push_back(key);
            if (key == "sentence") return once(seen, 1) && words_of(word);
            if (key == "timestamp") return once(seen, 2) && span();
            if (pdvc && key == "proposal_score") return once(seen, 4) && r.number(said);
            if (pdvc && key == "vid_duration") {
                double seconds = 0.0;
                if (!once(seen, 8) || !positive(seconds)) return false;
                const bool agrees = duration != duration || duration == seconds;
                duration = seconds;
                return agrees;
            }
            return unused(key, of_events);
        });
        if (!good || !(seen & 2)) return false;
        if (seen & 4) score(said);
        else if (!scores.empty()) scores.push_back(ABSENT);
        captions.push_back(word);
        return true;
    }

    // A line a video: {"id": video, "duration": s, "events": [event, …]}
    bool run_lines() {
        for (int64_t newlines = 0;;) {
            for (r.blank(); *r.at == '\n'; r.blank()) ++newlines, ++r.at;
            if (r.at >= r.end) return r.at == r.end;
            if (!line()) return false;
            lines.push_back(newlines);
            r.blank();
            if (*r.at != '\n' && r.at != r.end) return false;
        }
    }

    bool line() {
        unsigned seen = 0;
        double duration = ABSENT;
        string_view id;
        std::vector<string_view> names;  // the events have theirs
        const bool good = members([&](string_view key) {
            if (key == "id") return once(seen, 1) && text(id);
            if (key == "duration") return once(seen, 2) && positive(duration);
            if (key == "events") return once(seen, 4) && elements([&] { return event(); });
            return fresh(names, key) && of_videos.add(key, ids.size()) && skip();
        });
        if (!good || (seen & 5) != 5) return false;
        story(id, duration);
        return true;
    }

    // {"start": s, "end": s, "caption": text, "score": x}
    bool event() {
        unsigned seen = 0;
        double start = 0.0, end = 0.0, said = ABSENT;
        uint32_t word = NONE;
        names_.clear();
        const bool good = members([&](string_view key) {
            if (key == "start") return once(seen, 1) && r.number(start);
            if (key == "end") return once(seen, 2) && r.number(end);
            if (key == "caption") return once(seen, 4) && words_of(word);
            if (key == "score") return once(seen, 8) && r.number(said);
            return unused(key, of_events);
        });
        if (!good || (seen & 3) != 3) return false;
        spans.push_back(start);
        spans.push_back(end);
        if (seen & 8) score(said);
        else if (!scores.empty()) scores.push_back(ABSENT);
        captions.push_back(word);
        return true;
    }
};

nb::object text_of(string_view text) {
    nb::object made = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

nb::list list_of(size_t size) {
    nb::list made = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(size)));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

void put(nb::list &list, size_t k, nb::object what) {
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(k), what.release().ptr());
}

nb::list texts_of(const std::vector<string_view> &texts) {
    nb::list made = list_of(texts.size());
    for (size_t k = 0; k < texts.size(); ++k) put(made, k, text_of(texts[k]));
    return made;
}

// One object for each distinct caption.
nb::list captions_of(const Reader &reader) {
    nb::list made = list_of(reader.captions.size());
    std::vector<PyObject *> known(reader.words.size(), nullptr);  // the list owns them
    for (size_t k = 0; k < reader.captions.size(); ++k) {
        const uint32_t word = reader.captions[k];
        if (word == NONE) {
            put(made, k, nb::none());
            continue;
        }
        if (known[word] != nullptr) {
            put(made, k, nb::borrow(known[word]));
            continue;
        }
        nb::object text = text_of(reader.words.all()[word]);
        known[word] = text.ptr();
        put(made, k, std::move(text));
    }
    return made;
}

nb::list counts_of(const Unused &unused) {
    nb::list made;
    for (const auto &[name, count] : unused.counts) made.append(nb::make_tuple(text_of(name), count));
    return made;
}

nb::object stories(nb::bytes text, int64_t at, const std::string &kind) {
    const char *data = text.c_str(), *end = data + text.size();
    if (at < 0 || at > static_cast<int64_t>(text.size())) throw std::invalid_argument("the first byte is none of the text");
    Reader reader(data + at, end, kind_named(kind));
    bool plain;
    {
        nb::gil_scoped_release others;
        plain = is_utf8(data + at, end) && reader.prepare() && reader.run();
    }
    if (!plain) return nb::none();
    nb::list outer;
    for (const Outer &field : reader.outer) outer.append(nb::make_tuple(text_of(field.key), field.from - data, field.to - data));
    nb::list ids = texts_of(reader.ids), captions = captions_of(reader), fields = texts_of(reader.first_fields);
    nb::list videos = counts_of(reader.of_videos), events = counts_of(reader.of_events);
    const bool events_first = !reader.of_events.counts.empty() && (reader.of_videos.counts.empty() || reader.of_events.first < reader.of_videos.first);
    const size_t N = reader.captions.size(), V = reader.ids.size(), S = reader.scores.size(), L = reader.lines.size();
    reader.spans.shrink_to_fit();
    return nb::make_tuple(ids, owned(std::move(reader.starts), {V + 1}), owned(std::move(reader.durations), {V}),
                          owned(std::move(reader.spans), {N, size_t{2}}), captions, owned(std::move(reader.scores), {S}),
                          owned(std::move(reader.lines), {L}), videos, events, events_first, outer, fields);
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("stories", &stories, nb::arg("text"), nb::arg("at"), nb::arg("kind"), "Twin of fabula.documents.columns_twin.scan_stories_python.");
}
