// Sentences as rows of words and n-grams, told once: BLEU's counts, CIDEr-D and ROUGE-L's LCS of many pairs of rows.
// Twins: fabula/text/bleu.py (stats), fabula/text/cider.py (scores_within, scores), fabula/text/rouge.py (lcs_python).
//
// Words are numbered in the order in which they come, so are n-grams (n = 1..4, one numbering for all). A row keeps its
// words, and for each n its distinct n-grams with their counts twice: by number, so that two rows are compared by a merge,
// and in the order of the sentence, in which numbers are added: what was told before must not decide a last digit.
#include "check.hpp"
#include "kernel.hpp"
#include "lcs.hpp"
#include "parallel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nb = nanobind;
using fabula::owned;

namespace {

using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int N = 4;
constexpr double SIGMA = 6.0;
constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max();
constexpr int64_t FEW = 4;       // groups that are not worth a thread each
constexpr int64_t CHUNK = 256;   // items that a thread takes at a time
constexpr int64_t GRAIN = 2000;  // items that are worth another thread
constexpr int64_t KNOWN_LOGS = 1 << 16;
constexpr size_t SPARE = 2;      // rooms for counting that are kept

// What str.split() takes for white space, as UTF-8: how many bytes of it begin here, 0 for none.
size_t blank(const char *at, const char *end) {
    const auto byte = [&](int k) { return at + k < end ? static_cast<unsigned char>(at[k]) : 0u; };
    const unsigned a = byte(0);
    if (a < 0x80) return (a >= 0x09 && a <= 0x0D) || (a >= 0x1C && a <= 0x20);
    if (a == 0xC2) return byte(1) == 0x85 || byte(1) == 0xA0 ? 2 : 0;
    if (a < 0xE1 || a > 0xE3) return 0;
    const unsigned c = a << 16 | byte(1) << 8 | byte(2);
    const bool is = c == 0xE19A80 || (c >= 0xE28080 && c <= 0xE2808A) || c == 0xE280A8 || c == 0xE280A9 || c == 0xE280AF ||
                    c == 0xE2819F || c == 0xE38080;
    return is ? 3 : 0;
}

// A number for each distinct word.
class Words {
  public:
    uint32_t number(std::string_view word) {
        const auto known = ids_.find(word);
        if (known != ids_.end()) return known->second;
        if (texts_.size() >= NONE) throw std::length_error("too many words");
        texts_.emplace_back(word);
        return ids_[texts_.back()] = static_cast<uint32_t>(texts_.size() - 1);
    }
    const std::string &text(uint32_t id) const { return texts_[id]; }

  private:
    std::deque<std::string> texts_;  // never moves what it holds
    std::unordered_map<std::string_view, uint32_t> ids_;
};

using Key = std::array<uint32_t, N>;  // the words of an n-gram, NONE after the last

// A number for each distinct n-gram: open addressing, at most half full. Of millions of n-grams hardly one is at hand when
// it is asked for: those of a sentence are asked for together, so that memory is waited for once.
class Grams {
  public:
    // The numbers of these keys, in their order.
    void numbers(const std::vector<Key> &keys, std::vector<uint32_t> &found) {
        while (2 * (keys_.size() + keys.size()) >= slots_.size()) grow();
        const size_t mask = slots_.size() - 1;
        hashes_.clear(), found.clear();
        for (const Key &key : keys) {
            hashes_.push_back(hash(key));
            prefetch(&slots_[hashes_.back() & mask]);
        }
        for (const size_t at : hashes_)
            if (const uint32_t slot = slots_[at & mask]; slot != NONE) prefetch(&keys_[slot]);
        for (size_t k = 0; k < keys.size(); ++k) found.push_back(number(keys[k], hashes_[k], mask));
    }
    size_t size() const { return keys_.size(); }
    const Key &key(size_t id) const { return keys_[id]; }

  private:
    static void prefetch(const void *place) {
#if defined(__GNUC__)
        __builtin_prefetch(place);
#else
        static_cast<void>(place);
#endif
    }
    uint32_t number(const Key &key, size_t at, size_t mask) {
        for (;; ++at) {
            uint32_t &slot = slots_[at & mask];
            if (slot == NONE) {
                if (keys_.size() >= NONE) throw std::length_error("too many n-grams");
                keys_.push_back(key);
                return slot = static_cast<uint32_t>(keys_.size() - 1);
            }
            if (keys_[slot] == key) return slot;
        }
    }
    static size_t hash(const Key &key) {
        uint64_t a, b;
        std::memcpy(&a, key.data(), 8);
        std::memcpy(&b, key.data() + 2, 8);
        a = (a ^ (b * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
        a ^= a >> 32;
        a *= 0xD6E8FEB86659FD93ull;
        return static_cast<size_t>(a ^ a >> 29);
    }
    void grow() {
        const size_t size = std::max<size_t>(1024, 2 * slots_.size());
        slots_.assign(size, NONE);
        for (uint32_t id = 0; id < keys_.size(); ++id) {
            size_t at = hash(keys_[id]);
            while (slots_[at & (size - 1)] != NONE) ++at;
            slots_[at & (size - 1)] = id;
        }
    }
    std::vector<Key> keys_;
    std::vector<uint32_t> slots_;
    std::vector<size_t> hashes_;
};

struct Count {
    uint32_t gram, times;
};

struct Row {
    size_t word, words;                   // split at white space
    size_t piece, pieces;                 // split at each single blank
    std::array<size_t, N + 1> gram;       // where the n-grams of each order begin
};

struct Range {  // the n-grams of one order of one row
    const Count *at, *end;
};

class Sentences {
  public:
    size_t size() const { return rows_.size(); }

    // Further sentences; each becomes the next row. Where one is no text, or memory ends, none does.
    void add(nb::list texts) {
        std::vector<std::string_view> views;
        std::vector<nb::object> alive;
        for (nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error("not a text");
            Py_ssize_t length = 0;
            const char *data = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
            if (data == nullptr) {  // a lone surrogate
                PyErr_Clear();
                alive.push_back(nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass")));
                if (!alive.back().is_valid()) throw nb::python_error();
                data = PyBytes_AS_STRING(alive.back().ptr());
                length = PyBytes_GET_SIZE(alive.back().ptr());
            }
            views.emplace_back(data, static_cast<size_t>(length));
        }
        nb::gil_scoped_release others;
        const std::unique_lock<std::shared_mutex> alone(lock_);
        const size_t before = rows_.size(), words = row_words_.size(), pieces = pieces_.size(), counts = counts_.size();
        try {
            for (std::string_view text : views) rows_.push_back(read(text));
        } catch (...) {
            rows_.resize(before), row_words_.resize(words), pieces_.resize(pieces), counts_.resize(counts), told_.resize(counts);
            throw;
        }
    }

    // guess_1..4, correct_1..4, c and r of each candidate against its references. [K, 10]
    nb::object bleu(Numbers candidates, Numbers references, Numbers starts, int64_t threads) const {
        return made<int64_t>({candidates.shape(0), 10}, [&](std::vector<int64_t> &out) {
            check(candidates, references, starts);
            const Items items{candidates.data(), references.data(), starts.data()};
            each(candidates.shape(0), threads, [&, most = std::vector<uint32_t>()](size_t k) mutable {
                count(items, k, &out[k * 10], most);
            });
        });
    }

    // CIDEr-D of each item; document frequencies are those of the items of its own group, groups[g] .. groups[g + 1]. [K]
    nb::object cider(Numbers candidates, Numbers references, Numbers starts, Numbers groups, int64_t threads) const {
        return made<double>({candidates.shape(0)}, [&](std::vector<double> &out) {
            check(candidates, references, starts);
            check_starts(groups, candidates.shape(0), "groups");
            const Items items{candidates.data(), references.data(), starts.data()};
            const int64_t G = static_cast<int64_t>(groups.shape(0)) - 1;
            if (G < FEW) {  // one group after the other, its items in threads
                for (int64_t g = 0; g < G; ++g) {
                    const int64_t first = groups.data()[g], size = groups.data()[g + 1] - first;
                    auto df = borrow();
                    df->count(*this, items, first, first + size);
                    each(static_cast<size_t>(size), threads, [&, norms = Norms<Counted>(*this, *df)](size_t k) mutable {
                        out[static_cast<size_t>(first) + k] = score(items, first + static_cast<int64_t>(k), *df, norms);
                    });
                    give_back(std::move(df));
                }
                return;
            }
            const int64_t per_group = std::max<int64_t>(1, static_cast<int64_t>(out.size()) / G);
            parallel(G, per_group, threads, GRAIN, [&](Queue &queue) {
                auto df = borrow();
                Norms<Counted> norms(*this, *df);
                for (int64_t g; (g = queue.take()) >= 0;) {
                    df->count(*this, items, groups.data()[g], groups.data()[g + 1]);
                    norms.clear();
                    for (int64_t k = groups.data()[g]; k < groups.data()[g + 1]; ++k)
                        out[static_cast<size_t>(k)] = score(items, k, *df, norms);
                }
                give_back(std::move(df));
            });
        });
    }

    // CIDEr-D under weights of the n-grams, `weights` of some corpus. [K]
    nb::object cider_given(Numbers candidates, Numbers references, Numbers starts, Weights weights, int64_t threads) const {
        return made<double>({candidates.shape(0)}, [&](std::vector<double> &out) {
            check(candidates, references, starts);
            fabula::all_aligned(weights);
            if (weights.shape(0) != grams_.size()) throw std::invalid_argument("there must be one weight for each n-gram");
            const Items items{candidates.data(), references.data(), starts.data()};
            const Given given{weights.data()};
            each(out.size(), threads, [&, norms = Norms<Given>(*this, given)](size_t k) mutable {
                out[k] = score(items, static_cast<int64_t>(k), given, norms);
            });
        });
    }

    // log N − log max(1, df) for frequencies in a corpus of N documents. [len(df)]
    static nb::object weights(Numbers df, int64_t documents) {
        fabula::all_aligned(df);
        if (documents < 1) throw std::invalid_argument("frequencies of no documents");
        fabula::room_for(df.shape(0), sizeof(double));
        std::vector<double> out(df.shape(0));
        std::vector<double> logs;  // most n-grams are in few documents
        const double all = std::log(static_cast<double>(documents));
        for (size_t i = 0; i < out.size(); ++i) {
            const int64_t times = df.data()[i];
            if (times < 0 || times > documents) throw std::invalid_argument("a frequency lies between 0 and the number of documents");
            while (times < KNOWN_LOGS && logs.size() <= static_cast<size_t>(times))
                logs.push_back(std::log(static_cast<double>(std::max<size_t>(1, logs.size()))));
            out[i] = all - (times < KNOWN_LOGS ? logs[static_cast<size_t>(times)] : std::log(static_cast<double>(times)));
        }
        const size_t size = out.size();
        return owned(std::move(out), {size});
    }

    // In how many items each n-gram occurs in some reference. [n-grams]
    nb::object frequencies(Numbers references, Numbers starts) const {
        return made<int64_t>({grams_known()}, [&](std::vector<int64_t> &out) {
            check_rows(references, "references");
            check_starts(starts, references.shape(0), "starts");
            if (out.size() != grams_.size()) throw std::runtime_error("sentences were added meanwhile");
            auto df = borrow();
            df->count(*this, {nullptr, references.data(), starts.data()}, 0, static_cast<int64_t>(starts.shape(0)) - 1);
            for (size_t i = 0; i < out.size(); ++i) out[i] = df->df(static_cast<uint32_t>(i));
            give_back(std::move(df));
        });
    }

    size_t grams_known() const {
        const std::shared_lock<std::shared_mutex> held(lock_);
        return grams_.size();
    }

    // The words of every n-gram from this number on, a blank between them.
    nb::list grams_texts(size_t from) const {
        const std::shared_lock<std::shared_mutex> held(lock_);
        nb::list found;
        for (size_t i = from; i < grams_.size(); ++i) {
            std::string text;
            for (uint32_t word : grams_.key(i))
                if (word != NONE) (text += text.empty() ? "" : " ") += words_.text(word);
            found.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass")));
        }
        return found;
    }

    // Longest common subsequence of the pieces of two rows, and how many pieces each has. [K, 3]
    nb::object lcs(Numbers candidates, Numbers references, int64_t threads) const {
        return made<int64_t>({candidates.shape(0), 3}, [&](std::vector<int64_t> &out) {
            check_rows(candidates, "candidates");
            check_rows(references, "references");
            if (references.shape(0) != candidates.shape(0)) throw std::invalid_argument("a pair is a candidate and a reference");
            each(candidates.shape(0), threads, [&, longest = fabula::Longest<uint32_t>(), last = int64_t{-1}](size_t k) mutable {
                const Row &a = rows_[candidates.data()[k]], &r = rows_[references.data()[k]];
                if (candidates.data()[k] != last) longest.turn_to(&pieces_[a.piece], a.pieces);
                last = candidates.data()[k];
                out[3 * k] = longest.with(&pieces_[r.piece], r.pieces);
                out[3 * k + 1] = static_cast<int64_t>(a.pieces);
                out[3 * k + 2] = static_cast<int64_t>(r.pieces);
            });
        });
    }

  private:
    struct Items {
        const int64_t *candidates, *references, *starts;
    };

    // log N − log max(1, df) of every n-gram, told by the caller.
    struct Given {
        const double *weight;
        double operator()(uint32_t gram) const { return weight[gram]; }
    };

    // The same of a group of items, counted: one number a gram says in which item of which group it was met last.
    class Counted {
      public:
        void count(const Sentences &of, const Items &items, int64_t from, int64_t to) {
            const auto documents = static_cast<size_t>(to - from);
            if (documents >= NONE) throw std::length_error("too many items");
            if (documents >= NONE - last_) std::fill(met_.begin(), met_.end(), Met{0, 0}), last_ = 0;
            if (met_.size() < of.grams_.size()) met_.resize(of.grams_.size(), Met{0, 0});
            group_ = last_;
            for (int64_t k = from; k < to; ++k) {
                ++last_;
                for (int64_t r = items.starts[k]; r < items.starts[k + 1]; ++r) {
                    const Row &row = of.rows_[items.references[r]];
                    for (size_t at = row.gram[0]; at < row.gram[N]; ++at) {
                        Met &met = met_[of.counts_[at].gram];
                        if (met.item == last_) continue;
                        met = {last_, met.item > group_ ? met.df + 1 : 1};
                    }
                }
            }
            while (logs_.size() <= documents) logs_.push_back(std::log(static_cast<double>(logs_.size())));
            all_ = documents ? logs_[documents] : 0.0;
        }
        uint32_t df(uint32_t gram) const { return met_[gram].item > group_ ? met_[gram].df : 0; }
        double operator()(uint32_t gram) const {
            const uint32_t times = df(gram);
            return times ? all_ - logs_[times] : all_;
        }

      private:
        struct Met {
            uint32_t item, df;
        };
        std::vector<Met> met_;
        std::vector<double> logs_;
        uint32_t last_ = 0, group_ = 0;  // items so far, and before this group
        double all_ = 0.0;
    };

    // Room for counting, kept from call to call: it is as large as there are n-grams.
    std::unique_ptr<Counted> borrow() const {
        const std::lock_guard<std::mutex> held(spare_lock_);
        if (spare_.empty()) return std::make_unique<Counted>();
        std::unique_ptr<Counted> found = std::move(spare_.back());
        spare_.pop_back();
        return found;
    }
    void give_back(std::unique_ptr<Counted> counted) const {
        const std::lock_guard<std::mutex> held(spare_lock_);
        if (spare_.size() < SPARE) spare_.push_back(std::move(counted));
    }

    // The norms of rows under one set of weights, each made once: most rows are met in many pairs.
    template <class Df> class Norms {
      public:
        Norms(const Sentences &of, const Df &df) : of_(of), df_(df) {}
        const std::array<double, N> &of(int64_t row) {
            const auto [place, fresh] = known_.try_emplace(row);
            if (fresh) place->second = of_.norms(of_.rows_[row], df_);
            return place->second;
        }
        void clear() { known_.clear(); }

      private:
        const Sentences &of_;
        const Df &df_;
        std::unordered_map<int64_t, std::array<double, N>> known_;
    };

    Row read(std::string_view text) {
        Row row{};
        const char *at = text.data(), *end = at + text.size();
        row.word = row_words_.size();
        size_t letters = 0, single = 0;  // of words, and blanks U+0020 with a word on both sides
        while (at < end) {
            if (const size_t skip = blank(at, end)) {
                single += *at == ' ' && at > text.data() && at + 1 < end && !blank(at + 1, end);
                at += skip;
                continue;
            }
            const char *from = at;
            while (at < end && !blank(at, end)) ++at;
            row_words_.push_back(words_.number({from, static_cast<size_t>(at - from)}));
            letters += static_cast<size_t>(at - from);
        }
        row.words = row_words_.size() - row.word;
        row.piece = pieces_.size();
        if (row.words && single + 1 == row.words && letters + single == text.size()) {  // nothing but words and single blanks
            pieces_.insert(pieces_.end(), row_words_.begin() + static_cast<ptrdiff_t>(row.word), row_words_.end());
        } else {
            for (const char *from = text.data();;) {
                at = static_cast<const char *>(std::memchr(from, ' ', static_cast<size_t>(end - from)));
                if (at == nullptr) at = end;
                pieces_.push_back(words_.number({from, static_cast<size_t>(at - from)}));
                if (at == end) break;
                from = at + 1;
            }
        }
        row.pieces = pieces_.size() - row.piece;
        keys_.clear();
        for (size_t n = 0; n < N; ++n)
            for (size_t i = 0; i + n < row.words; ++i) {
                Key key{NONE, NONE, NONE, NONE};
                for (size_t j = 0; j <= n; ++j) key[j] = row_words_[row.word + i + j];
                keys_.push_back(key);
            }
        grams_.numbers(keys_, order_);
        const uint32_t *told = order_.data();
        for (size_t n = 0; n < N; ++n) {
            row.gram[n] = counts_.size();
            const size_t count = row.words > n ? row.words - n : 0;
            std::vector<uint32_t> &ids = scratch_;
            ids.assign(told, told + count);
            std::sort(ids.begin(), ids.end());
            for (size_t i = 0, j = 0; i < ids.size(); i = j) {
                while (j < ids.size() && ids[j] == ids[i]) ++j;
                counts_.push_back({ids[i], static_cast<uint32_t>(j - i)});
            }
            const Range sorted{counts_.data() + row.gram[n], counts_.data() + counts_.size()};
            const auto distinct = static_cast<size_t>(sorted.end - sorted.at);
            if (distinct == count) {
                for (size_t i = 0; i < count; ++i) told_.push_back({told[i], 1});
            } else {
                seen_.assign(distinct, 0);
                for (size_t i = 0; i < count; ++i) {
                    const Count *found = look_up(sorted, told[i]);
                    uint8_t &seen = seen_[static_cast<size_t>(found - sorted.at)];
                    if (!seen) told_.push_back(*found);
                    seen = 1;
                }
            }
            told += count;
        }
        row.gram[N] = counts_.size();
        return row;
    }

    Range grams(const Row &row, int n) const {
        return {counts_.data() + row.gram[n], counts_.data() + row.gram[n + 1]};
    }

    Range told(const Row &row, int n) const {
        return {told_.data() + row.gram[n], told_.data() + row.gram[n + 1]};
    }

    // Where the n-gram stands in a range by number; its end if nowhere.
    static const Count *look_up(Range range, uint32_t gram) {
        const Count *at = std::lower_bound(range.at, range.end, gram, [](const Count &c, uint32_t id) { return c.gram < id; });
        return at < range.end && at->gram == gram ? at : range.end;
    }

    // What both have, from the smallest number up.
    template <class Function> static void meet(Range a, Range b, Function function) {
        while (a.at < a.end && b.at < b.end) {
            if (a.at->gram < b.at->gram) ++a.at;
            else if (b.at->gram < a.at->gram) ++b.at;
            else function(*a.at++, *b.at++);
        }
    }

    template <class Df> std::array<double, N> norms(const Row &row, const Df &df) const {
        std::array<double, N> found{};
        for (int n = 0; n < N; ++n) {
            double sum = 0.0;
            for (Range g = told(row, n); g.at < g.end; ++g.at) {
                const double x = g.at->times * df(g.at->gram);
                sum += x * x;
            }
            found[n] = std::sqrt(sum);
        }
        return found;
    }

    // BLEU's statistics of one item; an n-gram counts at most as often as in the reference that has it most often.
    void count(const Items &items, size_t k, int64_t *stats, std::vector<uint32_t> &most) const {
        const Row &c = rows_[items.candidates[k]];
        const int64_t from = items.starts[k], to = items.starts[k + 1], length = static_cast<int64_t>(c.words);
        for (int n = 0; n < N; ++n) {
            const Range mine = grams(c, n);
            most.assign(static_cast<size_t>(mine.end - mine.at), 0);
            for (int64_t r = from; r < to; ++r)
                meet(mine, grams(rows_[items.references[r]], n), [&](const Count &x, const Count &y) {
                    uint32_t &best = most[static_cast<size_t>(&x - mine.at)];
                    best = std::max(best, y.times);
                });
            stats[n] = std::max<int64_t>(0, length - n);
            stats[N + n] = 0;
            for (size_t i = 0; i < most.size(); ++i) stats[N + n] += std::min(most[i], mine.at[i].times);
        }
        int64_t nearest = -1;
        for (int64_t r = from; r < to; ++r) {
            const auto other = static_cast<int64_t>(rows_[items.references[r]].words);
            const int64_t far = std::abs(other - length), near = std::abs(nearest - length);
            if (nearest < 0 || far < near || (far == near && other < nearest)) nearest = other;
        }
        stats[8] = length;
        stats[9] = nearest;
    }

    template <class Df> double score(const Items &items, int64_t k, const Df &df, Norms<Df> &norms) const {
        const Row &c = rows_[items.candidates[k]];
        const std::array<double, N> &norm_c = norms.of(items.candidates[k]);
        double sum = 0.0;
        for (int64_t i = items.starts[k]; i < items.starts[k + 1]; ++i) {
            const Row &r = rows_[items.references[i]];
            const std::array<double, N> &norm_r = norms.of(items.references[i]);
            double cosine = 0.0;
            for (int n = 0; n < N; ++n) {
                if (norm_c[n] == 0.0 || norm_r[n] == 0.0) continue;
                double dot = 0.0;
                const Range theirs = grams(r, n);
                for (Range mine = told(c, n); mine.at < mine.end; ++mine.at) {
                    const Count *found = look_up(theirs, mine.at->gram);
                    if (found == theirs.end) continue;
                    const double g_c = mine.at->times * df(mine.at->gram), g_r = found->times * df(found->gram);
                    dot += std::min(g_c, g_r) * g_r;
                }
                cosine += dot / (norm_c[n] * norm_r[n]);
            }
            const double apart = bigrams(c) - bigrams(r);
            sum += 10 * cosine / 4 * std::exp(-(apart * apart) / (2 * SIGMA * SIGMA));
        }
        return sum / static_cast<double>(items.starts[k + 1] - items.starts[k]);
    }

    static double bigrams(const Row &row) { return row.words ? static_cast<double>(row.words - 1) : 0.0; }

    // An array of this shape; it is filled while other threads of Python go on, and while no sentence comes in.
    template <class T, class Function> nb::object made(std::initializer_list<size_t> shape, Function fill) const {
        size_t size = 1;
        for (size_t side : shape) size = fabula::product(size, side, "too many numbers");
        fabula::room_for(size, sizeof(T));
        std::vector<T> out(size);
        {
            nb::gil_scoped_release others;
            const std::shared_lock<std::shared_mutex> held(lock_);
            fill(out);
        }
        return owned(std::move(out), shape);
    }

    // function(0) … function(K − 1), every thread with a copy of its own.
    template <class Function> static void each(size_t K, int64_t threads, const Function &function) {
        const int64_t chunks = (static_cast<int64_t>(K) + CHUNK - 1) / CHUNK;
        parallel(chunks, CHUNK, threads, GRAIN, [&](Queue &queue) {
            Function mine = function;
            for (int64_t b; (b = queue.take()) >= 0;)
                for (size_t k = static_cast<size_t>(b * CHUNK); k < std::min(K, static_cast<size_t>((b + 1) * CHUNK)); ++k)
                    mine(k);
        });
    }

    void check_rows(const Numbers &rows, const char *what) const {
        fabula::all_aligned(rows);
        for (size_t k = 0; k < rows.shape(0); ++k)
            if (rows.data()[k] < 0 || static_cast<size_t>(rows.data()[k]) >= rows_.size())
                throw std::out_of_range(std::string(what) + ": there is no such sentence");
    }
    static void check_starts(const Numbers &starts, size_t size, const char *what) {
        fabula::all_aligned(starts);
        bool good = starts.shape(0) > 0 && starts.data()[0] == 0 &&
                    starts.data()[starts.shape(0) - 1] == static_cast<int64_t>(size);
        for (size_t k = 1; good && k < starts.shape(0); ++k) good = starts.data()[k - 1] <= starts.data()[k];
        if (!good) throw std::invalid_argument(std::string(what) + " must rise from 0 to the number of what they part");
    }
    void check(const Numbers &candidates, const Numbers &references, const Numbers &starts) const {
        check_rows(candidates, "candidates");
        check_rows(references, "references");
        check_starts(starts, references.shape(0), "starts");
        if (starts.shape(0) != candidates.shape(0) + 1) throw std::invalid_argument("starts must be one more than candidates");
        for (size_t k = 0; k < candidates.shape(0); ++k)
            if (starts.data()[k] == starts.data()[k + 1]) throw std::invalid_argument("a candidate has no reference");
    }

    mutable std::shared_mutex lock_;
    mutable std::mutex spare_lock_;
    mutable std::vector<std::unique_ptr<Counted>> spare_;
    Words words_;
    Grams grams_;
    std::vector<Row> rows_;
    std::vector<uint32_t> row_words_, pieces_, scratch_, order_;
    std::vector<Key> keys_;
    std::vector<uint8_t> seen_;
    std::vector<Count> counts_, told_;  // by number, and in the order of the sentence
};

// BLEU-1..4 of rows of statistics as `Sentences.bleu` gives them, or of their sums. [K, 4]
nb::object bleu(nb::ndarray<const int64_t, nb::shape<-1, 10>, nb::c_contig, nb::device::cpu> stats) {
    constexpr double TINY = 1e-15, SMALL = 1e-9;
    fabula::all_aligned(stats);
    const size_t K = stats.shape(0);
    fabula::room_for(K, N * sizeof(double));
    std::vector<double> out(K * N);
    for (size_t k = 0; k < K; ++k) {
        const int64_t *row = stats.data() + k * 10;
        const double ratio = (static_cast<double>(row[8]) + TINY) / (static_cast<double>(row[9]) + SMALL);
        const double BP = ratio < 1 ? std::exp(1 - 1 / ratio) : 1.0;
        double precision = 1.0;
        for (int n = 0; n < N; ++n) {
            precision *= (static_cast<double>(row[N + n]) + TINY) / (static_cast<double>(row[n]) + SMALL);
            out[k * N + static_cast<size_t>(n)] = std::pow(precision, 1.0 / (n + 1)) * BP;
        }
    }
    return owned(std::move(out), {K, size_t{N}});
}

}  // namespace

FABULA_KERNEL(m) {
    m.def("bleu", &bleu, nb::arg("stats"), "Twin of fabula.text.bleu.segment.");
    nb::class_<Sentences>(m, "Sentences", "Rows of words and n-grams; twins in fabula.text.bleu, cider and rouge.")
        .def(nb::init<>())
        .def("__len__", &Sentences::size)
        .def("add", &Sentences::add, nb::arg("texts"))
        .def("bleu", &Sentences::bleu, nb::arg("candidates"), nb::arg("references"), nb::arg("starts"), nb::arg("threads"))
        .def("cider", &Sentences::cider, nb::arg("candidates"), nb::arg("references"), nb::arg("starts"), nb::arg("groups"),
             nb::arg("threads"))
        .def("cider_given", &Sentences::cider_given, nb::arg("candidates"), nb::arg("references"), nb::arg("starts"),
             nb::arg("weights"), nb::arg("threads"))
        .def_static("weights", &Sentences::weights, nb::arg("df"), nb::arg("documents"))
        .def("frequencies", &Sentences::frequencies, nb::arg("references"), nb::arg("starts"))
        .def("grams_known", &Sentences::grams_known)
        .def("grams", &Sentences::grams_texts, nb::arg("start") = 0)
        .def("lcs", &Sentences::lcs, nb::arg("candidates"), nb::arg("references"), nb::arg("threads"));
}
