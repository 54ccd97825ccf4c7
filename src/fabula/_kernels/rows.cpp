// JSON arrays of equally long arrays of numbers, lifted out of a text as tables; twin of fabula/io/_tables.py.
//
// Plain JSON and nothing else: what is not such a table is left to the reader that can say what is wrong with it.
#include "kernel.hpp"

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

constexpr int64_t NOT_PLAIN = -1, MORE = -2;  // not a table of numbers · the text ends before the table does

struct Reader {
    const char *at, *end;
    bool keep;  // False: numbers are looked at, not read

    bool blank() {  // passes over white space; false at the end of the text
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
        return at < end;
    }

    // Digits into `mantissa`; a text ends in NUL, which is no digit.
    bool digits(uint64_t &mantissa) {
        const char *from = at;
        for (unsigned d; (d = static_cast<unsigned>(*at) - '0') < 10; ++at) mantissa = mantissa * 10 + d;
        return at > from;
    }

    // One JSON number: 1 read, 0 no number, -1 the text may end inside it.
    int number(double &value) {
        static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
        const char *from = at;
        const bool negative = *at == '-';
        at += negative;
        const char *whole = at;
        uint64_t mantissa = 0;
        if (!digits(mantissa)) return at == end ? -1 : 0;
        if (*whole == '0' && at - whole > 1) return 0;
        ptrdiff_t length = at - whole, scale = 0;
        if (*at == '.') {
            const char *fraction = ++at;
            if (!digits(mantissa)) return at == end ? -1 : 0;
            scale = at - fraction;
            length += scale;
        }
        if (*at == 'e' || *at == 'E') {
            length = 99;
            ++at;
            if (*at == '+' || *at == '-') ++at;
            uint64_t exponent = 0;
            if (!digits(exponent)) return at == end ? -1 : 0;
        }
        if (at == end) return -1;
        // Up to 15 digits and 10^15 are exact doubles, and one division rounds once (Clinger 1990).
        if (length > 15) return slow(from, value);
        if (!keep) return 1;
        value = static_cast<double>(mantissa) / tens[scale];
        if (negative) value = -value;
        return 1;
    }

    int slow(const char *from, double &value) {
#ifdef __cpp_lib_to_chars
        const auto read = std::from_chars(from, at, value);
        if (read.ec == std::errc() && read.ptr == at) return std::isfinite(value) ? 1 : 0;
#endif
        nb::gil_scoped_acquire python;
        const std::string text(from, at);  // too large or too small for from_chars, or no from_chars: as Python does
        value = PyOS_string_to_double(text.c_str(), nullptr, nullptr);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return std::isfinite(value) ? 1 : 0;
    }
};

// The array at r.at as rows appended to `values`; its end, NOT_PLAIN or MORE.
int64_t table(Reader &r, const char *data, std::vector<double> &values, int64_t &rows, int64_t &columns) {
    rows = columns = 0;
    if (r.at >= r.end || *r.at != '[') return NOT_PLAIN;
    ++r.at;
    if (!r.blank()) return MORE;
    if (*r.at == ']') return ++r.at - data;
    for (;;) {
        if (*r.at != '[') return NOT_PLAIN;
        ++r.at;
        int64_t width = 0;
        for (;;) {
            if (!r.blank()) return MORE;
            double value = 0.0;
            const int got = r.number(value);
            if (got < 1) return got < 0 ? MORE : NOT_PLAIN;
            if (r.keep) values.push_back(value);
            ++width;
            if (!r.blank()) return MORE;
            const char c = *r.at++;
            if (c == ']') break;
            if (c != ',') return NOT_PLAIN;
        }
        if (rows == 0) columns = width;
        else if (width != columns) return NOT_PLAIN;
        ++rows;
        if (!r.blank()) return MORE;
        const char c = *r.at++;
        if (c == ']') return r.at - data;
        if (c != ',') return NOT_PLAIN;
        if (!r.blank()) return MORE;
    }
}

template <class T> nb::object owned(std::vector<T> &&from, std::initializer_list<size_t> shape) {
    auto *kept = new std::vector<T>(std::move(from));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.begin(), owner));
}

// Every plain table that follows `"key": ` is lifted out of the text; `"\\u0000k"` marks the place of the k-th.
nb::object lift(nb::bytes text, const std::string &key, int64_t first, bool whole, bool keep) {
    const char *data = text.c_str(), *end = data + text.size();
    const std::string name = '"' + key + '"';
    std::string left;
    std::vector<double> values;
    std::vector<int64_t> shapes;
    if (keep) values.reserve(text.size() / 8);
    const std::boyer_moore_horspool_searcher finder(name.begin(), name.end());
    const char *done = data, *from = data;
    {
        nb::gil_scoped_release others;
        while (done < end) {
            const char *found = std::search(from, end, finder);
            if (found == end) {
                // A key may be cut in two by the end of the text.
                const char *safe = whole ? end : std::max(from, end - std::min<int64_t>(end - data, name.size() - 1));
                safe = std::max(done, safe);
                left.append(done, safe);
                done = safe;
                break;
            }
            Reader r{found + name.size(), end, keep};
            const bool colon = r.blank() && *r.at == ':';
            if (colon) ++r.at;
            const bool there = colon && r.blank();
            if (!whole && !there && r.at >= end) {  // the text ends before it is known what follows
                left.append(done, found);
                done = found;
                break;
            }
            const char *open = r.at;
            int64_t rows = 0, columns = 0, stop = NOT_PLAIN;
            const size_t before = values.size();
            if (there) stop = table(r, data, values, rows, columns);
            if (stop < 0) values.resize(before);
            if (stop == MORE && !whole) {
                left.append(done, found);
                done = found;
                break;
            }
            left.append(done, open);
            done = from = open;
            if (stop >= 0) {
                left += "\"\\u0000" + std::to_string(first + static_cast<int64_t>(shapes.size() / 2)) + '"';
                shapes.push_back(rows);
                shapes.push_back(columns);
                done = from = data + stop;
            }
        }
    }
    const size_t tables = shapes.size() / 2, numbers = values.size();
    return nb::make_tuple(nb::bytes(left.data(), left.size()), static_cast<int64_t>(done - data),
                          owned(std::move(values), {numbers}), owned(std::move(shapes), {tables, size_t{2}}));
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("lift", &lift, nb::arg("text"), nb::arg("key"), nb::arg("first"), nb::arg("whole"), nb::arg("keep"),
          "Twin of fabula.io._tables.lift_python.");
}
