"""BLEU-1..4 (Papineni et al., ACL 2002) with the constants of pycocoevalcap 1.2.

    BLEU_n = BP · (Π_{k≤n} p_k)^{1/n}      p_k = (correct_k + 1e-15) / (guess_k + 1e-9)
    BP     = min(1, exp(1 − 1/ρ))          ρ   = (c + 1e-15) / (r + 1e-9)

where guess_k is the number of k-grams of the candidate, correct_k how many of them a reference has too (each k-gram
at most as often as in the one reference that has it most often), c the candidate's length, and r the length of the
reference closest to c, the shorter one on ties. Over a corpus guess, correct, c and r are summed first, so a corpus
BLEU is not the mean of its segments. The two constants are why no match gives a tiny number instead of 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels
from fabula.text import _sentences
from fabula.text._check import check_pair, check_pairs
from fabula.text._scorer import OneByOne
from fabula.text.placed import Pairs

NAME = "bleu"
N = 4
TINY, SMALL = 1e-15, 1e-9

Bleu = tuple[float, float, float, float]
Counts = tuple[int, int, int, int]


class BleuStats(NamedTuple):
    """All that BLEU needs to know of one item; the stats of a corpus are their sums."""

    guess: Counts
    correct: Counts
    c: int
    r: int


def stats(candidate: str, references: Sequence[str], *, item: object = None) -> BleuStats:
    """Count one candidate against its references; `item` is what an error calls it."""
    check_pair(candidate, references, item=item)
    words = candidate.split()
    lines = [reference.split() for reference in references]
    c = len(words)
    correct = [0] * N
    for k in range(1, N + 1):
        most = count_ngrams(lines[0], k)
        for line in lines[1:]:
            most |= count_ngrams(line, k)
        correct[k - 1] = sum(min(n, most[w]) for w, n in count_ngrams(words, k).items() if w in most)
    return BleuStats(
        guess=(c, max(0, c - 1), max(0, c - 2), max(0, c - 3)),
        correct=(correct[0], correct[1], correct[2], correct[3]),
        c=c,
        r=min((abs(len(line) - c), len(line)) for line in lines)[1],
    )


def stats_many(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """`stats` of many: guess_1..4, correct_1..4, c and r of each. [K, 10]"""
    kernels = _kernels.native()
    if kernels is None:
        rows = [stats(c, r, item=k) for k, (c, r) in enumerate(zip(candidates, references, strict=True))]
        return np.array([(*row.guess, *row.correct, row.c, row.r) for row in rows], np.int64).reshape(-1, 2 * N + 2)
    check_pairs(candidates, references)
    return _sentences.count(kernels, candidates, references, _count_items)


def stats_pairs(pairs: Pairs) -> NDArray[np.int64]:
    """The same of items by the places of their sentences. [K, 10]"""
    kernels = _kernels.native()
    return stats_many(*pairs.items()) if kernels is None else _sentences.count_pairs(kernels, pairs, _count_items)


def _count_items(items: _sentences.NumberedItems) -> NDArray[np.int64]:
    found: NDArray[np.int64] = items.rows.bleu(items.candidates, items.references, items.starts, _kernels.threads())
    return found


def segments(stats: NDArray[np.int64]) -> NDArray[np.float64]:
    """`segment` of each row that `stats_many` gives, or of sums of such rows. [K, 4]"""
    kernels = _kernels.native()
    if kernels is None:
        scores = [
            segment(BleuStats((a, b, c, d), (e, f, g, h), i, j)) for a, b, c, d, e, f, g, h, i, j in stats.tolist()
        ]
        return np.array(scores).reshape(-1, N)
    found: NDArray[np.float64] = kernels.bleu(np.ascontiguousarray(stats))
    return found


def segment(stats: BleuStats) -> Bleu:
    """BLEU-1..4 of one item."""
    precision, bleu = 1.0, []
    for k, (guess, correct) in enumerate(zip(stats.guess, stats.correct, strict=True), start=1):
        precision *= (correct + TINY) / (guess + SMALL)
        bleu.append(precision ** (1.0 / k))
    ratio = (stats.c + TINY) / (stats.r + SMALL)
    BP = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    return bleu[0] * BP, bleu[1] * BP, bleu[2] * BP, bleu[3] * BP


def corpus(stats: Iterable[BleuStats]) -> Bleu:
    """BLEU-1..4 of the summed statistics; a corpus of nothing has 0."""
    return segment(total(stats))


def total(stats: Iterable[BleuStats]) -> BleuStats:
    """The sum of statistics: associative, so shards may be summed apart."""
    guess, correct, c, r = [0] * N, [0] * N, 0, 0
    for row in stats:
        for k in range(N):
            guess[k] += row.guess[k]
            correct[k] += row.correct[k]
        c, r = c + row.c, r + row.r
    return BleuStats((guess[0], guess[1], guess[2], guess[3]), (correct[0], correct[1], correct[2], correct[3]), c, r)


def count_ngrams(words: Sequence[str], k: int) -> Counter[tuple[str, ...]]:
    """How often each run of k words occurs."""
    return Counter(zip(*(words[i:] for i in range(k)), strict=False))


class PairBleu(OneByOne):
    """BLEU up to n-grams of order n as SODA's caption scorer, each pair by itself."""

    def __init__(self, n: int) -> None:
        self.n, self.name = n, f"bleu_{n}"

    @property
    def version(self) -> str:
        return f"bleu-{self.n}(segment)"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        texts = [*candidates, *references]
        c, r = np.indices((len(candidates), len(references))).reshape(2, -1)
        stats = stats_pairs(Pairs.of(texts, c, r + len(candidates)))
        return segments(stats)[:, self.n - 1].reshape(len(candidates), len(references))


SCORERS = tuple(PairBleu(n) for n in range(1, N + 1))
