"""The bootstrap over videos (Efron, Annals of Statistics 1979; BCa: Efron, JASA 1987).

B times, V videos are drawn with replacement; θ*_b is the score of draw b. With α = 1 − level:

    percentile   [θ*_(α/2), θ*_(1−α/2)]
    BCa          the same with α₁ = Φ(z₀ + (z₀ + z_{α/2}) / (1 − a·(z₀ + z_{α/2}))), α₂ likewise from z_{1−α/2}
                 z₀ = Φ⁻¹(share of θ*_b below θ̂, ties half)              how far off centre the draws are
                 a  = Σ_v d_v³ / (6·(Σ_v d_v²)^{3/2}),  d_v = θ̄_(·) − θ_(v)    skewness; θ_(v): without video v
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabula import _kernels
from fabula.core.errors import SpecError
from fabula.stats.resampling import Method, check_level
from fabula.stats.sample import Array, Sample

CELLS = 1 << 20  # weights drawn at a time: 8 MB
LEFT_OUT = 500  # a fold of every jackknife sample is slow: so many groups of videos are left out instead

NORMAL = NormalDist()


class Interval(NamedTuple):
    low: float
    high: float


def draws(videos: int, resamples: int, seed: int) -> Iterator[Array]:
    """How often each video is drawn, in blocks of resamples: [b, V]. The same seed draws the same videos."""
    rng = np.random.default_rng(seed)
    block = max(1, CELLS // videos)
    for start in range(0, resamples, block):
        drawn = rng.integers(0, videos, (min(block, resamples - start), videos))
        weights = np.empty(drawn.shape)
        if native := _kernels.native():
            native.count_draws(drawn, weights)
        else:
            count_draws_python(drawn, weights)
        yield weights


def count_draws_python(drawn: NDArray[np.int64], weights: Array) -> None:
    """The readable twin of the compiled kernel: weights[b, v] is how often v stands in drawn[b]. [B, V] both"""
    B, V = drawn.shape
    if weights.shape != (B, V) or not ((drawn >= 0) & (drawn < V)).all():
        raise ValueError("count_draws: there is no such video")
    places = drawn + V * np.arange(B)[:, None]
    weights[:] = np.bincount(places.ravel(), minlength=B * V).reshape(B, V)


def bootstrap(many: Sequence[Sample], resamples: int = 10_000, seed: int = 0) -> Array:
    """θ* of every sample under the same draws, so that differences are paired. [S, B]"""
    check(many, resamples)
    found = [[s.under(W) for s in many] for W in draws(len(many[0].videos), resamples, seed)]
    return np.concatenate([np.array(block) for block in found], axis=1)


def check(many: Sequence[Sample], resamples: int) -> None:
    if resamples < 1:
        raise SpecError(f"{resamples} resamples; there must be at least 1")
    if any(s.videos != many[0].videos for s in many):
        raise SpecError("these samples stand over different videos; make them with stats.samples")


def jackknife(sample: Sample) -> Array:
    """θ without each video in turn; where every θ costs a fold, without each of at most 500 groups. [V]"""
    V = len(sample.videos)
    if sample.totals is not None:
        return sample.of_totals(sample.totals.sum(axis=0, keepdims=True) - sample.totals)
    groups = min(V, LEFT_OUT)
    return np.concatenate([sample.under((np.arange(V) % groups != g).astype(float)[None]) for g in range(groups)])


def percentile(theta: Array, level: float = 0.95) -> Interval:
    return quantiles(theta, (1 - level) / 2, (1 + level) / 2)


def bca(theta: Array, value: float, without: Array, level: float = 0.95) -> Interval:
    """theta [B]: the draws; value: θ̂; without [V]: θ without each video."""
    B = len(theta)
    slack = 1e-12 * max(1.0, abs(value))  # the same number by another order of sums is a tie
    below = float((theta < value - slack).mean() + 0.5 * (abs(theta - value) <= slack).mean())
    z0 = NORMAL.inv_cdf(min(max(below, 1 / (B + 1)), B / (B + 1)))
    d = without.mean() - without
    spread = float((d**2).sum()) ** 1.5
    a = float((d**3).sum()) / (6 * spread) if spread > 0 else 0.0

    def adjusted(p: float) -> float:
        z = z0 + NORMAL.inv_cdf(p)
        return NORMAL.cdf(z0 + z / (1 - a * z)) if a * z < 1 else p

    return quantiles(theta, adjusted((1 - level) / 2), adjusted((1 + level) / 2))


def quantiles(theta: Array, low: float, high: float) -> Interval:
    """By linear interpolation between order statistics."""
    at = np.quantile(theta, [min(low, high), max(low, high)])
    return Interval(float(at[0]), float(at[1]))


def interval(
    sample: Sample, *, level: float = 0.95, method: Method = "bca", resamples: int = 10_000, seed: int = 0
) -> Interval:
    """The confidence interval of one score."""
    return intervals([sample], level=level, method=method, resamples=resamples, seed=seed)[0]


def intervals(
    many: Sequence[Sample], *, level: float = 0.95, method: Method = "bca", resamples: int = 10_000, seed: int = 0
) -> list[Interval]:
    """Of several scores over the same videos, with one set of draws."""
    check_level(level, method)
    thetas = bootstrap(many, resamples, seed)
    return [bounds(s, theta, level, method) for theta, s in zip(thetas, many, strict=True)]


def bounds(sample: Sample, theta: Array, level: float, method: Method) -> Interval:
    """The interval of a score whose draws are known."""
    if method == "percentile":
        return percentile(theta, level)
    return bca(theta, sample.value, jackknife(sample), level)
