// A cursor over plain JSON: what the kernels that read files share. The text must end in NUL, which is part of nothing.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace fabula {

inline const char *digits(const char *at, uint64_t &mantissa) {
    for (unsigned d; (d = static_cast<unsigned>(*at) - '0') < 10; ++at) mantissa = mantissa * 10 + d;
    return at;
}

// A number that is too long for exact arithmetic; NaN where it is not finite.
inline double rounded(const char *from, const char *to) {
    double value = 0.0;
#ifdef __cpp_lib_to_chars
    const auto read = std::from_chars(from, to, value);
    if (read.ec == std::errc() && read.ptr == to) return std::isfinite(value) ? value : NAN;
#endif
    nanobind::gil_scoped_acquire python;
    const std::string text(from, to);  // too large or too small for from_chars, or no from_chars: as Python does
    value = PyOS_string_to_double(text.c_str(), nullptr, nullptr);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return NAN;
    }
    return std::isfinite(value) ? value : NAN;
}

// Where a number with an exponent or many digits ends, behind which digits `at` stands; null: it is none.
inline const char *far_number(const char *from, const char *at, double &value) {
    if ((*at | 0x20) == 'e') {
        ++at;
        if (*at == '+' || *at == '-') ++at;
        uint64_t unread = 0;
        const char *exponent = at;
        at = digits(exponent, unread);
        if (at == exponent) return nullptr;
    }
    value = rounded(from, at);
    return std::isnan(value) ? nullptr : at;
}

struct Json {
    const char *at, *end;
    bool lines = false;  // True: a newline ends a record, and is no white space

    void blank() {  // passes over white space
        while (static_cast<unsigned char>(*at) <= ' ') {
            if (*at != ' ' && *at != '\t' && *at != '\r' && (*at != '\n' || lines)) break;
            ++at;
        }
    }

    bool number(double &value) {  // one JSON number; a text does not end in one
        static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
        const char *from = at, *whole = at + (*at == '-');
        uint64_t mantissa = 0;
        at = digits(whole, mantissa);
        if (at == whole || (*whole == '0' && at - whole > 1)) return false;
        ptrdiff_t length = at - whole, scale = 0;
        if (*at == '.') {
            const char *fraction = ++at;
            at = digits(fraction, mantissa);
            if (at == fraction) return false;
            scale = at - fraction;
            length += scale;
        }
        if ((*at | 0x20) == 'e' || length > 15) {
            double far = 0.0;  // of its own: `value` can stay in a register
            at = far_number(from, at, far);
            value = far;
            return at != nullptr;
        }
        value = static_cast<double>(static_cast<int64_t>(mantissa));
        if (scale > 0) value /= tens[scale];  // both are exact: one division rounds once (Clinger 1990)
        if (*from == '-' && (mantissa || scale)) value = -value;  // -0 is a whole number, and those have one zero
        return true;
    }

    // Rows of equally many numbers, [[1, 2], [3, 4]], appended to `values`; after false the cursor is of no use.
    bool table(std::vector<double> &values, int64_t &rows, int64_t &columns) {
        rows = columns = 0;
        if (*at != '[') return false;
        ++at;
        blank();
        if (*at == ']') return ++at, true;
        for (;;) {
            if (*at++ != '[') return false;
            int64_t width = 0;
            for (char c = ','; c != ']';) {
                if (c != ',') return false;
                double value = 0.0;
                blank();
                if (!number(value)) return false;
                values.push_back(value);
                ++width;
                blank();
                c = *at++;
            }
            if (rows == 0) columns = width;
            else if (width != columns) return false;
            ++rows;
            blank();
            const char c = *at++;
            if (c == ']') return true;
            if (c != ',') return false;
            blank();
        }
    }
};

}  // namespace fabula
