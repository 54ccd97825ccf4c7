// The best trees of many sentences under a probabilistic context-free grammar; twin of fabula/text/spice/pcfg.py. The grammar
// is in pcfg.hpp, one sentence's CKY in pcfg_chart.hpp.
#include "kernel.hpp"
#include "parallel.hpp"
#include "pcfg_chart.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

namespace nb = nanobind;
using fabula::owned;
using fabula::require;
using pcfg::Chart;
using pcfg::Grammar;
using pcfg::Node;

namespace {

template <typename T, int D>
using In = nb::ndarray<const T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;

template <class Array> pcfg::Span<std::remove_const_t<typename Array::Scalar>> span(const Array &array) {
    return {fabula::aligned(array).data(), array.size()};
}

struct Pcfg : Grammar {
    using Grammar::Grammar;
};

void make(Pcfg *self, In<int32_t, 2> binary, In<float, 1> binary_scores, In<int32_t, 2> unary, In<float, 1> unary_scores,
          In<uint8_t, 1> kind, In<int32_t, 1> category, In<float, 1> limits, int32_t goal, std::optional<In<float, 2>> follows,
          float tag_limit) {
    require(binary.shape(1) == 3 && unary.shape(1) == 2, "Pcfg: odd shapes");
    require(!follows || follows->shape(0) == follows->shape(1) + 1, "Pcfg: odd follows");
    new (self) Pcfg({span(binary), span(unary), span(binary_scores), span(unary_scores), span(kind), span(category), span(limits), goal,
                     follows ? span(*follows) : pcfg::Span<float>{}, tag_limit, follows.has_value()});
}

nb::tuple trees(const Pcfg &g, In<int64_t, 1> first, In<int32_t, 1> words, In<int64_t, 1> at, In<int32_t, 1> tags, In<float, 1> scores,
                int64_t threads, bool whole, std::optional<In<uint64_t, 2>> allowed) {
    fabula::all_aligned(first, words, at, tags, scores);
    require(first.shape(0) > 0 && at.shape(0) > 0, "trees: first and at have an end each");
    require(scores.shape(0) == tags.shape(0), "trees: a score for each tag");
    require(fabula::all_finite(scores.data(), scores.size()), "trees: a score is not finite");
    const int64_t n = static_cast<int64_t>(first.shape(0)) - 1;
    const int64_t *f = first.data(), *t = at.data(), known = static_cast<int64_t>(at.shape(0)) - 1;
    const auto rises = [&](const int64_t *place, int64_t count, size_t limit, size_t step, const char *odd, const char *much) {
        require(place[0] >= 0 && place[count] <= static_cast<int64_t>(limit), odd);
        for (int64_t i = 0; i < count; ++i) require(place[i + 1] >= place[i], odd);
        for (int64_t i = 0; i < count; ++i) require(place[i + 1] - place[i] <= static_cast<int64_t>(step), much);
    };
    rises(f, n, words.shape(0), pcfg::MOST_WORDS, "trees: odd first", "trees: more than 512 words in a sentence");
    rises(t, known, tags.shape(0), g.T, "trees: odd at", "trees: more tags of a word than there are");
    for (size_t i = 0; i < words.shape(0); ++i) require(words.data()[i] >= 0 && words.data()[i] < known, "trees: no such word");
    for (size_t i = 0; i < tags.shape(0); ++i)
        require(tags.data()[i] >= 0 && static_cast<uint32_t>(tags.data()[i]) < g.S && g.kind[g.id[tags.data()[i]]] == pcfg::TAG, "trees: no such tag");
    if (allowed) {
        fabula::aligned(*allowed);
        require(n == 1 && allowed->shape(1) == 2, "trees: allowed is for one sentence");
        const auto length = static_cast<size_t>(f[1] - f[0]);
        require(allowed->shape(0) == length * (length + 1) / 2, "trees: allowed has a row for each span");
    }
    const auto *allow = allowed ? reinterpret_cast<const pcfg::Set *>(allowed->data()) : nullptr;
    std::vector<std::vector<Node>> found(n);
    std::vector<std::vector<float>> below(n);
    std::vector<float> best(n, pcfg::NONE);
    {
        nb::gil_scoped_release release;
        parallel(n, 1, threads, 4, [&](Queue &queue) {
            Chart chart(g);
            for (int64_t i; (i = queue.take()) >= 0;) {
                const auto length = static_cast<uint32_t>(f[i + 1] - f[i]);
                if (length < 2) continue;
                for (const bool limits : {true, false}) {  // a sentence that the limits leave without a tree has another go
                    found[i].clear();
                    if (!chart.fill(length, words.data() + f[i], t, tags.data(), scores.data(), allow, limits)) continue;
                    best[i] = chart.best();
                    if (chart.read(whole, found[i])) break;
                    found[i].clear();
                }
                for (const Node &x : found[i]) below[i].push_back(chart.below(x));
            }
        });
    }
    std::vector<int64_t> offsets(1, 0);
    for (const auto &nodes : found) offsets.push_back(offsets.back() + static_cast<int64_t>(nodes.size()));
    std::vector<int32_t> flat;
    std::vector<float> deep;
    flat.reserve(3 * offsets.back()), deep.reserve(offsets.back());
    for (const auto &nodes : found)
        for (const Node &x : nodes) flat.insert(flat.end(), {x.state, x.start, x.end});
    for (const auto &b : below) deep.insert(deep.end(), b.begin(), b.end());
    const size_t rows = offsets.size(), nodes = deep.size();
    return nb::make_tuple(owned(std::move(offsets), {rows}), owned(std::move(flat), {nodes, 3}), owned(std::move(best), {size_t(n)}),
                          owned(std::move(deep), {nodes}));
}

}  // namespace

FABULA_KERNEL(m) {
    nb::class_<Pcfg>(m, "Pcfg", "Twin of fabula.text.spice.pcfg.Grammar.")
        .def("__init__", &make, nb::arg("binary"), nb::arg("binary_scores"), nb::arg("unary"), nb::arg("unary_scores"), nb::arg("kind"),
             nb::arg("category"), nb::arg("limits"), nb::arg("goal"), nb::arg("follows") = nb::none(), nb::arg("tag_limit") = 0.0f)
        .def("trees", &trees, nb::arg("first"), nb::arg("words"), nb::arg("at"), nb::arg("tags"), nb::arg("scores"), nb::arg("threads"),
             nb::arg("whole") = false, nb::arg("allowed") = nb::none());
}
