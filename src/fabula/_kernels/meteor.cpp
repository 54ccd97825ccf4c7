// METEOR 1.5 for many pairs at once (Denkowski & Lavie 2014): strings from Python, sentences cached, tiles over threads, GIL released.
// Twin: fabula/text/meteor/__init__.py.
#include "meteor.hpp"

#include "kernel.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace nb = nanobind;

namespace meteor {
namespace {

using Sentences = std::vector<std::shared_ptr<const Sentence>>;
using Doubles = nb::ndarray<nb::numpy, double>;

constexpr size_t CACHED_SENTENCES = 32768, CACHED_WORDS = 500'000;  // together about 100 MB at most
constexpr size_t BATCH_TEXTS = 8192, BATCH_BYTES = 1 << 20;
constexpr size_t TILE = 32, TILE_WORDS = 1024;  // sentences and words on one side of a tile
constexpr char NORMALISED = '\x02';             // marks a key that went through the Python normaliser

// The distinct texts of a batch.
class Texts {
  public:
    uint32_t add(std::string key) {
        const auto [place, fresh] = ids_.try_emplace(std::move(key), static_cast<uint32_t>(keys_.size()));
        if (fresh) {
            keys_.push_back(&place->first);
            bytes_ += place->first.size();
        }
        return place->second;
    }
    bool full() const { return keys_.size() >= BATCH_TEXTS || bytes_ >= BATCH_BYTES; }
    const std::vector<const std::string *> &keys() const { return keys_; }

  private:
    std::unordered_map<std::string, uint32_t> ids_;
    std::vector<const std::string *> keys_;
    size_t bytes_ = 0;
};

// Every hypothesis against every reference; `number` is the caller's count of this block.
struct Block {
    size_t number;
    std::vector<uint32_t> hyps, refs;
    size_t out;  // where its results begin
};
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
struct Asked {
    const char *name;  // what an error calls a block
    bool lenient;      // crowded pairs are told to the caller; otherwise the first of them is an error
};
struct Work {
    uint32_t block, hyp, hyp_end, ref, ref_end;
};

template <class Function> void in_threads(size_t jobs, size_t threads, Function function) {
    std::atomic<size_t> next{0};
    const auto run = [&] {
        auto local = function();
        for (size_t k; (k = next++) < jobs;) local(k);
    };
    std::vector<std::thread> helpers;
    for (size_t t = 1; t < std::min(threads, jobs); ++t) helpers.emplace_back(run);
    run();
    for (std::thread &helper : helpers) helper.join();
}

template <class T> Span<T> section(const nb::dict &sections, const char *name) {
    auto array = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(sections[name]);
    return {array.data(), array.shape(0)};
}

Doubles owned(std::vector<double> values, std::initializer_list<size_t> shape) {
    auto *kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
    return Doubles(kept->data(), shape, owner);
}

class Engine {
  public:
    Engine(nb::dict sections, nb::callable normalise) : sections_(sections), normalise_(normalise) {
        t_.word_start = section<uint32_t>(sections, "word_start");
        t_.word_bytes = section<uint8_t>(sections, "word_bytes");
        t_.word_flags = section<uint8_t>(sections, "word_flags");
        t_.synset_start = section<uint32_t>(sections, "synset_start");
        t_.synset_ids = section<uint32_t>(sections, "synset_ids");
        t_.base_start = section<uint32_t>(sections, "base_start");
        t_.base_ids = section<uint32_t>(sections, "base_ids");
        t_.prefixes = section<uint8_t>(sections, "prefixes");
        t_.prefixes_number = section<uint8_t>(sections, "prefixes_number");
        t_.trie_word = section<uint16_t>(sections, "trie_word");
        t_.trie_first = section<uint32_t>(sections, "trie_first");
        t_.source_bits = section<uint64_t>(sections, "source_bits");
        t_.source_rank = section<uint32_t>(sections, "source_rank");
        t_.source_first = section<uint32_t>(sections, "source_first");
        t_.target_node = section<uint32_t>(sections, "target_node");
        t_.prepare();
        words_.prepare();
    }

    // With flags, one for each pair, those without are not scored: 0. A crowded pair is an error, or NaN if `lenient`.
    Doubles pairs_many(nb::sequence blocks, size_t threads, std::optional<Flags> wanted, bool lenient) {
        const bool *flags = wanted ? wanted->data() : nullptr;
        std::vector<double> scores;
        Texts texts;
        std::vector<Block> batch;
        size_t number = 0;
        const auto flush = [&] {
            nb::gil_scoped_release release;
            score(batch, texts, threads, {"block ", lenient}, flags,
                  [&](const Block &block, size_t h, size_t r, const Statistics &stats, bool crowded) {
                      scores[block.out + h * block.refs.size() + r] =
                          crowded ? std::numeric_limits<double>::quiet_NaN() : score_of(stats);
                  });
            batch.clear();
            texts = Texts();
        };
        for (nb::handle item : blocks) {
            nb::sequence pair = nb::cast<nb::sequence>(item);
            if (nb::len(pair) != 2) throw nb::type_error("a block is a pair");
            Block block{number++, ids(pair[0], texts), ids(pair[1], texts), scores.size()};
            scores.resize(scores.size() + block.hyps.size() * block.refs.size());
            if (wanted && scores.size() > wanted->size()) throw std::invalid_argument("there are more pairs than flags");
            batch.push_back(std::move(block));
            if (texts.full()) flush();
        }
        flush();
        const size_t size = scores.size();
        if (wanted && size < wanted->size()) throw std::invalid_argument("there are more flags than pairs");
        return owned(std::move(scores), {size});
    }

    // Statistics, scores, and the number of crowded references of each item, which count as unmatched if `lenient`.
    std::tuple<Doubles, Doubles, Doubles> segments(nb::sequence candidates, nb::sequence references, size_t threads, bool lenient) {
        const size_t n = nb::len(candidates);
        std::vector<double> stats(n * 23, 0.0), scores(n, -1.0), beyond(n, 0.0);
        std::vector<uint32_t> reference(n, 0);  // of the best so far: tiles of one item may come in any order
        std::mutex best;
        Texts texts;
        std::vector<Block> batch;
        const auto flush = [&] {
            nb::gil_scoped_release release;
            score(batch, texts, threads, {"item ", lenient}, nullptr,
                  [&](const Block &block, size_t, size_t r, const Statistics &found, bool crowded) {
                const double value = score_of(found);
                const size_t k = block.out;
                std::lock_guard<std::mutex> guard(best);
                beyond[k] += crowded;
                if (value > scores[k] || (value == scores[k] && r < reference[k])) {
                    scores[k] = value;
                    reference[k] = static_cast<uint32_t>(r);
                    std::copy(found.begin(), found.end(), stats.begin() + static_cast<ptrdiff_t>(k * 23));
                }
            });
            batch.clear();
            texts = Texts();
        };
        for (size_t k = 0; k < n; ++k) {
            const uint32_t hyp = texts.add(key(candidates[k]));
            batch.push_back({k, {hyp}, ids(references[k], texts), k});
            if (texts.full()) flush();
        }
        flush();
        return {owned(std::move(stats), {n, 23}), owned(std::move(scores), {n}), owned(std::move(beyond), {n})};
    }

    nb::object normalise(nb::handle text) {
        const std::string found = normalised(key(text));
        return nb::steal(PyUnicode_FromStringAndSize(found.data(), static_cast<Py_ssize_t>(found.size())));
    }

  private:
    // The text itself if the C++ normaliser can take it; otherwise what the Python normaliser makes of it.
    std::string key(nb::handle text) {
        if (!PyUnicode_Check(text.ptr())) throw nb::type_error("not a text");
        if (PyUnicode_IS_ASCII(text.ptr())) {
            const char *data = reinterpret_cast<const char *>(PyUnicode_1BYTE_DATA(text.ptr()));
            const std::string_view view(data, static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr())));
            if (plain_ascii(view)) return std::string(view);
        }
        return NORMALISED + nb::cast<std::string>(normalise_(text));
    }
    std::string normalised(const std::string &key) const {
        return !key.empty() && key[0] == NORMALISED ? key.substr(1) : normalise_ascii(key, t_);
    }

    std::vector<uint32_t> ids(nb::handle texts, Texts &into) {
        if (PyUnicode_Check(texts.ptr())) throw nb::type_error("one text where a list of texts is meant");
        nb::object fast = nb::steal(PySequence_Fast(texts.ptr(), "a list of texts is meant"));
        if (!fast.is_valid()) throw nb::python_error();
        std::vector<uint32_t> found;
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.ptr()); ++k)
            found.push_back(into.add(key(PySequence_Fast_GET_ITEM(fast.ptr(), k))));
        return found;
    }

    Sentences sentences(const Texts &texts, size_t threads) {
        const auto &keys = texts.keys();
        Sentences found(keys.size());
        std::vector<size_t> missing;
        {
            std::lock_guard<std::mutex> guard(lock_);
            for (size_t k = 0; k < keys.size(); ++k) {
                const auto known = cache_.find(*keys[k]);
                if (known != cache_.end()) found[k] = known->second;
                else missing.push_back(k);
            }
        }
        in_threads((missing.size() + 15) / 16, threads, [&] {
            return [&](size_t job) {
                for (size_t m = 16 * job; m < std::min(16 * job + 16, missing.size()); ++m)
                    found[missing[m]] = std::make_shared<const Sentence>(normalised(*keys[missing[m]]), t_, words_);
            };
        });
        std::lock_guard<std::mutex> guard(lock_);
        for (size_t k : missing) {
            const size_t words = found[k]->size() + keys[k]->size() / 16;
            if (cache_.size() >= CACHED_SENTENCES || cached_words_ + words > CACHED_WORDS) cache_.clear(), cached_words_ = 0;
            if (words > CACHED_WORDS / 16) continue;
            if (cache_.emplace(*keys[k], found[k]).second) cached_words_ += words;
        }
        return found;
    }

    // Ranges of at most TILE sentences and TILE_WORDS words (a longer sentence is a range of its own).
    static std::vector<uint32_t> cuts(const std::vector<uint32_t> &ids, const Sentences &sentences) {
        std::vector<uint32_t> found{0};
        size_t words = 0;
        for (uint32_t k = 0; k < ids.size(); ++k) {
            const size_t size = sentences[ids[k]]->size();
            if (k > found.back() && (k - found.back() >= TILE || words + size > TILE_WORDS)) found.push_back(k), words = 0;
            words += size;
        }
        found.push_back(static_cast<uint32_t>(ids.size()));
        return found;
    }

    // `flags` say of each pair, from block.out on and row by row, whether it is wanted; without them all are.
    template <class Result>
    void score(const std::vector<Block> &blocks, const Texts &texts, size_t threads, const Asked &asked, const bool *flags,
               Result result) {
        const Sentences prepared = sentences(texts, threads);
        std::vector<Work> work;
        for (uint32_t b = 0; b < blocks.size(); ++b) {
            if (blocks[b].hyps.empty() || blocks[b].refs.empty()) continue;
            const auto hyp_cuts = cuts(blocks[b].hyps, prepared), ref_cuts = cuts(blocks[b].refs, prepared);
            for (size_t h = 0; h + 1 < hyp_cuts.size(); ++h)
                for (size_t r = 0; r + 1 < ref_cuts.size(); ++r)
                    work.push_back({b, hyp_cuts[h], hyp_cuts[h + 1], ref_cuts[r], ref_cuts[r + 1]});
        }
        std::mutex failure_lock;
        std::optional<std::pair<size_t, std::string>> failure;  // the first in the caller's order
        in_threads(work.size(), threads, [&] {
            return [&, tile = std::make_shared<Tile>(), hyps = std::vector<const Sentence *>(),
                    refs = std::vector<const Sentence *>(), skipped = std::vector<uint8_t>()](size_t k) mutable {
                const Work &w = work[k];
                const Block &block = blocks[w.block];
                hyps.clear();
                refs.clear();
                for (uint32_t h = w.hyp; h < w.hyp_end; ++h) hyps.push_back(prepared[block.hyps[h]].get());
                for (uint32_t r = w.ref; r < w.ref_end; ++r) refs.push_back(prepared[block.refs[r]].get());
                skipped.assign(hyps.size() * refs.size(), 0);
                if (flags)
                    for (size_t h = 0; h < hyps.size(); ++h)
                        for (size_t r = 0; r < refs.size(); ++r)
                            skipped[h * refs.size() + r] = !flags[block.out + (w.hyp + h) * block.refs.size() + w.ref + r];
                tile->run(t_, words_, hyps, refs, skipped);
                const auto &crowded = tile->crowded();
                if (!crowded.empty() && !asked.lenient) {
                    const auto &[pair, why] = *crowded.begin();
                    const size_t h = w.hyp + pair / refs.size(), r = w.ref + pair % refs.size();
                    std::lock_guard<std::mutex> guard(failure_lock);
                    if (!failure || k < failure->first)
                        failure = {k, asked.name + std::to_string(block.number) + ": candidate " + std::to_string(h) +
                                          ", reference " + std::to_string(r) + ": " + why};
                    return;
                }
                for (size_t h = 0; h < hyps.size(); ++h)
                    for (size_t r = 0; r < refs.size(); ++r) {
                        const size_t pair = h * refs.size() + r;
                        if (!skipped[pair]) result(block, w.hyp + h, w.ref + r, tile->stats(h, r), crowded.count(pair) > 0);
                    }
            };
        });
        if (failure) throw std::invalid_argument(failure->second);  // becomes ValueError
    }

    nb::dict sections_;  // keeps the mapping alive
    nb::callable normalise_;
    Tables t_;
    Words words_{t_};
    std::mutex lock_;
    std::unordered_map<std::string, std::shared_ptr<const Sentence>> cache_;
    size_t cached_words_ = 0;
};

std::string stem_utf8(const std::string &word) {
    const std::u16string found = stem(utf16(word));
    std::string out;
    for (char16_t c : found) {  // the basic plane is enough for tests
        if (c < 0x80) out += static_cast<char>(c);
        else if (c < 0x800) (out += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 0x3F));
        else ((out += static_cast<char>(0xE0 | c >> 12)) += static_cast<char>(0x80 | (c >> 6 & 0x3F))) += static_cast<char>(0x80 | (c & 0x3F));
    }
    return out;
}

// The score of each row of 23 statistics.
Doubles scores_of(nb::ndarray<const double, nb::shape<-1, 23>, nb::c_contig, nb::device::cpu> stats) {
    std::vector<double> scores(stats.shape(0));
    Statistics row;
    for (size_t k = 0; k < scores.size(); ++k) {
        std::copy_n(stats.data() + k * 23, 23, row.begin());
        scores[k] = score_of(row);
    }
    const size_t size = scores.size();
    return owned(std::move(scores), {size});
}

}  // namespace
}  // namespace meteor

FABULA_KERNEL(m) {
    using meteor::Engine;
    nb::class_<Engine>(m, "Meteor", "Twin of fabula.text.meteor's Python functions.")
        .def(nb::init<nb::dict, nb::callable>(), nb::arg("sections"), nb::arg("normalise"))
        .def("pairs_many", &Engine::pairs_many, nb::arg("blocks"), nb::arg("threads"), nb::arg("wanted") = nb::none(),
             nb::arg("lenient") = false, "Flat scores of all blocks, row by row.")
        .def("segments", &Engine::segments, nb::arg("candidates"), nb::arg("references"), nb::arg("threads"),
             nb::arg("lenient") = false, "([N, 23], [N], [N])")
        .def("normalise", &Engine::normalise, nb::arg("text"));
    m.def("meteor_scores", &meteor::scores_of, nb::arg("stats"), "Twin of fabula.text.meteor.score_of.");
    m.def("meteor_stem", &meteor::stem_utf8, nb::arg("word"), "Twin of fabula.text.meteor.stem.stem.");
}
