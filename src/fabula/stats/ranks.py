"""Rank correlations under weights: Kendall's τ-b and τ-c (Kendall 1938, 1945; Stuart 1953), Spearman's ρ, pairs right.

A resample is a weight w_i for each pair of numbers (x_i, y_i): how often it was drawn. Over all pairs i, j of draws, C
of them ordered alike, D ordered otherwise, n₀ = N(N − 1)/2, n₁ tied in x, n₂ in y, n₃ in both, N = Σ w_i:

    τ-b = (C − D) / √((n₀ − n₁)(n₀ − n₂))
    τ-c = 2(C − D) / (N²·(m − 1)/m)              m: the distinct values of x or of y, whichever are fewer
    accuracy = (C + n₃) / n₀                     ties count where both tie (Deutsch, Foster & Freitag, EMNLP 2023)

C is counted by merging: numbers stand in order of x; blocks of 1, 2, 4, … neighbours are merged in order of y, and each
number on the right adds its weight times that of all smaller ones on the left. The orders do not depend on w: they are
found once, and a resample costs log₂ n cumulative sums. Pairs of two draws of the same number are left out of n₀, n₁,
n₂ and n₃ where accuracy is asked for: a number drawn twice is not a tie that a metric got right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.stats.sample import Array, Index


@dataclass(frozen=True, slots=True)
class Merge:
    """One round: the numbers in order of y within each block, which of them came from the left, where blocks begin."""

    order: Index  # [n]
    left: NDArray[np.bool_]  # [n]
    start: Index  # [n] of the block that a place belongs to


@dataclass(frozen=True, slots=True)
class Ranks:
    """Two lists of numbers, made ready for weights."""

    x: Array
    y: Array
    merges: tuple[Merge, ...]
    x_at: Index  # [n] which distinct value
    y_at: Index
    xy_at: Index

    @classmethod
    def of(cls, x: Sequence[float] | Array, y: Sequence[float] | Array) -> Ranks:
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
            raise SpecError(
                f"a correlation needs two lists of equal length, two numbers or more; not {len(x)}, {len(y)}"
            )
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise SpecError("a correlation needs finite numbers")
        x_at = np.unique(x, return_inverse=True)[1]
        values, y_at = np.unique(y, return_inverse=True)
        xy_at = np.unique(x_at * len(values) + y_at, return_inverse=True)[1]
        return cls(x, y, tuple(plan_merges(x_at, y_at)), x_at, y_at, xy_at)

    def concordant(self, W: Array) -> Array:
        """C under each line of weights. [B, n] → [B]"""
        total = np.zeros(len(W))
        for merge in self.merges:
            w = W[:, merge.order]
            left = np.cumsum(np.where(merge.left, w, 0.0), axis=1)
            before = np.where(merge.start > 0, left[:, merge.start - 1], 0.0)
            total += np.where(merge.left, 0.0, w * (left - before)).sum(axis=1)
        return total

    def counts(self, W: Array, own: bool = True) -> tuple[Array, Array, Array, Array, Array]:
        """C, n₀, n₁, n₂, n₃; without `own`, pairs of a number with itself do not count."""
        N = W.sum(axis=1)
        squares = N if own else (W**2).sum(axis=1)
        tied = [(group(W, at) ** 2).sum(axis=1) for at in (self.x_at, self.y_at, self.xy_at)]
        n0, n1, n2, n3 = ((t - squares) / 2 for t in (N**2, *tied))
        return self.concordant(W), n0, n1, n2, n3

    def ones(self) -> Array:
        return np.ones((1, len(self.x)))

    def tau_b(self, W: Array | None = None) -> Array:
        C, n0, n1, n2, n3 = self.counts(self.ones() if W is None else W)
        D = n0 - n1 - n2 + n3 - C
        return ratio(C - D, np.sqrt(np.maximum((n0 - n1) * (n0 - n2), 0)))

    def tau_c(self, W: Array | None = None) -> Array:
        W = self.ones() if W is None else W
        C, n0, n1, n2, n3 = self.counts(W)
        D = n0 - n1 - n2 + n3 - C
        kinds = np.minimum(*((group(W, at) > 0).sum(axis=1) for at in (self.x_at, self.y_at)))
        return ratio(2 * (C - D), W.sum(axis=1) ** 2 * (kinds - 1) / np.maximum(kinds, 1))

    def accuracy(self, W: Array | None = None) -> Array:
        C, n0, _, _, n3 = self.counts(self.ones() if W is None else W, own=False)
        return ratio(C + n3, n0)

    def spearman(self, W: Array | None = None) -> Array:
        W = self.ones() if W is None else W
        return pearson(midranks(W, self.x_at), midranks(W, self.y_at), W)


def plan_merges(x_at: Index, y_at: Index) -> list[Merge]:
    """The rounds. Numbers tied in x stand with the larger y first, so that no pair of them looks concordant; where y
    ties, the right goes before the left."""
    n = len(x_at)
    order = np.lexsort((-y_at, x_at))
    place = np.arange(n)  # in the order of x
    merges = []
    size = 1
    while size < n:
        block = place // (2 * size)
        left = place // size % 2 == 0
        by_y = np.lexsort((left, y_at[order], block))
        merges.append(Merge(order[by_y], left[by_y], block[by_y] * 2 * size))
        size *= 2
    return merges


def group(W: Array, at: Index) -> Array:
    """The weight of each distinct value. [B, n] → [B, G]"""
    B, G = len(W), int(at.max()) + 1
    places = (np.arange(B)[:, None] * G + at[None, :]).ravel()
    sums: Array = np.bincount(places, W.ravel(), minlength=B * G).astype(np.float64)
    return sums.reshape(B, G)


def midranks(W: Array, at: Index) -> Array:
    """The rank of each number among the draws, ties sharing the mean of theirs. [B, n]"""
    members = group(W, at)
    ranks = np.cumsum(members, axis=1) - members + (members + 1) / 2
    return ranks[:, at]


def pearson(x: Array, y: Array, W: Array) -> Array:
    """The correlation of numbers under weights; [B, n] or [n] each."""
    N = W.sum(axis=1, keepdims=True)
    dx, dy = (v - (W * v).sum(axis=1, keepdims=True) / N for v in (np.atleast_2d(x), np.atleast_2d(y)))
    above = (W * dx * dy).sum(axis=1)
    return ratio(above, np.sqrt((W * dx**2).sum(axis=1) * (W * dy**2).sum(axis=1)))


def ratio(above: Array, below: Array) -> Array:
    """Not a number where nothing stands below: all values are the same."""
    found = np.full(len(above), np.nan)
    positive = below > 1e-300
    found[positive] = above[positive] / below[positive]
    return found
