// Longest common subsequence of all pairs of token lists (ROUGE-L, Lin 2004), twin of fabula/text/rouge.py.
#include "check.hpp"
#include "kernel.hpp"
#include "lcs.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using Sentence = std::vector<int64_t>;
using Lengths = nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>;

namespace {

// Ids index a table, so they must be 0, 1, 2, ...: the caller numbers its tokens.
constexpr int64_t MOST_IDS = int64_t{1} << 28;

int64_t vocabulary(const std::vector<Sentence> &sentences, int64_t size) {
    for (const Sentence &s : sentences)
        for (int64_t token : s) {
            if (token < 0) throw std::invalid_argument("lcs: token ids must not be negative");
            if (token >= MOST_IDS) throw std::invalid_argument("lcs: token ids must be below 2^28");
            size = std::max(size, token + 1);
        }
    return size;
}

Lengths lcs(const std::vector<Sentence> &A, const std::vector<Sentence> &B) {
    const int64_t T = vocabulary(B, vocabulary(A, 0));
    fabula::room_for(static_cast<size_t>(T), sizeof(size_t));
    fabula::room_for(fabula::product(A.size(), B.size(), "lcs: too many pairs"), sizeof(int64_t));
    int64_t *L = new int64_t[A.size() * B.size()];
    nb::capsule owner(L, [](void *p) noexcept { delete[] static_cast<int64_t *>(p); });
    {
        nb::gil_scoped_release release;
        fabula::Longest<int64_t> longest;
        for (size_t i = 0; i < A.size(); ++i) {
            longest.turn_to(A[i].data(), A[i].size());
            for (size_t j = 0; j < B.size(); ++j) L[i * B.size() + j] = longest.with(B[j].data(), B[j].size());
        }
    }
    return Lengths(L, {A.size(), B.size()}, owner);
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("lcs", &lcs, nb::arg("A"), nb::arg("B"), "Twin of fabula.text.rouge.lcs_python.");
}
