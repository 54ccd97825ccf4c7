"""Student's t without scipy: distribution, quantiles, and the power of a t-test (Student, Biometrika 1908).

P(|T| ≥ t) = I_x(ν/2, ½),  x = ν / (ν + t²)        I: the regularised incomplete beta function (continued fraction)
power      = P(|T'| ≥ t*)                          T' = (Z + δ) / √(χ²_ν / ν): the non-central t, by quadrature
"""

from __future__ import annotations

from math import exp, inf, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist()
TERMS = 500
TINY = 1e-300


def t_p(t: float, nu: float) -> float:
    """The two-sided p-value of t with ν degrees of freedom."""
    if nu <= 0:
        return 1.0
    return 1.0 if t == 0 else beta_share(nu / 2, 0.5, nu / (nu + t * t))


def t_cdf(t: float, nu: float) -> float:
    tail = t_p(t, nu) / 2
    return 1 - tail if t > 0 else tail


def t_quantile(p: float, nu: float) -> float:
    """t with P(T ≤ t) = p; for a large ν the normal one."""
    if not 0 < p < 1:
        return inf if p >= 1 else -inf
    if nu <= 0:
        return inf if p > 0.5 else -inf
    if nu > 1e7:
        return NORMAL.inv_cdf(p)
    if p < 0.5:
        return -t_quantile(1 - p, nu)
    low, high = 0.0, 2.0
    while t_cdf(high, nu) < p:
        high *= 2
    for _ in range(200):  # halved until nothing is left to halve
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, nu) < p else (low, middle)
    return (low + high) / 2


def beta_share(a: float, b: float, x: float) -> float:
    """I_x(a, b), by Lentz's continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or TINY)
    f = d
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d or TINY)
            c = 1 + term / c or TINY
            f *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * f


def t_power(delta: float, nu: float, alpha: float = 0.05) -> float:
    """The chance that a two-sided t-test at level α finds a shift of δ standard errors."""
    if nu <= 0:
        return 0.0
    t = t_quantile(1 - alpha / 2, nu)
    if nu > 1e6:
        return NORMAL.cdf(delta - t) + NORMAL.cdf(-delta - t)
    # over s = √(χ²_ν / ν), whose density is steep for a small ν: the logarithm first
    s = np.linspace(1e-6, 1 + 12 / sqrt(nu), 4001)
    density = np.exp(log(2) + nu / 2 * log(nu / 2) - lgamma(nu / 2) + (nu - 1) * np.log(s) - nu * s**2 / 2)
    above = np.array([NORMAL.cdf(delta - t * x) + NORMAL.cdf(-delta - t * x) for x in s.tolist()])
    y = density * above
    return float(((y[1:] + y[:-1]) / 2 * np.diff(s)).sum())
