"""A mean over answers that share raters and items (Cameron, Gelbach & Miller, J. Business & Economic Statistics 2011).

Answers of one rater lean one way, answers to one item too; taking them for independent makes intervals too short.
With e_j = y_j − ȳ, N answers, R raters and I items:

    V = V_R + V_I − V_RI        V_G = (G/(G − 1)) · Σ_g (Σ_{j ∈ g} e_j)² / N²        max(V_R, V_I) where that is not > 0
    interval: ȳ ± t_ν·√V        ν = V² / (V_R²/(R − 1) + V_I²/(I − 1) + V_RI²/(N − R − I + 1)), at least min(R, I) − 1

ν is Satterthwaite's (1946): with few raters V_R is known badly, and how much that matters depends on its part of V.

A share has Wilson's interval (JASA 1927) instead, with the answers that it is worth: p(1 − p)/V of them; where all
answers are the same, as many as there are items.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from fabula.core.errors import SpecError
from fabula.stats.bootstrap import Interval
from fabula.stats.sample import Array, Index, number
from fabula.stats.student import t_p, t_quantile


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, its standard error, and what it stands on."""

    value: float
    se: float  # not a number with one rater or one item
    nu: float
    interval: Interval | None
    answers: int
    raters: int
    items: int

    def p(self, null: float = 0.0) -> float | None:
        """Two-sided, against a mean of `null`; None where there is nothing to judge by."""
        if self.nu < 1 or not self.se > 0:
            return None if self.nu < 1 or self.value != null else 1.0
        return t_p((self.value - null) / self.se, self.nu)


def sum_squares(e: Array, groups: Index) -> tuple[float, int]:
    """Σ_g (Σ_{j ∈ g} e_j)² and G."""
    _, at = np.unique(groups, return_inverse=True)
    sums = np.bincount(at, e)
    return float((sums**2).sum()), len(sums)


def mean_of(
    values: Sequence[float],
    raters: Sequence[Hashable],
    items: Sequence[Hashable],
    level: float = 0.95,
    share: bool = False,
) -> Estimate:
    """The mean of answers with its interval; `share` where all values lie between 0 and 1."""
    y = np.asarray(values, dtype=np.float64)
    N = len(y)
    if not N:
        raise SpecError("there are no answers to take a mean of")
    r, i = number(raters), number(items)
    theta = float(y.mean())
    e = y - theta
    (s_r, R), (s_i, I_), (s_ri, _) = sum_squares(e, r), sum_squares(e, i), sum_squares(e, r * (i.max() + 1) + i)
    if min(R, I_) < 2:
        return Estimate(theta, nan, 0.0, None, N, R, I_)
    v_r, v_i, v_ri = (R / (R - 1) * s_r / N**2, I_ / (I_ - 1) * s_i / N**2, s_ri / N**2)
    v = v_r + v_i - v_ri if v_r + v_i - v_ri > 0 else max(v_r, v_i)
    nu = freedom(v, (v_r, R - 1), (v_i, I_ - 1), (v_ri, max(1, N - R - I_ + 1)))
    se, t = sqrt(v), t_quantile((1 + level) / 2, nu)
    bounds = wilson(theta, se, min(N, I_), t) if share else Interval(theta - t * se, theta + t * se)
    return Estimate(theta, se, nu, bounds, N, R, I_)


def freedom(v: float, *parts: tuple[float, int]) -> float:
    """Satterthwaite's degrees of freedom of a sum of variances, each known with its own."""
    least = float(min(df for _, df in parts[:2]))
    below = sum(part**2 / df for part, df in parts)
    return max(least, v**2 / below) if below > 0 else least


def wilson(p: float, se: float, items: int, t: float) -> Interval:
    worth = p * (1 - p) / se**2 if se > 1e-12 else float(items)
    if worth <= 0:
        worth = float(items)
    middle = (p + t * t / (2 * worth)) / (1 + t * t / worth)
    half = t / (1 + t * t / worth) * sqrt(p * (1 - p) / worth + t * t / (4 * worth**2))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))
