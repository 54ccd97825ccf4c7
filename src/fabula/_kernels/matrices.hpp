// Matrices of many videos end to end, row by row, each shapes[n] = (G, P); what is matched becomes a flag on its cell.
#pragma once

#include "check.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fabula {

namespace nb = nanobind;
using Cells = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Shapes = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// How many cells there are; an error, in the name of the kernel, where C or the flags have another number.
inline size_t count_cells(const char *name, const Cells &C, const Shapes &shapes, const Flags &chosen) {
    const std::string misfit = std::string(name) + ": the cells do not fit the shapes";
    all_aligned(C, shapes, chosen);
    if (shapes.shape(1) != 2) refuse(std::string(name) + ": a shape per matrix");
    size_t cells = 0;
    for (size_t n = 0; n < shapes.shape(0); ++n) {
        if (shapes(n, 0) < 0 || shapes(n, 1) < 0) refuse(std::string(name) + ": a shape is negative");
        cells += product(static_cast<size_t>(shapes(n, 0)), static_cast<size_t>(shapes(n, 1)), misfit.c_str());
        if (cells > C.size()) refuse(misfit);
    }
    if (C.size() != cells || chosen.size() != cells) refuse(misfit);
    return cells;
}

// Where the values go, one for each matrix.
inline double *one_each(const char *name, const Values &values, const Shapes &shapes) {
    all_aligned(values);
    if (values.size() != shapes.shape(0)) refuse(std::string(name) + ": a value per matrix");
    return values.data();
}

// solve(n, C, G, P) of each matrix in turn gives its pairs, which become flags on the cells.
template <class Solve>
void each_matrix(const char *name, const Cells &C, const Shapes &shapes, const Flags &chosen, const Solve &solve) {
    const size_t N = shapes.shape(0), cells = count_cells(name, C, shapes, chosen);
    const double *c = C.data();
    const int64_t *shape = shapes.data();
    bool *flag = chosen.data();
    nb::gil_scoped_release release;
    std::fill_n(flag, cells, false);
    for (size_t n = 0; n < N; ++n) {
        const auto G = static_cast<size_t>(shape[2 * n]), P = static_cast<size_t>(shape[2 * n + 1]);
        for (const auto &[i, j] : solve(n, c, G, P)) flag[static_cast<size_t>(i) * P + static_cast<size_t>(j)] = true;
        c += G * P, flag += G * P;
    }
}

}  // namespace fabula
