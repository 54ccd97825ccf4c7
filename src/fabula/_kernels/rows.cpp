// JSON arrays of equally long arrays of numbers, lifted out of a text as tables; twin of fabula/io/_tables.py.
//
// Plain JSON and nothing else: what is not such a table is left to the reader that can say what is wrong with it.
#include "json.hpp"
#include "kernel.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <functional>

namespace nb = nanobind;
using fabula::Json;
using fabula::owned;

namespace {

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
            Json r{found + name.size(), end, keep};
            const bool colon = r.blank() && *r.at == ':';
            if (colon) ++r.at;
            const bool there = colon && r.blank();
            if (!whole && !there && r.at >= end) {  // the text ends before it is known what follows
                left.append(done, found);
                done = found;
                break;
            }
            const char *open = r.at;
            int64_t rows = 0, columns = 0;
            const size_t before = values.size();
            const int got = there ? r.table(values, rows, columns) : 0;
            if (got < 1) values.resize(before);
            if (got < 0 && !whole) {
                left.append(done, found);
                done = found;
                break;
            }
            left.append(done, open);
            done = from = open;
            if (got == 1) {
                left += "\"\\u0000" + std::to_string(first + static_cast<int64_t>(shapes.size() / 2)) + '"';
                shapes.push_back(rows);
                shapes.push_back(columns);
                done = from = r.at;
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
