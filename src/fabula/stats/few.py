"""Intervals over few units, made wider (Hesterberg, The American Statistician 2015: the expanded percentile interval).

A bootstrap over n units has the variance of a mean divided by n, not n − 1, and knows nothing of Student's t. With α
the chance of an error on either side, the quantiles are taken at

    α′/2 = Φ(−√(n/(n − 1))·t_{1−α/2, n−1})
"""

from __future__ import annotations

import math
from statistics import NormalDist

MOST = 1 - 1e-9


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
