// METEOR 1.5 for many pairs at once (Denkowski & Lavie 2014): strings from Python, sentences cached, tiles over threads, GIL released.
// Twin: fabula/text/meteor/__init__.py.
#include "meteor.hpp"

#include "check.hpp"
#include "kernel.hpp"
#include "parallel.hpp"
#include "slots.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace nb = nanobind;

namespace meteor {
namespace {

using Sentences = std::vector<std::shared_ptr<const Sentence>>;
using fabula::owned;

constexpr size_t CACHED_SENTENCES = 65536, CACHED_WORDS = 1'000'000;  // together about 200 MB at most
constexpr size_t CACHED_PAIRS = 1 << 19, CACHED_TEXTS = 1 << 18;    // about 50 MB, and 40 MB of captions
constexpr size_t BATCH_TEXTS = 8192, BATCH_BYTES = 1 << 20;
constexpr size_t TILE = 32, TILE_WORDS = 1024;  // sentences and words on one side of a tile
constexpr size_t LONG = 1 << 12;                // bytes of a sentence that does not share its memory
constexpr char NORMALISED = '\x02';             // marks a key that went through the Python normaliser

// Statistics of pairs that were aligned before, by the numbers of their texts: the metrics of a run, and its runs under
// changed rules, ask for the same pairs again and again. Texts are numbered here, and no number is given twice.
class Pairs {
  public:
    std::vector<uint64_t> numbers(const std::vector<std::string_view> &texts) {
        const std::unique_lock<std::shared_mutex> held(lock_);
        if (texts_.size() + texts.size() > CACHED_TEXTS) {
            first_ += texts_.size();
            texts_.clear(), letters_.clear();
            forget();
        }
        std::vector<uint64_t> found;
        found.reserve(texts.size());
        bool fresh = false;
        for (const std::string_view text : texts)
            found.push_back(first_ + texts_.number(text, [&](std::string_view one) { return letters_.keep(one); }, fresh));
        return found;
    }
    // visit(found) for each of these pairs of numbers in turn, null where it is not known.
    template <class Next, class Visit> void look_up(Next next, Visit visit) const {
        const std::shared_lock<std::shared_mutex> held(lock_);
        Statistics stats;
        for (std::pair<uint64_t, uint64_t> pair; next(pair);) {
            const uint32_t known = pair.first < MOST && pair.second < MOST ? find(key(pair)) : fabula::Slots::NONE;
            if (known != fabula::Slots::NONE) std::copy(kept_[known].stats.begin(), kept_[known].stats.end(), stats.begin());
            visit(known == fabula::Slots::NONE ? nullptr : &stats);
        }
    }
    void keep(const std::vector<std::pair<std::pair<uint64_t, uint64_t>, Statistics>> &made) {
        const std::unique_lock<std::shared_mutex> held(lock_);
        aligned_ += made.size();
        for (const auto &[pair, stats] : made) {
            if (pair.first >= MOST || pair.second >= MOST) continue;
            if (*std::max_element(stats.begin(), stats.end()) > std::numeric_limits<uint16_t>::max()) continue;
            if (kept_.size() >= CACHED_PAIRS) forget();
            if (find(key(pair)) != fabula::Slots::NONE) continue;  // another thread, or another place of the same pair
            slots_.add(fabula::hash_of(key(pair)), static_cast<uint32_t>(kept_.size()));
            Kept &one = kept_.emplace_back();
            one.key = key(pair);
            std::transform(stats.begin(), stats.end(), one.stats.begin(), [](double x) { return static_cast<uint16_t>(x); });
        }
    }
    void forget_all() {
        const std::unique_lock<std::shared_mutex> held(lock_);
        first_ += texts_.size();
        texts_.clear(), letters_.clear();
        forget();
    }
    // How many pairs were made so far: a test counts them.
    uint64_t aligned() const {
        const std::shared_lock<std::shared_mutex> held(lock_);
        return aligned_;
    }

  private:
    struct Kept {
        uint64_t key;
        std::array<uint16_t, 23> stats;  // they are counts
    };
    static constexpr uint64_t MOST = uint64_t{1} << 32;
    static uint64_t key(const std::pair<uint64_t, uint64_t> &pair) { return pair.first << 32 | (pair.second & (MOST - 1)); }
    uint32_t find(uint64_t key) const {
        return slots_.find(fabula::hash_of(key), [&](uint32_t k) { return kept_[k].key == key; });
    }
    void forget() { kept_.clear(), slots_.clear(); }
    mutable std::shared_mutex lock_;
    fabula::Texts texts_;
    fabula::Letters letters_;
    uint64_t first_ = 0;  // the number of the first of them
    std::deque<Kept> kept_;
    fabula::Slots slots_;
    uint64_t aligned_ = 0;
};

// The distinct texts of a batch.
class Batch {
  public:
    // `owner` is the text's own object, which stays as long as the batch; none: the text is copied.
    uint32_t add(std::string_view text, const nb::object &owner) {
        bool fresh = false;
        const auto keep = [&](std::string_view one) {
            bytes_ += one.size();
            if (!owner.is_valid()) return letters_.keep(one);
            owners_.push_back(owner);
            return one;
        };
        return texts_.number(text, keep, fresh);
    }
    bool full() const { return texts_.size() >= BATCH_TEXTS || bytes_ >= BATCH_BYTES; }
    const std::vector<std::string_view> &texts() const { return texts_.all(); }
    void clear() { texts_.clear(), letters_.clear(), owners_.clear(), bytes_ = 0; }

  private:
    fabula::Texts texts_;
    fabula::Letters letters_;
    std::vector<nb::object> owners_;
    size_t bytes_ = 0;
};

// Every hypothesis against every reference; `number` is the caller's count of this block.
struct Block {
    size_t number;
    std::vector<uint32_t> hyps, refs;
    size_t out;  // where its results begin
};
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
struct Asked {
    const char *name;  // what an error calls a block
    bool lenient;      // crowded pairs are told to the caller; otherwise the first of them is an error
};
struct Work {
    uint32_t block, hyp, hyp_end, ref, ref_end;
};

template <class Function> void in_threads(size_t jobs, int64_t threads, const Function &function) {
    parallel(static_cast<int64_t>(jobs), 1, threads, 1, [&](Queue &queue) {
        auto local = function();
        for (int64_t k; (k = queue.take()) >= 0;) local(static_cast<size_t>(k));
    });
}

// A section as it is, without a copy that would be gone at once; `held` keeps it from going.
template <class T> void section(const nb::dict &sections, const char *name, Span<T> &to, std::vector<nb::object> &held) {
    using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    const nb::object given = sections[name];
    Array array;
    if (!nb::try_cast<Array>(given, array, false)) throw std::invalid_argument(std::string(name) + ": not the numbers that this section has");
    fabula::aligned(array);
    to = {array.data(), array.shape(0)};
    held.push_back(nb::cast(array));
    held.push_back(given);
}

void read_sections(const nb::dict &sections, Tables &t, std::vector<nb::object> &held) {
    section(sections, "word_start", t.word_start, held);
    section(sections, "word_bytes", t.word_bytes, held);
    section(sections, "word_flags", t.word_flags, held);
    section(sections, "synset_start", t.synset_start, held);
    section(sections, "synset_ids", t.synset_ids, held);
    section(sections, "base_start", t.base_start, held);
    section(sections, "base_ids", t.base_ids, held);
    section(sections, "prefixes", t.prefixes, held);
    section(sections, "prefixes_number", t.prefixes_number, held);
    section(sections, "trie_word", t.trie_word, held);
    section(sections, "trie_first", t.trie_first, held);
    section(sections, "source_bits", t.source_bits, held);
    section(sections, "source_rank", t.source_rank, held);
    section(sections, "source_first", t.source_first, held);
    section(sections, "target_node", t.target_node, held);
}

void check_sections(const nb::dict &sections) {
    Tables tables;
    std::vector<nb::object> held;
    read_sections(sections, tables, held);
    nb::gil_scoped_release release;
    tables.check();
}

class Engine {
  public:
    Engine(nb::dict sections, nb::callable normalise) : normalise_(normalise) {
        read_sections(sections, t_, held_);
        nb::gil_scoped_release release;
        t_.check();
        t_.prepare();
        words_.prepare();
    }

    // With flags, one for each pair, those without are not scored: 0. A crowded pair is an error, or NaN if `lenient`.
    nb::object pairs_many(nb::sequence blocks, int64_t threads, std::optional<Flags> wanted, bool lenient) {
        const bool *flags = wanted ? wanted->data() : nullptr;
        std::vector<double> scores;
        Batch texts;
        std::vector<Block> batch;
        size_t number = 0;
        const auto flush = [&] {
            score(batch, texts, threads, {"block ", lenient}, flags,
                  [&](const Block &block, size_t h, size_t r, const Statistics &stats, bool crowded) {
                      scores[block.out + h * block.refs.size() + r] =
                          crowded ? std::numeric_limits<double>::quiet_NaN() : score_of(stats);
                  });
            batch.clear();
            texts.clear();
        };
        for (nb::handle item : blocks) {
            nb::sequence pair;
            if (!nb::try_cast(item, pair) || nb::len(pair) != 2) throw nb::type_error("a block is a pair");
            Block block{number++, ids(pair[0], texts), ids(pair[1], texts), scores.size()};
            const size_t pairs = fabula::product(block.hyps.size(), block.refs.size(), "too many pairs");
            if (wanted && pairs > wanted->size() - scores.size()) throw std::invalid_argument("there are more pairs than flags");
            fabula::room_for(scores.size() + pairs, sizeof(double));
            scores.resize(scores.size() + pairs);
            batch.push_back(std::move(block));
            if (texts.full()) flush();
        }
        flush();
        const size_t size = scores.size();
        if (wanted && size < wanted->size()) throw std::invalid_argument("there are more flags than pairs");
        return owned(std::move(scores), {size});
    }

    // Statistics, scores, and the number of crowded references of each item, which count as unmatched if `lenient`.
    std::tuple<nb::object, nb::object, nb::object> segments(nb::sequence candidates, nb::sequence references, int64_t threads, bool lenient) {
        const size_t n = nb::len(candidates);
        if (nb::len(references) != n) throw std::invalid_argument("a list of references for each candidate");
        fabula::room_for(n, 25 * sizeof(double));
        std::vector<double> stats(n * 23, 0.0), scores(n, -1.0), beyond(n, 0.0);
        std::vector<uint32_t> reference(n, 0);  // of the best so far: tiles of one item may come in any order
        std::mutex best;
        Batch texts;
        std::vector<Block> batch;
        const auto flush = [&] {
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
            texts.clear();
        };
        for (size_t k = 0; k < n; ++k) {
            const uint32_t hyp = add(nb::object(candidates[k]), texts);
            batch.push_back({k, {hyp}, ids(references[k], texts), k});
            if (batch.back().refs.empty()) throw std::invalid_argument("item " + std::to_string(k) + " has no reference");
            if (texts.full()) flush();
        }
        flush();
        return {owned(std::move(stats), {n, size_t{23}}), owned(std::move(scores), {n}), owned(std::move(beyond), {n})};
    }

    // The same of pairs, each a candidate and one reference by their places among the texts; crowded ones count as unmatched.
    std::tuple<nb::object, nb::object, nb::object> pairs_at(nb::sequence texts, Places candidates, Places references, int64_t threads) {
        fabula::all_aligned(candidates, references);
        const size_t n = candidates.shape(0), there = nb::len(texts);
        if (references.shape(0) != n) throw std::invalid_argument("a pair is a candidate and a reference");
        for (const Places *side : {&candidates, &references})
            for (size_t k = 0; k < n; ++k)
                if (side->data()[k] < 0 || static_cast<size_t>(side->data()[k]) >= there) throw std::out_of_range("there is no such text");
        fabula::room_for(n, 25 * sizeof(double));
        std::vector<double> stats(n * 23, 0.0), scores(n, 0.0), beyond(n, 0.0);
        Batch batched;
        std::vector<Block> batch;
        std::vector<uint32_t> local(there, UNKNOWN);  // by place among the texts: its number in the batch
        std::vector<size_t> told;
        const auto flush = [&] {
            score(batch, batched, threads, {"pair ", true}, nullptr,
                  [&](const Block &block, size_t, size_t r, const Statistics &found, bool crowded) {
                const size_t k = block.out + r;
                std::copy(found.begin(), found.end(), stats.begin() + static_cast<ptrdiff_t>(k * 23));
                scores[k] = score_of(found);
                beyond[k] = crowded;
            });
            batch.clear();
            batched.clear();
            for (size_t place : told) local[place] = UNKNOWN;
            told.clear();
        };
        const auto number = [&](size_t place) {
            if (local[place] == UNKNOWN) {
                local[place] = add(nb::object(texts[place]), batched);
                told.push_back(place);
            }
            return local[place];
        };
        for (size_t k = 0; k < n; ++k) {
            if (batched.full()) flush();
            const uint32_t hyp = number(static_cast<size_t>(candidates.data()[k])), ref = number(static_cast<size_t>(references.data()[k]));
            if (batch.empty() || batch.back().hyps[0] != hyp) batch.push_back({k, {hyp}, {}, k});
            batch.back().refs.push_back(ref);
        }
        flush();
        return {owned(std::move(stats), {n, size_t{23}}), owned(std::move(scores), {n}), owned(std::move(beyond), {n})};
    }

    // For pictures: the words of each candidate and of its reference, and their matches (ref, hyp, ref_words, hyp_words,
    // module); none of a crowded pair.
    nb::list align(nb::sequence candidates, nb::sequence references, int64_t threads) {
        Batch texts;
        const std::vector<uint32_t> hyps = ids(candidates, texts), refs = ids(references, texts);
        if (hyps.size() != refs.size()) throw std::invalid_argument("a reference for each candidate");
        Sentences prepared;
        std::vector<std::vector<Match>> found(hyps.size());
        {
            nb::gil_scoped_release release;
            prepared = sentences(texts.texts(), pairs_.numbers(texts.texts()), std::vector<uint8_t>(texts.texts().size(), 1), threads);
            in_threads(hyps.size(), threads, [&] {
                return [&, tile = std::make_shared<Tile>()](size_t k) {
                    tile->run(t_, {prepared[hyps[k]].get()}, {prepared[refs[k]].get()}, {0});
                    if (tile->crowded().empty()) found[k] = tile->matches();
                };
            });
        }
        nb::list all;
        for (size_t k = 0; k < found.size(); ++k) {
            nb::list matches;
            for (const Match &m : found[k]) matches.append(nb::make_tuple(m.ref, m.hyp, m.ref_words, m.hyp_words, m.module));
            all.append(nb::make_tuple(words_of(*prepared[hyps[k]]), words_of(*prepared[refs[k]]), matches));
        }
        return all;
    }

    uint64_t aligned() const { return pairs_.aligned(); }
    // Sentences and pairs; words stay, for they come again.
    void forget() {
        pairs_.forget_all();
        std::lock_guard<std::mutex> guard(lock_);
        cache_.clear(), cached_words_ = 0;
    }
    nb::object normalise(nb::handle text) {
        Batch one;
        add(nb::borrow(text), one);
        const std::string found = normalised(one.texts()[0]);
        nb::object made = nb::steal(PyUnicode_FromStringAndSize(found.data(), static_cast<Py_ssize_t>(found.size())));
        if (!made.is_valid()) throw nb::python_error();
        return made;
    }

  private:
    // The text itself if the C++ normaliser can take it; otherwise what the Python normaliser makes of it.
    uint32_t add(const nb::object &text, Batch &into) {
        if (!PyUnicode_Check(text.ptr())) throw nb::type_error("not a text");
        if (PyUnicode_IS_ASCII(text.ptr())) {
            const char *data = reinterpret_cast<const char *>(PyUnicode_1BYTE_DATA(text.ptr()));
            const std::string_view view(data, static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr())));
            if (plain_ascii(view)) return into.add(view, text);
        }
        nb::object found = normalise_(text);
        if (!PyUnicode_Check(found.ptr())) throw nb::type_error("the normaliser makes no text");
        Py_ssize_t size = 0;
        const char *data = PyUnicode_AsUTF8AndSize(found.ptr(), &size);
        if (data == nullptr) throw nb::python_error();  // half a character: a ValueError, as in the twin
        return into.add(NORMALISED + std::string(data, static_cast<size_t>(size)), nb::object());
    }
    std::string normalised(std::string_view key) const {
        return !key.empty() && key[0] == NORMALISED ? std::string(key.substr(1)) : normalise_ascii(key, t_);
    }

    std::vector<uint32_t> ids(nb::handle texts, Batch &into) {
        if (PyUnicode_Check(texts.ptr())) throw nb::type_error("one text where a list of texts is meant");
        nb::object fast = nb::steal(PySequence_Fast(texts.ptr(), "a list of texts is meant"));
        if (!fast.is_valid()) throw nb::python_error();
        std::vector<uint32_t> found;
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.ptr()); ++k)
            found.push_back(add(nb::borrow(PySequence_Fast_GET_ITEM(fast.ptr(), k)), into));  // ours while Python normalises it
        return found;
    }

    static nb::list words_of(const Sentence &sentence) {
        nb::list found;
        for (size_t k = 0, end; k < sentence.text.size(); k = end + 1) {
            end = std::min(sentence.text.find(' ', k), sentence.text.size());
            nb::object word = nb::steal(PyUnicode_FromStringAndSize(sentence.text.data() + k, static_cast<Py_ssize_t>(end - k)));
            if (!word.is_valid()) throw nb::python_error();
            found.append(word);
        }
        return found;
    }

    // Those that are needed; the others are null.
    Sentences sentences(const std::vector<std::string_view> &keys, const std::vector<uint64_t> &numbers, const std::vector<uint8_t> &needed,
                        int64_t threads) {
        Sentences found(keys.size());
        std::vector<size_t> missing;
        {
            std::lock_guard<std::mutex> guard(lock_);
            for (size_t k = 0; k < keys.size(); ++k) {
                if (!needed[k]) continue;
                const auto known = cache_.find(numbers[k]);
                if (known != cache_.end()) found[k] = known->second;
                else missing.push_back(k);
            }
        }
        in_threads((missing.size() + 15) / 16, threads, [&] {
            return [&, maker = std::make_shared<Maker>(), common = std::make_shared<Arena>()](size_t job) {
                for (size_t m = 16 * job; m < std::min(16 * job + 16, missing.size()); ++m) {
                    const std::string text = normalised(keys[missing[m]]);
                    const auto arena = text.size() < LONG ? common : std::make_shared<Arena>();  // a long one goes alone
                    found[missing[m]] = std::shared_ptr<const Sentence>(arena, maker->make(text, t_, words_, *arena));
                }
            };
        });
        std::lock_guard<std::mutex> guard(lock_);
        for (size_t k : missing) {
            const size_t words = found[k]->size() + keys[k].size() / 16;
            if (cache_.size() >= CACHED_SENTENCES || cached_words_ + words > CACHED_WORDS) cache_.clear(), cached_words_ = 0;
            if (words > CACHED_WORDS / 16) continue;
            if (cache_.emplace(numbers[k], found[k]).second) cached_words_ += words;
        }
        return found;
    }

    // Ranges of at most TILE sentences and TILE_WORDS words (a longer sentence is a range of its own).
    static std::vector<uint32_t> cuts(const std::vector<uint32_t> &ids, const Sentences &sentences) {
        std::vector<uint32_t> found{0};
        size_t words = 0;
        for (uint32_t k = 0; k < ids.size(); ++k) {
            const size_t size = sentences[ids[k]] ? sentences[ids[k]]->size() : 0;  // none: not needed
            if (k > found.back() && (k - found.back() >= TILE || words + size > TILE_WORDS)) found.push_back(k), words = 0;
            words += size;
        }
        found.push_back(static_cast<uint32_t>(ids.size()));
        return found;
    }

    // Hands over what is known of a block's pairs and marks it, and those that are not wanted; false: there is nothing more.
    template <class Result>
    bool pass_known(const Block &block, const std::vector<uint64_t> &numbers, const bool *flags, std::vector<uint8_t> &passed,
                    Result &result) const {
        const size_t R = block.refs.size(), size = block.hyps.size() * R;
        passed.assign(size, 0);
        size_t at = 0, left = 0;
        if (flags)
            for (size_t k = 0; k < size; ++k) passed[k] = !flags[block.out + k];
        const auto next = [&](std::pair<uint64_t, uint64_t> &pair) {
            while (at < size && passed[at]) ++at;
            if (at == size) return false;
            pair = {numbers[block.hyps[at / R]], numbers[block.refs[at % R]]};
            return true;
        };
        pairs_.look_up(next, [&](const Statistics *stats) {
            if (stats) {
                result(block, at / R, at % R, *stats, false);
                passed[at] = 1;
            } else {
                ++left;
            }
            ++at;
        });
        if (!left) passed.clear();
        return left > 0;
    }

    // `flags` say of each pair, from block.out on and row by row, whether it is wanted; without them all are.
    template <class Result>
    void score(const std::vector<Block> &blocks, const Batch &texts, int64_t threads, const Asked &asked, const bool *flags,
               Result result) {
        nb::gil_scoped_release release;
        const std::vector<uint64_t> numbers = pairs_.numbers(texts.texts());
        std::vector<std::vector<uint8_t>> passed(blocks.size());  // pairs that are known, or not wanted
        std::vector<uint8_t> needed(texts.texts().size(), 0);
        for (size_t b = 0; b < blocks.size(); ++b)
            if (pass_known(blocks[b], numbers, flags, passed[b], result))
                for (size_t k = 0; k < passed[b].size(); ++k)
                    if (!passed[b][k]) needed[blocks[b].hyps[k / blocks[b].refs.size()]] = needed[blocks[b].refs[k % blocks[b].refs.size()]] = 1;
        const Sentences prepared = sentences(texts.texts(), numbers, needed, threads);
        std::vector<Work> work;
        for (uint32_t b = 0; b < blocks.size(); ++b) {
            if (passed[b].empty()) continue;
            const auto hyp_cuts = cuts(blocks[b].hyps, prepared), ref_cuts = cuts(blocks[b].refs, prepared);
            for (size_t h = 0; h + 1 < hyp_cuts.size(); ++h)
                for (size_t r = 0; r + 1 < ref_cuts.size(); ++r)
                    work.push_back({b, hyp_cuts[h], hyp_cuts[h + 1], ref_cuts[r], ref_cuts[r + 1]});
        }
        std::mutex failure_lock;
        std::optional<std::pair<size_t, std::string>> failure;  // the first in the caller's order
        in_threads(work.size(), threads, [&] {
            return [&, tile = std::make_shared<Tile>(), hyps = std::vector<const Sentence *>(), refs = std::vector<const Sentence *>(),
                    rows = std::vector<uint32_t>(), columns = std::vector<uint32_t>(), skipped = std::vector<uint8_t>()](size_t k) mutable {
                const Work &w = work[k];
                const Block &block = blocks[w.block];
                const auto is_left = [&](uint32_t h, uint32_t r) { return !passed[w.block][h * block.refs.size() + r]; };
                rows.clear(), columns.clear(), hyps.clear(), refs.clear(), skipped.clear();
                for (uint32_t h = w.hyp; h < w.hyp_end; ++h)
                    for (uint32_t r = w.ref; r < w.ref_end; ++r)
                        if (is_left(h, r)) {
                            rows.push_back(h);
                            break;
                        }
                for (uint32_t r = w.ref; r < w.ref_end; ++r)
                    if (std::any_of(rows.begin(), rows.end(), [&](uint32_t h) { return is_left(h, r); })) columns.push_back(r);
                if (rows.empty()) return;
                for (const uint32_t h : rows) hyps.push_back(prepared[block.hyps[h]].get());
                for (const uint32_t r : columns) refs.push_back(prepared[block.refs[r]].get());
                for (const uint32_t h : rows)
                    for (const uint32_t r : columns) skipped.push_back(!is_left(h, r));
                tile->run(t_, hyps, refs, skipped);
                const auto &crowded = tile->crowded();
                if (!crowded.empty() && !asked.lenient) {
                    const auto &[pair, why] = *crowded.begin();
                    const size_t h = rows[pair / refs.size()], r = columns[pair % refs.size()];
                    std::lock_guard<std::mutex> guard(failure_lock);
                    if (!failure || k < failure->first)
                        failure = {k, asked.name + std::to_string(block.number) + ": candidate " + std::to_string(h) +
                                          ", reference " + std::to_string(r) + ": " + why};
                    return;
                }
                std::vector<std::pair<std::pair<uint64_t, uint64_t>, Statistics>> made;
                for (size_t h = 0; h < hyps.size(); ++h)
                    for (size_t r = 0; r < refs.size(); ++r) {
                        const size_t pair = h * refs.size() + r;
                        if (skipped[pair]) continue;
                        const bool beyond = crowded.count(pair) > 0;
                        result(block, rows[h], columns[r], tile->stats(h, r), beyond);
                        if (!beyond) made.push_back({{numbers[block.hyps[rows[h]]], numbers[block.refs[columns[r]]]}, tile->stats(h, r)});
                    }
                pairs_.keep(made);
            };
        });
        if (failure) throw std::invalid_argument(failure->second);  // becomes ValueError
    }

    std::vector<nb::object> held_;  // keeps the mapping alive
    nb::callable normalise_;
    Tables t_;
    Words words_{t_};
    std::mutex lock_;
    std::unordered_map<uint64_t, std::shared_ptr<const Sentence>> cache_;  // by the numbers of their texts
    size_t cached_words_ = 0;
    Pairs pairs_;
};

nb::object stem_python(const std::string &word) {
    const std::u16string found = stem(utf16(word));
    const uint16_t one = 1;
    int order = *reinterpret_cast<const uint8_t *>(&one) ? -1 : 1;  // told, not guessed: a first U+FEFF is text
    nb::object made = nb::steal(PyUnicode_DecodeUTF16(reinterpret_cast<const char *>(found.data()),
                                                      static_cast<Py_ssize_t>(2 * found.size()), "surrogatepass", &order));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

// The score of each row of 23 statistics.
nb::object scores_of(nb::ndarray<const double, nb::shape<-1, 23>, nb::c_contig, nb::device::cpu> stats) {
    fabula::all_aligned(stats);
    fabula::room_for(stats.shape(0), sizeof(double));
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
        .def("pairs_at", &Engine::pairs_at, nb::arg("texts"), nb::arg("candidates"), nb::arg("references"), nb::arg("threads"),
             "([K, 23], [K], [K])")
        .def("align", &Engine::align, nb::arg("candidates"), nb::arg("references"), nb::arg("threads"),
             "[(candidate's words, reference's words, matches)]")
        .def("normalise", &Engine::normalise, nb::arg("text"))
        .def("aligned", &Engine::aligned, "How many pairs were aligned so far.")
        .def("forget", &Engine::forget, "Sentences and pairs that were kept.");
    m.def("meteor_scores", &meteor::scores_of, nb::arg("stats"), "Twin of fabula.text.meteor.score_of.");
    m.def("meteor_check", &meteor::check_sections, nb::arg("sections"), "Twin of fabula.text.meteor.index.check_sections_python.");
    m.def("meteor_stem", &meteor::stem_python, nb::arg("word"), "Twin of fabula.text.meteor.stem.stem.");
}
