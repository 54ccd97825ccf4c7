"""Intervals over few units, made wider (Hesterberg, The American Statistician 2015: the expanded percentile interval).

A bootstrap over n units has the variance of a mean divided by n, not n − 1, and knows nothing of Student's t. With α
the chance of an error on either side, the quantiles are taken at

    α′/2 = Φ(−√(n/(n − 1))·t_{1−α/2, n−1})

Width alone does not help where no unit that was drawn is like the ones that matter: eight videos that all score 1 say
nothing of the tenth that scores 0. A *bounded* interval adds one unit that was not drawn, at an end of the scale
(Gaffke 2005; Learned-Miller & Thomas 2019). With x_1 … x_n the units' values, and E_i exponential,

    low   the α/2 quantile of      (E_1·x_1 + … + E_n·x_n + E_{n+1}·floor)   / (E_1 + … + E_{n+1})
    high  the 1 − α/2 quantile of  (E_1·x_1 + … + E_n·x_n + E_{n+1}·ceiling) / (E_1 + … + E_{n+1})

For hits (0 or 1) this is the exact interval of Clopper & Pearson (1934). It asks for no number of units; it is wide.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MOST = 1 - 1e-9
CELLS = 1 << 20  # weights drawn at a time: 8 MB
Array = NDArray[np.float64]


@cache
def widen_level(level: float, n: int) -> float:
    """The level at which the quantiles of n units hold what `level` says."""
    t = student_quantile((1 + level) / 2, n - 1)
    return min(MOST, 1 - 2 * NormalDist().cdf(-math.sqrt(n / (n - 1)) * t))


def student_quantile(p: float, df: int) -> float:
    """t with P(T ≤ t) = p, p ≥ ½, by bisection."""
    low, high = 0.0, 1.0
    while student_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def student_cdf(t: float, df: int) -> float:
    """P(T ≤ t), t ≥ 0: the finite sums for whole degrees of freedom (Abramowitz & Stegun 26.7.3, 26.7.4)."""
    theta = math.atan(t / math.sqrt(df))
    s, c = math.sin(theta), math.cos(theta)
    total, term = 0.0, 1.0
    if df % 2:
        for k in range(1, (df - 1) // 2 + 1):
            total, term = total + term * c ** (2 * k - 1), term * (2 * k) / (2 * k + 1)
        return 0.5 + (theta + s * total) / math.pi
    for k in range(df // 2):
        total, term = total + term * c ** (2 * k), term * (2 * k + 1) / (2 * k + 2)
    return 0.5 + s * total / 2


def count_carriers(values: Array) -> float:
    """How many units carry the spread: (Σd²)² / Σd⁴, n divided by the kurtosis; 0 where all are alike.

    Three zeros among a hundred ones count about 3, a hundred normal values 33.
    """
    d = values - values.mean()
    if float(abs(d).max()) <= 1e-12 * max(1.0, float(abs(values).max())):
        return 0.0
    d = d / abs(d).max()
    return float((d**2).sum()) ** 2 / float((d**4).sum())


def bound_mean(
    values: Array, floor: float, ceiling: float, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """The bounded interval of the mean of values [n] that cannot leave [floor, ceiling]."""
    rng, n = np.random.default_rng(seed), len(values)
    block = max(1, CELLS // (n + 1))
    parts: list[tuple[Array, Array]] = []
    for start in range(0, resamples, block):
        weights = rng.standard_exponential((min(block, resamples - start), n + 1))
        total = weights.sum(axis=1)
        parts.append(((weights[:, :n] @ values) / total, weights[:, n] / total))
    observed, unseen = (np.concatenate(part) for part in zip(*parts, strict=True))
    low = np.quantile(observed + unseen * floor, (1 - level) / 2)
    high = np.quantile(observed + unseen * ceiling, (1 + level) / 2)
    return float(low), float(high)
