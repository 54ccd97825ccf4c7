// Longest common subsequence of all pairs of token lists (ROUGE-L, Lin 2004), twin of fabula/text/rouge.py.
//
//   V = (V + (V & M)) | (V & ~M)   for each token of b, M = where it stands in a;   LCS = zeros of V   (Hyyrö, 2004)
//
// V and M are runs of W = |a| / 64 words. M is built on the fly from the token's ascending positions in a, but kept for a token
// that stands there at least W times: there are 64 of them at most, so that memory stays linear in the length of the sentences,
// and a token of b costs W steps, not one for each place where it stands.
#include "check.hpp"
#include "kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using Sentence = std::vector<int64_t>;
using Lengths = nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>;

namespace {

constexpr size_t NONE = static_cast<size_t>(-1);

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
        std::vector<size_t> first(T, NONE), next;  // positions of a token in a: first[token], next[position], ...
        std::vector<uint64_t> V, masks;
        std::vector<size_t> kept(T, NONE), often;  // where a frequent token's mask begins; which tokens have one
        for (size_t i = 0; i < A.size(); ++i) {
            const Sentence &a = A[i];
            next.resize(a.size());
            for (size_t p = a.size(); p-- > 0;) next[p] = first[a[p]], first[a[p]] = p;
            const size_t W = (a.size() + 63) / 64;
            masks.clear();
            for (size_t at = 0; at < a.size(); ++at) {
                const int64_t token = a[at];
                if (first[token] != at) continue;  // once for each token
                size_t count = 0;
                for (size_t p = at; p != NONE && count < W; p = next[p]) ++count;
                if (count < W) continue;
                kept[token] = masks.size();
                often.push_back(static_cast<size_t>(token));
                masks.resize(masks.size() + W, 0);
                for (size_t p = first[token]; p != NONE; p = next[p]) masks[kept[token] + p / 64] |= uint64_t{1} << (p % 64);
            }
            for (size_t j = 0; j < B.size(); ++j) {
                V.assign(W, ~uint64_t{0});
                for (int64_t token : B[j]) {
                    size_t p = first[token];
                    if (p == NONE) continue;
                    const uint64_t *mask = kept[token] == NONE ? nullptr : masks.data() + kept[token];
                    uint64_t carry = 0;
                    for (size_t w = 0; w < W; ++w) {
                        uint64_t M = 0;
                        if (mask) M = mask[w];
                        else
                            for (; p != NONE && p / 64 == w; p = next[p]) M |= uint64_t{1} << (p % 64);
                        const uint64_t v = V[w], u = v & M, sum = v + u, all = sum + carry;
                        carry = (sum < v) | (all < sum);
                        V[w] = all | (v & ~M);
                    }
                }
                int64_t zeros = 0;  // bits past the end of a never match and so stay 1
                for (uint64_t v : V) zeros += 64 - static_cast<int64_t>(std::bitset<64>(v).count());
                L[i * B.size() + j] = zeros;
            }
            for (int64_t token : a) first[token] = NONE;
            for (size_t token : often) kept[token] = NONE;
            often.clear();
        }
    }
    return Lengths(L, {A.size(), B.size()}, owner);
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("lcs", &lcs, nb::arg("A"), nb::arg("B"), "Twin of fabula.text.rouge.lcs_python.");
}
