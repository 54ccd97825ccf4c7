// Longest common subsequence of one token list with many others (Hyyrö, 2004), for lcs.cpp and sentences.cpp.
//
//   V = (V + (V & M)) | (V & ~M)   for each token of b, M = where it stands in a;   LCS = zeros of V
//
// V and M are runs of W = |a| / 64 words. M is built on the fly from the token's ascending positions in a, but kept for a
// token that stands there at least W times: there are 64 of them at most, so that memory stays linear in the length of the
// sentences, and a token of b costs W steps, not one for each place where it stands.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabula {

// Token ids index a table: the caller numbers its tokens 0, 1, 2, ...
template <class Token> class Longest {
  public:
    void turn_to(const Token *a, size_t size) {
        for (Token token : a_) first_[index(token)] = kept_[index(token)] = NONE;
        a_.assign(a, a + size);
        next_.resize(size);
        W_ = (size + 63) / 64;
        for (size_t p = size; p-- > 0;) {
            const size_t token = index(a[p]);
            if (token >= first_.size()) first_.resize(token + 1, NONE), kept_.resize(token + 1, NONE);
            next_[p] = first_[token];
            first_[token] = p;
        }
        masks_.clear();
        if (W_ < 2) return;  // positions are as quick
        for (size_t at = 0; at < size; ++at) {
            const size_t token = index(a[at]);
            if (first_[token] != at) continue;  // once for each token
            size_t count = 0;
            for (size_t p = at; p != NONE && count < W_; p = next_[p]) ++count;
            if (count < W_) continue;
            kept_[token] = masks_.size();
            masks_.resize(masks_.size() + W_, 0);
            for (size_t p = at; p != NONE; p = next_[p]) masks_[kept_[token] + p / 64] |= uint64_t{1} << (p % 64);
        }
    }

    int64_t with(const Token *b, size_t size) {
        V_.assign(W_, ~uint64_t{0});
        for (size_t k = 0; k < size; ++k) {
            const size_t token = index(b[k]);
            size_t p = token < first_.size() ? first_[token] : NONE;
            if (p == NONE) continue;
            const uint64_t *mask = kept_[token] == NONE ? nullptr : masks_.data() + kept_[token];
            uint64_t carry = 0;
            for (size_t w = 0; w < W_; ++w) {
                uint64_t M = 0;
                if (mask) M = mask[w];
                else
                    for (; p != NONE && p / 64 == w; p = next_[p]) M |= uint64_t{1} << (p % 64);
                const uint64_t v = V_[w], u = v & M, sum = v + u, all = sum + carry;
                carry = (sum < v) | (all < sum);
                V_[w] = all | (v & ~M);
            }
        }
        int64_t zeros = 0;  // bits past the end of a never match and so stay 1
        for (uint64_t v : V_) zeros += 64 - static_cast<int64_t>(std::bitset<64>(v).count());
        return zeros;
    }

  private:
    static constexpr size_t NONE = static_cast<size_t>(-1);
    static size_t index(Token token) { return static_cast<size_t>(token); }

    std::vector<Token> a_;
    size_t W_ = 0;
    std::vector<size_t> first_, next_;  // positions of a token in a: first[token], next[position], ...
    std::vector<size_t> kept_;          // where a frequent token's mask begins
    std::vector<uint64_t> V_, masks_;
};

}  // namespace fabula
