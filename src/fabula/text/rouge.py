"""ROUGE-L (Lin, 2004) as pycocoevalcap 1.2 computes it.

    P = max_r LCS(c, r) / |c|      R = max_r LCS(c, r) / |r|      F = (1 + β²) P R / (R + β² P),   β = 1.2

where LCS is the length of the longest common subsequence of tokens. The two maxima are taken independently: P and R
may come from different references. A sentence is split on each single blank, so '' is one (empty) token, and '' against
'' scores 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels
from fabula.text import _sentences
from fabula.text._check import check_pair, check_pairs, check_sentences
from fabula.text._scorer import OneByOne
from fabula.text.placed import Pairs

NAME = "rouge"
BETA = 1.2
MOST_IDS = 1 << 28  # the kernel has a table of them


def score(candidate: str, references: Sequence[str], *, item: object = None) -> float:
    """F of one candidate against all its references; `item` is what an error calls it."""
    check_pair(candidate, references, item=item)
    P, R = _precision_recall([candidate], references)  # [1, R]
    return float(_f_measure(P.max(axis=1), R.max(axis=1))[0])


def scores(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """`score` of many. [K]"""
    check_pairs(candidates, references)
    kernels = _kernels.native()
    if kernels is None:
        return np.array([score(c, r) for c, r in zip(candidates, references, strict=True)])
    return _sentences.count(kernels, candidates, references, _score_items) if candidates else np.zeros(0)


def score_pairs(pairs: Pairs) -> NDArray[np.float64]:
    """The same of items by the places of their sentences. [K]"""
    kernels = _kernels.native()
    if kernels is None or not len(pairs.candidates):
        return scores(*pairs.items())
    return _sentences.count_pairs(kernels, pairs, _score_items)


def _score_items(items: _sentences.NumberedItems) -> NDArray[np.float64]:
    paired = np.repeat(items.candidates, np.diff(items.starts))
    L, c, r = items.rows.lcs(paired, items.references, _kernels.threads()).astype(np.float64).T
    first = items.starts[:-1]
    return _f_measure(np.maximum.reduceat(L / c, first), np.maximum.reduceat(L / r, first))


def pairs(candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """F of each candidate against each single reference: [len(candidates), len(references)]."""
    check_sentences(candidates, "candidates")
    check_sentences(references, "references")
    return _f_measure(*_precision_recall(candidates, references))


def _precision_recall(
    candidates: Sequence[str], references: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ids: dict[str, int] = {}
    A = [[ids.setdefault(token, len(ids)) for token in text.split(" ")] for text in candidates]
    B = [[ids.setdefault(token, len(ids)) for token in text.split(" ")] for text in references]
    L = lcs(A, B)  # [C, R]
    return L / np.array([len(a) for a in A], float)[:, None], L / np.array([len(b) for b in B], float)[None, :]


def _f_measure(P: NDArray[np.float64], R: NDArray[np.float64]) -> NDArray[np.float64]:
    F = np.zeros_like(P)
    np.divide((1 + BETA**2) * P * R, R + BETA**2 * P, out=F, where=(P != 0) & (R != 0))
    return F


def lcs(A: list[list[int]], B: list[list[int]]) -> NDArray[np.int64]:
    """LCS lengths of all pairs of token-id lists: [len(A), len(B)]."""
    native = _kernels.native()
    L: NDArray[np.int64] = lcs_python(A, B) if native is None else native.lcs(A, B)
    return L


def lcs_python(A: list[list[int]], B: list[list[int]]) -> NDArray[np.int64]:
    """Twin of _kernels/lcs.cpp, one bit per token of a (Hyyrö, 2004).

    Bit i of V is 0 where row i of the LCS table steps up by one; a token of b with the match mask M turns V into
    (V + (V & M)) | (V & ~M), and in the end the zeros of V are the LCS. A Python int is as long as it needs to be.
    Time grows with |a|·|b|/64, memory with |a| + |b|: only the masks of frequent tokens are kept.
    """
    if not all(0 <= token < MOST_IDS for texts in (A, B) for tokens in texts for token in tokens):
        raise ValueError(f"lcs: token ids must be from 0 to {MOST_IDS - 1}")
    L = np.zeros((len(A), len(B)), np.int64)
    for i, a in enumerate(A):
        places: dict[int, list[int]] = {}
        for position, token in enumerate(a):
            places.setdefault(token, []).append(position)
        masks = {token: mask(at, len(a)) for token, at in places.items() if 64 * len(at) >= len(a)}  # 64 at most
        ones = (1 << len(a)) - 1
        for j, b in enumerate(B):
            V = ones
            for token in b:
                if token in places:
                    M = masks[token] if token in masks else mask(places[token], len(a))
                    V = ((V + (V & M)) | (V & ~M)) & ones
            L[i, j] = len(a) - V.bit_count()
    return L


def mask(places: Sequence[int], size: int) -> int:
    """A number with these bits set, built in bytes: a shift for each would copy it as often."""
    bits = bytearray(size // 8 + 1)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "little")


class RougeL(OneByOne):
    """ROUGE-L as SODA's caption scorer."""

    name = "rouge"
    version = "rouge-l(beta=1.2)"

    def pairs(self, candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        return pairs(candidates, references)


SCORER = RougeL()
