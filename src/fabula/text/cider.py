"""CIDEr-D (Vedantam et al., CVPR 2015) as pycocoevalcap 1.2 computes it; the document frequencies are an argument.

    g(ω)          = tf(ω) · (log N − log max(1, df(ω)))                          for each n-gram ω of a sentence
    CIDEr-D(c, r) = 10/4 Σ_{n=1..4} e^{−(l_c − l_r)²/2σ²} · Σ_ω min(g_c(ω), g_r(ω)) g_r(ω) / (‖g_c‖ ‖g_r‖),   σ = 6

averaged over the references r. df(ω) is the number of items of which some reference has ω, and N the number of items;
l is the number of *bigrams*. An n without n-grams contributes 0, so two perfect words have 5, not 10, and one item
alone (log 1 = 0) has 0. Which items are counted, the scope, decides the number: published ones use a corpus (COCO),
one video (dense captioning), a batch of 16 (MICap) or a file. Here it is an Idf, or a label per item.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels
from fabula.core.errors import InputError
from fabula.text import _sentences
from fabula.text._check import check_pair, check_pairs, check_sentences
from fabula.text._idf import Idf, ngrams
from fabula.text._scorer import OneByOne
from fabula.text.placed import Pairs, lay_flat

__all__ = ["NAME", "Documents", "Idf", "batch_scope", "corpus_scope", "pairs", "score", "scores", "scores_within"]

NAME = "cider"
SIGMA = 6.0
Item = tuple[str, Sequence[str]]  # candidate, references


class Vector(NamedTuple):
    """One sentence: for each n the weights g of its n-grams and their norm, and the number of its bigrams."""

    g: list[dict[str, float]]
    norm: list[float]
    l: int  # noqa: E741  (the paper's letter)


def score(candidate: str, references: Sequence[str], idf: Idf, *, item: object = None) -> float:
    """CIDEr-D of one candidate; `item` is what an error calls it."""
    check_pair(candidate, references, item=item)
    return _score(candidate, references, _vectoriser(idf))


class Documents:
    """Items whose references are counted: by the kernels where there are some, else as an Idf. One count serves all.

    The sentences are told to the kernels together with those of all other metrics, unless they are too many.
    """

    def __init__(self, references: Sequence[Sequence[str]], idf: Idf | None = None) -> None:
        self.references, self.N = references, idf.N if idf else len(references)
        self.flat, self.starts = lay_flat(references)
        few = idf is None and len(self.flat) <= _sentences.LIMIT // 2
        self.memory = _sentences.shared if few else _sentences.Memory(keep=self.flat)
        self.fixed_idf = idf
        self.rows: object = None  # where df was counted
        self.weights = np.zeros(0)  # log N − log df, by the number of the n-gram

    @cached_property
    def idf(self) -> Idf:
        return self.fixed_idf or Idf.from_references(self.references)

    def score(self, items: _sentences.NumberedItems) -> NDArray[np.float64]:
        found: NDArray[np.float64] = items.rows.cider_given(*items[1:], self.on(items.rows), _kernels.threads())
        return found

    def besides(self, rows: Any) -> Sequence[str]:
        """The sentences that these rows still need."""
        return () if rows is not None and rows is self.rows else self.flat

    def on(self, rows: Any) -> NDArray[np.float64]:
        """The weight of every n-gram that these rows know; one that came after the count occurs in no item."""
        if rows is not self.rows:
            self.rows, self.weights = rows, np.zeros(0)
        grams, known = rows.grams_known(), len(self.weights)
        if known < grams:
            if self.fixed_idf:
                new = np.array([self.fixed_idf.df.get(gram, 0) for gram in rows.grams(known)], np.int64)
            elif known:
                new = np.zeros(grams - known, np.int64)
            else:
                number = self.memory.numbers.__getitem__
                new = rows.frequencies(np.fromiter(map(number, self.flat), np.int64, len(self.flat)), self.starts)
            self.weights = np.concatenate([self.weights, rows.weights(new, self.N)])
        return self.weights


_last_documents: list[Documents] = []  # the last Idf that was passed, by the numbers of its n-grams


def documents(idf: Idf | Documents) -> Documents:
    """Those that somebody else has counted; the same Idf, which is large, is not looked through twice."""
    if isinstance(idf, Documents):
        return idf
    if not (_last_documents and _last_documents[0].fixed_idf is idf):
        _last_documents[:] = [Documents((), idf)]
    return _last_documents[0]


def frequencies(idf: Idf | Documents) -> Idf:
    return idf.idf if isinstance(idf, Documents) else idf


def scores(items: Iterable[Item], idf: Idf | Documents) -> list[float]:
    """CIDEr-D of each item; a sentence that occurs often is counted once."""
    items = check_items(items)
    kernels = _kernels.native()
    if kernels is None:
        return list(stream(items, frequencies(idf)))
    check_documents(idf)
    known = documents(idf)
    candidates, references = [c for c, _ in items], [r for _, r in items]
    return _sentences.count(kernels, candidates, references, known.score, known.memory, known.besides).tolist()  # type: ignore[no-any-return]


def score_pairs(pairs: Pairs, idf: Idf | Documents) -> NDArray[np.float64]:
    """The same of items by the places of their sentences. [K]"""
    kernels = _kernels.native()
    if kernels is None:
        return np.array(scores(zip(*pairs.items(), strict=True), idf))
    check_documents(idf)
    known = documents(idf)
    return _sentences.count_pairs(kernels, pairs, known.score, known.memory, known.besides)


def stream(items: Iterable[Item], idf: Idf) -> Iterator[float]:
    """The same one by one, for more items than fit into memory."""
    vector = cache(_vectoriser(idf))
    for i, (candidate, references) in enumerate(items):
        check_pair(candidate, references, item=i)
        yield _score(candidate, references, vector)


def scores_within(items: Sequence[Item], groups: Sequence[Hashable]) -> list[float]:
    """CIDEr-D of each item with the Idf of its own group: the label is the scope."""
    if len(groups) != len(items):
        raise InputError(f"{len(groups)} group labels for {len(items)} items", hint="give one label per item")
    items = check_items(items)
    members: dict[Hashable, list[int]] = {}
    for i, label in enumerate(groups):
        members.setdefault(label, []).append(i)
    order = [i for group in members.values() for i in group]
    found = score_groups([items[i] for i in order], [len(group) for group in members.values()])
    values = [0.0] * len(items)
    for i, value in zip(order, found, strict=True):
        values[i] = value
    return values


def score_groups(items: Sequence[Item], sizes: Sequence[int]) -> list[float]:
    """The same for groups that stand one after the other, each so many items."""
    starts = [0, *accumulate(sizes)]
    kernels = _kernels.native()
    if kernels is None:
        groups = [items[a:b] for a, b in pairwise(starts)]
        return [v for group in groups if group for v in scores(group, Idf.from_references([r for _, r in group]))]

    candidates, references = [c for c, _ in items], [r for _, r in items]
    return _sentences.count(kernels, candidates, references, lambda numbered: _score_groups(numbered, starts)).tolist()  # type: ignore[no-any-return]


def score_pair_groups(pairs: Pairs, sizes: Sequence[int]) -> NDArray[np.float64]:
    """The same of items by the places of their sentences. [K]"""
    kernels = _kernels.native()
    if kernels is None:
        return np.array(score_groups(list(zip(*pairs.items(), strict=True)), sizes))
    starts = [0, *accumulate(sizes)]
    return _sentences.count_pairs(kernels, pairs, lambda items: _score_groups(items, starts))


def _score_groups(items: _sentences.NumberedItems, starts: Sequence[int]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = items.rows.cider(*items[1:], np.array(starts, np.int64), _kernels.threads())
    return found


def check_items(items: Iterable[Item]) -> list[Item]:
    """The items, each a candidate with references; else an error that names the one that is not."""
    checked = list(items)
    check_pairs([c for c, _ in checked], [r for _, r in checked])
    return checked


def check_documents(idf: Idf | Documents) -> None:
    if idf.N < 1:
        raise InputError("the Idf counts no items", field="idf", hint="build it with Idf.from_references")


def corpus_scope(count: int) -> list[int]:
    """Labels that put all items into one group, as COCO does."""
    return [0] * count


def batch_scope(count: int, size: int = 16) -> list[int]:
    """Labels of consecutive batches; 16 is MICap's (which then averages the means of the batches)."""
    if size < 1:
        raise InputError(f"a batch of {size} items", hint="give a size of at least 1")
    return [i // size for i in range(count)]  # the scope of a video needs no helper: its ids are the labels


def pairs(candidates: Sequence[str], references: Sequence[str], idf: Idf) -> NDArray[np.float64]:
    """CIDEr-D of each candidate against each single reference: [len(candidates), len(references)].

    Goes through an inverted index, n-gram → (the references that have it, their weights g), candidate by candidate.
    """
    vector = _vectoriser(idf)
    cands = {text: vector(text) for text in dict.fromkeys(check_sentences(candidates, "candidates"))}
    refs = {text: vector(text) for text in dict.fromkeys(check_sentences(references, "references"))}
    where: dict[str, list[int]] = {w: [] for c in cands.values() for g in c.g for w in g}
    weights: dict[str, list[float]] = {w: [] for w in where}
    for j, r in enumerate(refs.values()):
        for g in r.g:
            for w, weight in g.items():
                if w in where:
                    where[w].append(j)
                    weights[w].append(weight)
    index = {w: (np.array(at), np.array(weights[w])) for w, at in where.items() if at}
    norm = np.array([r.norm for r in refs.values()]).reshape(len(refs), 4).T  # [4, R]
    l_r = np.array([r.l for r in refs.values()])
    rows: dict[str, NDArray[np.float64]] = {}
    for text, c in cands.items():
        dot = np.zeros((4, len(refs)))
        for n in range(4):
            for w, weight in c.g[n].items():
                if w in index:
                    at, g_r = index[w]
                    dot[n, at] += np.minimum(weight, g_r) * g_r
        norms = np.array(c.norm)[:, None] * norm
        cosine = np.divide(dot, norms, out=np.zeros_like(dot), where=norms != 0)
        rows[text] = 10 * cosine.mean(axis=0) * np.exp(-((c.l - l_r) ** 2) / (2 * SIGMA**2))
    order = {text: j for j, text in enumerate(refs)}
    columns = np.array([order[text] for text in references], int)
    return np.array([rows[text][columns] for text in candidates]).reshape(len(candidates), len(references))


def _vectoriser(idf: Idf) -> Callable[[str], Vector]:
    check_documents(idf)
    log_N, df = math.log(idf.N), idf.df

    def vector(text: str) -> Vector:
        counts, bigrams = count_ngrams(text)
        g = [{w: tf * (log_N - math.log(max(1, df.get(w, 1)))) for w, tf in n.items()} for n in counts]
        return Vector(g, [math.sqrt(sum(x * x for x in n.values())) for n in g], bigrams)

    return vector


@lru_cache(maxsize=1 << 16)  # the weights change with the idf, the counts do not
def count_ngrams(text: str) -> tuple[list[Counter[str]], int]:
    """How often each n-gram occurs, for n = 1..4, and the number of bigrams."""
    grams = ngrams(text)
    return [Counter(n) for n in grams], len(grams[1])


def _score(candidate: str, references: Sequence[str], vector: Callable[[str], Vector]) -> float:
    c = vector(candidate)
    return sum(_similarity(c, vector(text)) for text in references) / len(references)


def _similarity(c: Vector, r: Vector) -> float:
    cosine = 0.0
    for g_c, g_r, norm_c, norm_r in zip(c.g, r.g, c.norm, r.norm, strict=True):
        if norm_c and norm_r:
            cosine += sum(min(x, g_r[w]) * g_r[w] for w, x in g_c.items() if w in g_r) / (norm_c * norm_r)
    return 10 * cosine / 4 * math.exp(-((c.l - r.l) ** 2) / (2 * SIGMA**2))


class CiderD(OneByOne):
    """CIDEr-D as SODA's caption scorer: document frequencies of the sentences that play reference in this one video."""

    name = "cider"
    version = "cider-d(idf=video)"
    alone = False  # a pair's score depends on the other references of its video

    def __init__(self, idf: Idf | None = None) -> None:
        self.idf = idf

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        return pairs(candidates, references, self.idf or Idf.from_references([[r] for r in references]))

    def within(self, references: Sequence[str]) -> CiderD:
        return CiderD(Idf.from_references([[r] for r in references]))


SCORER = CiderD()
