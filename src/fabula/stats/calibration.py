"""Scores as probabilities, and how far these can be trusted.

    Platt      p = σ(a·x + b)    a, b by maximum likelihood, targets (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2)   (Platt, 1999)
    isotonic   p = the non-decreasing steps nearest to the labels   (pool adjacent violators; Zadrozny & Elkan, 2002)

    ECE = Σ_k n_k/n · |mean of p in bin k − share of positives in bin k|                  (Guo et al., ICML 2017)

An ECE depends on its bins, so a caller names them: `Binning(15, "mass")` has fifteen bins with (almost) equally many
samples each, `Binning(10, "width")` has ten bins of p of equal width, of which empty ones do not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def sigmoid(x: Floats) -> Floats:
    """σ(x) = 1 / (1 + exp(−x)), without overflow."""
    p: Floats = 1 / (1 + np.exp(-np.clip(x, -40, 40)))
    return p


# --- maps ------------------------------------------------------------------------------------------------------------


def fit_platt(x: Floats, positive: Bools, *, intercept: bool = True, ridge: float = 0.0) -> tuple[float, ...]:
    """Weights of the columns of x, then the intercept (0 without one).

    x: [n, d]; positive: [n]. `ridge` · |w|²/2 is added to the loss, w being the weights of columns of standard
    deviation 1: columns that carry the same information have no single best weights.
    """
    n_positive, n_negative = positive.sum(), (~positive).sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    mean, spread = x.mean(0) * intercept, np.where(x.std(0) > 1e-12, x.std(0), 1.0)
    columns = (x - mean) / spread
    X = np.column_stack([columns, np.ones(len(x))]) if intercept else columns  # [n, d + 1] or [n, d]
    penalty = ridge * np.diag([*np.ones(x.shape[1]), *([0.0] if intercept else [])])

    def loss(w: Floats) -> float:
        """−Σ t log σ(Xw) + (1 − t) log σ(−Xw), and the penalty."""
        z = X @ w
        return float(np.sum(np.logaddexp(0, z) - target * z) + w @ penalty @ w / 2)

    w = np.zeros(X.shape[1])
    for _ in range(100):
        p = sigmoid(X @ w)
        gradient = X.T @ (p - target) + penalty @ w
        H = X.T @ (X * (p * (1 - p))[:, None]) + penalty + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(H, gradient)
        size, before = 1.0, loss(w)
        while size > 1e-8 and loss(w - size * step) > before + 1e-12 * max(1.0, abs(before)):
            size /= 2  # a Newton step is too long where p is near 0 or 1
        w = w - size * step
        if np.abs(size * step).max() < 1e-9:
            break
    a = w[: x.shape[1]] / spread
    return (*(float(v) for v in a), float(w[-1] - a @ mean) if intercept else 0.0)


def fit_isotonic(x: Floats, positive: Bools) -> tuple[tuple[float, float], ...]:
    """Knots (x, p) of rising p, each at the middle of its block; p is never 0 or 1.  x: [n]"""
    order = np.lexsort((~positive, x))  # of equal x the positives first, so that they are pooled
    blocks: list[list[float]] = []  # sum of labels, count, least x, greatest x
    for value, label in zip(x[order].tolist(), positive[order].tolist(), strict=True):
        blocks.append([float(label), 1.0, value, value])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            s, n, _, high = blocks.pop()
            before = blocks[-1]
            blocks[-1] = [before[0] + s, before[1] + n, before[2], high]
    least = 1 / (len(x) + 2)
    return tuple(((low + high) / 2, min(max(s / n, least), 1 - least)) for s, n, low, high in blocks)


# --- their error -----------------------------------------------------------------------------------------------------


class Bin(NamedTuple):
    """Samples of similar probability."""

    probability: float  # mean
    share: float  # of positives
    samples: int


@dataclass(frozen=True, slots=True)
class Binning:
    """How samples are put into bins by their probability."""

    count: int
    by: Literal["mass", "width"]

    def __str__(self) -> str:
        return f"{self.count} equal-{self.by} bins"

    def split(self, p: ArrayLike, positive: ArrayLike) -> list[Bin]:
        """The bins that are not empty, in order of their probability."""
        q, y = np.asarray(p, dtype=np.float64), np.asarray(positive, dtype=np.float64)
        if self.by == "mass":
            parts = np.array_split(np.argsort(q, kind="stable"), max(1, min(self.count, len(q))))
        else:
            at = np.minimum((q * self.count).astype(int), self.count - 1)
            parts = [np.flatnonzero(at == k) for k in range(self.count)]
        return [Bin(float(q[part].mean()), float(y[part].mean()), len(part)) for part in parts if len(part)]


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """ECE, weighted by the samples of each bin."""
    n = sum(b.samples for b in bins)
    return math.fsum(b.samples * abs(b.probability - b.share) for b in bins) / max(1, n)
