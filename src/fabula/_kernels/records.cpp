// Plain JSON records as columns, without a Python object per number; twin of fabula/documents/records/plain.py.
//
// It reads on as long as records are plain, and stops before the first that is not: a reader that can say what is
// wrong with it, or that nothing is, takes over there.
#include "check.hpp"
#include "json.hpp"
#include "kernel.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cctype>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace nb = nanobind;
using fabula::Json;
using fabula::owned;
using std::string_view;

namespace {

constexpr int64_t LONGEST = 100000;  // fabula.documents.fields.LONGEST_CAPTION

enum class Kind { ID, NAME, WORD, TEXT, NUMBER, WINDOW, WINDOWS, EITHER, TABLE, SKIP, NUMBERS, WHOLES };

Kind kind_named(const std::string &name) {
    static const char *const names[] = {"id",      "name",   "word",  "text", "number",  "window",
                                        "windows", "either", "table", "skip", "numbers", "wholes"};
    for (int i = 0; i < 12; ++i)
        if (name == names[i]) return static_cast<Kind>(i);
    throw std::invalid_argument("no kind of field is called " + name);
}

struct Word {
    string_view text;       // between the quotes; no data: there is none
    int64_t number = 0;     // of an id that is one
    bool escaped = false, ascii = true;
};

struct Column {
    std::string key;
    Kind kind;
    size_t seen = 0;              // in how many records up to now, the present one included
    std::vector<Word> words;      // ID, NAME, WORD, TEXT
    std::vector<double> values;   // NUMBER, WINDOW …, TABLE, NUMBERS
    std::vector<int64_t> wholes;  // WHOLES
    std::vector<int64_t> shapes;  // TABLE: rows, columns of each record; WINDOW …, NUMBERS, WHOLES: how many

    bool has_words() const { return kind <= Kind::TEXT; }
    bool has_windows() const { return kind == Kind::WINDOW || kind == Kind::WINDOWS || kind == Kind::EITHER; }
    bool optional() const {
        return kind == Kind::WORD || kind == Kind::TEXT || kind == Kind::NUMBER || kind == Kind::SKIP;
    }

    void cut(size_t records) {  // forget all records after so many
        if (has_words()) words.resize(records);
        else if (kind == Kind::NUMBER) values.resize(records);
        else if (kind == Kind::SKIP) return;
        else {
            const size_t each = kind == Kind::TABLE ? 2 : 1;
            if (shapes.size() > records * each) shapes.resize(records * each);
            size_t numbers = 0;
            for (size_t i = 0; i < shapes.size(); i += each)
                numbers += static_cast<size_t>(each == 2 ? shapes[i] * shapes[i + 1] : shapes[i] * (has_windows() ? 2 : 1));
            if (kind == Kind::WHOLES) wholes.resize(numbers);
            else values.resize(numbers);
        }
    }

    void complete(size_t records) {  // what a record does not have
        if (has_words() && words.size() < records) words.emplace_back();
        if (kind == Kind::NUMBER && values.size() < records)
            values.push_back(std::numeric_limits<double>::quiet_NaN());
    }
};

// A JSON string; its escapes are of the right form, its bytes not yet known to be UTF-8.
bool string(Json &r, Word &word) {
    if (*r.at != '"') return false;
    const char *from = ++r.at;
    for (;; ++r.at) {
        const unsigned char c = static_cast<unsigned char>(*r.at);
        if (c == '"') break;
        if (c < 0x20) return false;
        if (c >= 0x80) word.ascii = false;
        if (c != '\\') continue;
        word.escaped = true;
        const char e = *++r.at;
        if (e == 'u') {
            for (int i = 0; i < 4; ++i)
                if (!std::isxdigit(static_cast<unsigned char>(*++r.at))) return false;
        } else if (e == 0 || !std::strchr("\"\\/bfnrt", e)) return false;
    }
    word.text = string_view(from, static_cast<size_t>(r.at - from));
    ++r.at;
    return true;
}

bool literal(Json &r, const char *word) {
    const size_t n = std::strlen(word);
    if (static_cast<size_t>(r.end - r.at) < n || std::memcmp(r.at, word, n) != 0) return false;
    r.at += n;
    return true;
}

bool whole_number(Json &r, int64_t &value) {  // of up to 18 digits, nothing behind the point
    const bool negative = *r.at == '-';
    const char *from = r.at + negative;
    uint64_t found = 0;
    r.at = fabula::digits(from, found);
    if (r.at == from || r.at - from > 18 || (*from == '0' && r.at - from > 1)) return false;
    value = negative ? -static_cast<int64_t>(found) : static_cast<int64_t>(found);
    return *r.at != '.' && *r.at != 'e' && *r.at != 'E';
}

bool two_numbers(Json &r, std::vector<double> &values) {  // after the bracket
    for (const char close : {',', ']'}) {
        double value = 0.0;
        r.blank();
        if (!r.number(value)) return false;
        values.push_back(value);
        r.blank();
        if (*r.at++ != close) return false;
    }
    return true;
}

// [1, 2.5, …], or [] ; of WHOLES whole numbers from 0 on
bool listed(Json &r, Column &c) {
    if (*r.at++ != '[') return false;
    r.blank();
    int64_t n = 0;
    if (*r.at == ']') return ++r.at, c.shapes.push_back(0), true;
    for (;;) {
        if (c.kind == Kind::WHOLES) {
            int64_t whole = 0;
            if (!whole_number(r, whole) || whole < 0) return false;
            c.wholes.push_back(whole);
        } else {
            double value = 0.0;
            if (!r.number(value)) return false;
            c.values.push_back(value);
        }
        ++n;
        r.blank();
        const char next = *r.at++;
        if (next == ']') return c.shapes.push_back(n), true;
        if (next != ',') return false;
        r.blank();
    }
}

bool windows(Json &r, Column &c) {
    if (*r.at++ != '[') return false;
    r.blank();
    if (*r.at != '[') {
        c.shapes.push_back(1);
        return c.kind != Kind::WINDOWS && two_numbers(r, c.values);
    }
    if (c.kind == Kind::WINDOW) return false;
    for (int64_t n = 1;; ++n) {
        if (*r.at++ != '[' || !two_numbers(r, c.values)) return false;
        r.blank();
        const char next = *r.at++;
        if (next == ']') return c.shapes.push_back(n), true;
        if (next != ',') return false;
        r.blank();
    }
}

class Reader {
  public:
    Reader(Json text, std::vector<Column> columns, bool others)
        : columns(std::move(columns)), r(text), others(others) {}

    std::vector<Column> columns;
    std::vector<std::pair<const char *, int64_t>> starts;  // where a record begins, and newlines before it
    std::vector<std::pair<size_t, string_view>> doubtful;  // strings that nobody keeps: in which record
    int64_t newlines = 0;
    bool ended = false;

    const char *run() {  // where it stopped
        for (;;) {
            for (r.blank(); r.lines && *r.at == '\n'; r.blank()) ++newlines, ++r.at;
            const char *from = r.at;
            if (r.lines && r.at >= r.end) return ended = true, from;
            starts.emplace_back(from, newlines);
            if (!record() || !after()) {
                cut(starts.size() - 1);
                return from;
            }
            if (ended) return r.blank(), r.at;
        }
    }

    const char *cut(size_t records) {  // where the first record is that was taken back
        const auto [at, line] = starts[records];
        starts.resize(records);
        newlines = line;
        ended = false;
        for (Column &c : columns) c.cut(records);
        return at;
    }

  private:
    Json r;
    bool others;
    std::vector<string_view> names;  // of this record's fields that nobody asked for
    size_t next = 0;                 // which column probably comes next

    bool after() {
        r.blank();
        if (r.lines) return *r.at == '\n' || r.at >= r.end;
        const char c = *r.at++;
        ended = c == ']';
        return ended || c == ',';
    }

    bool record() {
        if (*r.at++ != '{') return false;
        names.clear();
        const size_t n = starts.size();
        r.blank();
        if (*r.at == '}') ++r.at;
        else
            for (;;) {
                Word key;
                if (!string(r, key) || key.escaped || !key.ascii) return false;
                r.blank();
                if (*r.at++ != ':') return false;
                r.blank();
                if (!field(key.text, n)) return false;
                r.blank();
                const char c = *r.at++;
                if (c == '}') break;
                if (c != ',') return false;
                r.blank();
            }
        for (Column &c : columns) {
            if (c.seen != n && !c.optional()) return false;
            c.complete(n);
        }
        return true;
    }

    bool field(string_view key, size_t n) {
        for (size_t i = 0; i < columns.size(); ++i, ++next) {
            if (next >= columns.size()) next = 0;
            Column &c = columns[next];
            if (c.key != key) continue;
            ++next;
            if (c.seen == n) return false;  // twice
            c.seen = n;
            return c.kind == Kind::SKIP ? passed(n) : value(c);
        }
        for (const string_view name : names)
            if (name == key) return false;
        names.push_back(key);
        return others && passed(n);
    }

    bool passed(size_t n) {
        Word word;
        double value = 0.0;
        if (*r.at != '"') return literal(r, "true") || literal(r, "false") || literal(r, "null") || r.number(value);
        if (!string(r, word)) return false;
        if (!word.ascii) doubtful.emplace_back(n - 1, word.text);
        return true;
    }

    bool value(Column &c) {
        const bool may_be_null = c.kind == Kind::TEXT || c.kind == Kind::NUMBER;
        if (may_be_null && *r.at == 'n') return literal(r, "null");
        if (c.has_words()) {
            Word word;
            const bool good = c.kind == Kind::ID && *r.at != '"' ? whole_number(r, word.number) : string(r, word);
            c.words.push_back(word);
            return good && word.text.size() <= LONGEST;
        }
        if (c.kind == Kind::NUMBER) {
            double number = 0.0;
            const bool good = r.number(number);
            c.values.push_back(number);
            return good;
        }
        if (c.has_windows()) return windows(r, c);
        if (c.kind == Kind::NUMBERS || c.kind == Kind::WHOLES) return listed(r, c);
        int64_t rows = 0, width = 0;
        Json here = r;  // a copy, which can live in registers
        const bool good = here.table(c.values, rows, width);
        r.at = here.at;
        c.shapes.push_back(rows);
        c.shapes.push_back(width);
        return good;
    }
};

// What no text is (ValueError and its kin) is for another reader; anything else, Ctrl-C among it, is for the caller.
void pass_over_error() {
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) throw nb::python_error();
    PyErr_Clear();
}

// The word as Python has it: a new reference; null without an exception where only Python can say what it is.
PyObject *object_of(const Word &word, Kind kind, nb::handle loads) {
    if (word.text.data() == nullptr) {
        if (kind == Kind::ID) return PyLong_FromLongLong(word.number);
        Py_INCREF(Py_None);
        return Py_None;
    }
    const auto size = static_cast<Py_ssize_t>(word.text.size());
    PyObject *made;
    if (word.escaped) {
        nb::bytes quoted(word.text.data() - 1, word.text.size() + 2);
        made = PyObject_CallOneArg(loads.ptr(), quoted.ptr());
        if (made != nullptr && !PyUnicode_Check(made)) {
            Py_DECREF(made);
            throw nb::type_error("loads must make a text of a text");
        }
        if (made != nullptr && PyUnicode_AsUTF8AndSize(made, nullptr) == nullptr) Py_CLEAR(made);  // half a character
    } else
        made = PyUnicode_DecodeUTF8(word.text.data(), size, nullptr);
    if (made == nullptr) pass_over_error();
    return made;
}

// How many of the first `records` words could be made.
size_t made_words(const Column &c, size_t records, nb::handle loads, PyObject *list) {
    for (size_t i = 0; i < records; ++i) {
        PyObject *one = object_of(c.words[i], c.kind, loads);
        if (one == nullptr) return i;
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), one);
    }
    return records;
}

nb::object column_of(Column &c, nb::list words) {
    const size_t shapes = c.shapes.size(), values = c.values.size();
    if (c.has_words()) return words;
    if (c.kind == Kind::NUMBER) return owned(std::move(c.values), {values});
    if (c.kind == Kind::SKIP) return nb::none();
    if (c.kind == Kind::WHOLES) {
        const size_t wholes = c.wholes.size();
        return nb::make_tuple(owned(std::move(c.wholes), {wholes}), owned(std::move(c.shapes), {shapes}));
    }
    if (c.kind == Kind::NUMBERS) return nb::make_tuple(owned(std::move(c.values), {values}), owned(std::move(c.shapes), {shapes}));
    if (c.has_windows())
        return nb::make_tuple(owned(std::move(c.values), {values / 2, size_t{2}}), owned(std::move(c.shapes), {shapes}));
    return nb::make_tuple(owned(std::move(c.values), {values}), owned(std::move(c.shapes), {shapes / 2, size_t{2}}));
}

struct Held {  // a view of a bytes-like object
    Py_buffer view;
    explicit Held(nb::handle from) {
        if (PyObject_GetBuffer(from.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    ~Held() { PyBuffer_Release(&view); }
    const char *data(int64_t at, int64_t end) const {
        const char *from = static_cast<const char *>(view.buf);
        if (at < 0 || at > end || end >= view.len || from[end] != 0)
            throw std::invalid_argument("the text must end in NUL");
        return from;
    }
};

nb::object records(nb::object text, int64_t at, int64_t end, bool lines,
                   const std::vector<std::pair<std::string, std::string>> &fields, bool others, nb::object loads) {
    Held held(text);
    const char *data = held.data(at, end);
    std::vector<Column> columns;
    for (const auto &[key, kind] : fields) {
        for (const Column &other : columns)
            if (other.key == key) throw std::invalid_argument("the field " + key + " is asked for twice");
        columns.push_back(Column{key, kind_named(kind)});
        if (columns.back().kind == Kind::TABLE) columns.back().values.reserve(static_cast<size_t>(end - at) / 6);
    }
    Reader reader(Json{data + at, data + end, lines}, std::move(columns), others);
    const char *stop;
    {
        nb::gil_scoped_release free;
        stop = reader.run();
    }
    size_t n = reader.starts.size();
    for (const auto &[record, word] : reader.doubtful) {
        PyObject *one = record < n ? PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), nullptr) : Py_None;
        if (one == nullptr) pass_over_error(), n = record;
        else if (one != Py_None) Py_DECREF(one);
    }
    nb::list out;
    std::vector<nb::list> made;
    for (const Column &c : reader.columns) {
        made.push_back(nb::steal<nb::list>(PyList_New(c.has_words() ? static_cast<Py_ssize_t>(n) : 0)));
        if (!made.back().is_valid()) throw nb::python_error();
        if (c.has_words()) n = made_words(c, n, loads, made.back().ptr());
    }
    if (n < reader.starts.size()) stop = reader.cut(n);
    for (size_t i = 0; i < made.size(); ++i) {
        const Py_ssize_t size = PyList_GET_SIZE(made[i].ptr());
        if (static_cast<size_t>(size) > n && PyList_SetSlice(made[i].ptr(), static_cast<Py_ssize_t>(n), size, nullptr) != 0)
            throw nb::python_error();
        out.append(column_of(reader.columns[i], made[i]));
    }
    return nb::make_tuple(static_cast<int64_t>(stop - data), reader.ended, reader.newlines, n, out);
}

// Where the value that begins at `at` ends, by its brackets and quotes alone; -1 where the text ends before.
int64_t extent(nb::object text, int64_t at, int64_t end) {
    Held held(text);
    const char *data = held.data(at, end), *p = data + at, *stop = data + end;
    int64_t depth = 0;
    for (; p < stop; ++p) {
        if (*p == '"') {
            for (++p; p < stop && *p != '"'; ++p) p += *p == '\\';
            if (p >= stop) return -1;
        } else if (*p == '{' || *p == '[') ++depth;
        else if (*p == '}' || *p == ']') {
            if (depth == 0) return p - data;
            --depth;
        } else if (depth > 0 || !(*p == ',' || *p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')) continue;
        else return p - data;  // behind a number or a word
        if (depth == 0) return p + 1 - data;
    }
    return -1;
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("records", &records, nb::arg("text"), nb::arg("at"), nb::arg("end"), nb::arg("lines"), nb::arg("fields"),
          nb::arg("others"), nb::arg("loads"), "Twin of fabula.documents.records.plain.scan_records_python.");
    m.def("extent", &extent, nb::arg("text"), nb::arg("at"), nb::arg("end"), "Twin of fabula.documents.records.plain.find_extent_python.");
}
