// JSON arrays of equally long arrays of numbers, lifted out of a text as tables; twin of fabula/documents/records/tables.py.
//
// Plain JSON and nothing else: what is not such a table is left to the reader that can say what is wrong with it.
#include "check.hpp"
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
nb::object lift(nb::bytes text, const std::string &key, int64_t first) {
    constexpr int64_t MOST = int64_t{1} << 62;  // marks are counted on from it
    if (first < 0 || first > MOST) throw std::invalid_argument("the first number is from 0 to 2^62");
    const char *data = text.c_str(), *end = data + text.size();
    const std::string name = '"' + key + '"';
    std::string left;
    std::vector<double> values;
    std::vector<int64_t> shapes;
    values.reserve(text.size() / 8);
    const std::boyer_moore_horspool_searcher finder(name.begin(), name.end());
    {
        nb::gil_scoped_release others;
        const char *done = data, *from = data;
        for (const char *found; (found = std::search(from, end, finder)) != end;) {
            Json r{found + name.size(), end};
            from = r.at;
            r.blank();
            if (*r.at != ':') continue;
            ++r.at;
            r.blank();
            const char *open = from = r.at;
            const size_t before = values.size();
            int64_t rows = 0, columns = 0;
            if (!r.table(values, rows, columns)) {
                values.resize(before);
                continue;
            }
            left.append(done, open);
            left += "\"\\u0000" + std::to_string(first + static_cast<int64_t>(shapes.size() / 2)) + '"';
            shapes.push_back(rows);
            shapes.push_back(columns);
            done = from = r.at;
        }
        left.append(done, end);
    }
    const size_t tables = shapes.size() / 2, numbers = values.size();
    return nb::make_tuple(nb::bytes(left.data(), left.size()), owned(std::move(values), {numbers}),
                          owned(std::move(shapes), {tables, size_t{2}}));
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("lift", &lift, nb::arg("text"), nb::arg("key"), nb::arg("first"), "Twin of fabula.documents.records.tables.lift_tables_python.");
}
