// A JSON array of equally long arrays of numbers, read straight into a table; twin of fabula/io/_tables.py.
//
// Plain JSON and nothing else: what is not such a table is left to the reader that can say what is wrong with it.
#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace {

constexpr int64_t NOT_PLAIN = -1, MORE = -2;  // not a table of numbers · the text ends before the table does

struct Reader {
    const char *at, *end;

    bool blank() {  // passes over white space; false at the end of the text
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
        return at < end;
    }

    bool digits() {
        const char *from = at;
        while (at < end && *at >= '0' && *at <= '9') ++at;
        return at > from;
    }

    // One JSON number: 1 read, 0 no number, -1 the text may end inside it.
    int number(double &value) {
        const char *from = at;
        if (*at == '-') ++at;
        if (at == end) return -1;
        const char *whole = at;
        if (!digits()) return 0;
        if (*whole == '0' && at - whole > 1) return 0;
        bool exact = true;
        uint64_t mantissa = 0;
        int scale = 0;
        const char *whole_end = at, *fraction = at, *fraction_end = at;
        if (at < end && *at == '.') {
            fraction = ++at;
            if (at == end) return -1;
            if (!digits()) return 0;
            fraction_end = at;
        }
        if (at < end && (*at == 'e' || *at == 'E')) {
            exact = false;
            ++at;
            if (at < end && (*at == '+' || *at == '-')) ++at;
            if (at == end) return -1;
            if (!digits()) return 0;
        }
        if (at == end) return -1;
        // Up to 15 digits and 10^22 both are exact doubles, and one division rounds once (Clinger 1990).
        scale = static_cast<int>(fraction_end - fraction);
        if (exact && (whole_end - whole) + scale <= 15) {
            for (const char *c = whole; c < whole_end; ++c) mantissa = mantissa * 10 + static_cast<uint64_t>(*c - '0');
            for (const char *c = fraction; c < fraction_end; ++c)
                mantissa = mantissa * 10 + static_cast<uint64_t>(*c - '0');
            static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
                                          1e11, 1e12, 1e13, 1e14, 1e15};
            value = static_cast<double>(mantissa) / tens[scale];
            if (*from == '-') value = -value;
            return 1;
        }
        return slow(from, value);
    }

    int slow(const char *from, double &value) {
#ifdef __cpp_lib_to_chars
        const auto read = std::from_chars(from, at, value);
        if (read.ec == std::errc() && read.ptr == at) return std::isfinite(value) ? 1 : 0;
#endif
        const std::string text(from, at);  // too large or too small for from_chars, or no from_chars: as Python does
        value = PyOS_string_to_double(text.c_str(), nullptr, nullptr);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return std::isfinite(value) ? 1 : 0;
    }
};

nb::object failed(int64_t status) { return nb::make_tuple(status, nb::none()); }

nb::object number_rows(nb::bytes text, int64_t start) {
    const char *data = text.c_str();
    Reader r{data + start, data + text.size()};
    std::vector<double> values;
    size_t rows = 0, columns = 0;
    if (start < 0 || r.at >= r.end || *r.at != '[') return failed(NOT_PLAIN);
    ++r.at;
    if (!r.blank()) return failed(MORE);
    if (*r.at == ']') ++r.at;
    else
        for (;;) {
            if (*r.at != '[') return failed(NOT_PLAIN);
            ++r.at;
            size_t width = 0;
            for (;;) {
                if (!r.blank()) return failed(MORE);
                double value = 0.0;
                const int got = r.number(value);
                if (got < 1) return failed(got < 0 ? MORE : NOT_PLAIN);
                values.push_back(value);
                ++width;
                if (!r.blank()) return failed(MORE);
                const char c = *r.at++;
                if (c == ']') break;
                if (c != ',') return failed(NOT_PLAIN);
            }
            if (rows == 0) columns = width;
            else if (width != columns) return failed(NOT_PLAIN);
            ++rows;
            if (!r.blank()) return failed(MORE);
            const char c = *r.at++;
            if (c == ']') break;
            if (c != ',') return failed(NOT_PLAIN);
            if (!r.blank()) return failed(MORE);
        }
    auto *kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
    nb::ndarray<nb::numpy, double, nb::ndim<2>> table(kept->data(), {rows, columns}, owner);
    return nb::make_tuple(static_cast<int64_t>(r.at - data), nb::cast(table));
}

}  // namespace

void bind_rows(nb::module_ &m) {
    m.def("number_rows", &number_rows, nb::arg("text"), nb::arg("start"),
          "Twin of fabula.io._tables.number_rows_python.");
}
