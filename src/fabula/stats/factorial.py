"""How much of a difference each factor makes: a balanced factorial analysis of variance (Fisher, 1925).

Every video v is seen under every setting, a level of each factor A, B, …: y[a, b, …, v]. Videos are a factor V as well.
For a set S of factors, m_S are the means over all that is not in S, and

    e_S  = Σ_{T ⊆ S} (−1)^{|S| − |T|} · m_T         what S adds to the effects of its parts
    SS_S = N / |cells of S| · Σ e_S²                 N: all numbers;  Σ_S SS_S = SS_total
    df_S = Π_{A ∈ S} (levels of A − 1)

    share of S   SS_S / Σ_T SS_T, over sets T of factors without V: of what the settings change together
    F_S          (SS_S / df_S) / (SS_{S∪V} / df_{S∪V})      each effect against how differently videos take it
    p            P(F_{df_S, df_{S∪V}} ≥ F_S) = I_x(df_{S∪V}/2, df_S/2),   x = df_{S∪V} / (df_{S∪V} + df_S·F_S)

A share's interval is that of the percentile bootstrap: videos are drawn, the means of the settings taken again, and the
shares of their effects. Noise has a share, too: where F is about 1, a share says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import inf, nan, prod

import numpy as np

from fabula.core.errors import SpecError
from fabula.stats.bootstrap import Interval, draws, quantiles
from fabula.stats.sample import Array
from fabula.stats.student import beta_share

CLOSE = 1e-12  # of the total: less is nothing


@dataclass(frozen=True, slots=True)
class Effect:
    """One factor, or several together."""

    factors: tuple[str, ...]
    df: int
    ss: float
    share: float  # of what the settings change
    interval: Interval  # of the share
    f: float  # not a number with one video
    p: float

    @property
    def name(self) -> str:
        return " × ".join(self.factors)


@dataclass(frozen=True, slots=True)
class Variance:
    """The table of an analysis: SS_total = the effects' + the videos' + what is left."""

    effects: tuple[Effect, ...]
    videos: float  # sum of squares between videos
    rest: float  # of videos × settings
    total: float
    count: int  # of videos

    @property
    def settings(self) -> float:
        """Sum of squares of all effects."""
        return sum(effect.ss for effect in self.effects)


def list_sets(count: int) -> Iterator[tuple[int, ...]]:
    """Sets of axes that are not empty, small ones first."""
    return chain.from_iterable(combinations(range(count), k) for k in range(1, count + 1))


def find_effect(y: Array, axes: Sequence[int]) -> Array:
    """e_S, its other axes of length 1."""
    found = np.zeros([n if axis in axes else 1 for axis, n in enumerate(y.shape)])
    for size in range(len(axes) + 1):
        for part in combinations(axes, size):
            others = tuple(axis for axis in range(y.ndim) if axis not in part)
            found = found + (-1) ** (len(axes) - size) * y.mean(axis=others, keepdims=True)
    return found


def sum_squares(y: Array, axes: Sequence[int]) -> float:
    """SS_S."""
    effect = find_effect(y, axes)
    return float(y.size / effect.size * (effect**2).sum())


def analyse_variance(
    y: Array, names: Sequence[str], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Variance:
    """y [levels of A, levels of B, …, V]; `names` of the factors."""
    if y.ndim != len(names) + 1 or min(y.shape) < 1 or max(y.shape[:-1], default=0) < 2:
        raise SpecError(f"an analysis of variance needs a factor with two levels; there are {list(y.shape[:-1])}")
    V, K = y.shape[-1], len(names)
    total = float(((y - y.mean()) ** 2).sum())
    sets = [axes for axes in list_sets(K) if all(y.shape[axis] > 1 for axis in axes)]
    sums = {axes: clear(sum_squares(y, axes), total) for axes in sets}
    with_videos = {axes: clear(sum_squares(y, (*axes, K)), total) for axes in sets}
    intervals = find_intervals(y, sets, level, resamples, seed)
    effects = []
    for axes in sets:
        df = prod(y.shape[axis] - 1 for axis in axes)
        f, p = weigh_effect(sums[axes], df, with_videos[axes], df * (V - 1))
        share = divide(sums[axes], sum(sums.values()))
        effects.append(Effect(tuple(names[axis] for axis in axes), df, sums[axes], share, intervals[axes], f, p))
    return Variance(tuple(effects), clear(sum_squares(y, (K,)), total), sum(with_videos.values()), total, V)


def clear(ss: float, total: float) -> float:
    """Without what rounding left of nothing."""
    return ss if ss > CLOSE * total else 0.0


def divide(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def weigh_effect(ss: float, df: int, error: float, df_error: int) -> tuple[float, float]:
    """F and p."""
    if not df_error:
        return nan, nan
    if not error:
        return (inf, 0.0) if ss else (nan, nan)
    f = ss / df / (error / df_error)
    return f, beta_share(df_error / 2, df / 2, df_error / (df_error + df * f)) if f else 1.0


def find_intervals(
    y: Array, sets: Sequence[tuple[int, ...]], level: float, resamples: int, seed: int
) -> Mapping[tuple[int, ...], Interval]:
    """Of each effect's share, over videos."""
    V = y.shape[-1]
    shares: list[list[float]] = []
    for W in draws(V, resamples, seed):
        means = np.tensordot(W / W.sum(axis=1, keepdims=True), y, axes=([1], [y.ndim - 1]))  # [b, levels of A, …]
        for one in means:
            sums = [sum_squares(one, axes) for axes in sets]
            whole = sum(sums)
            shares.append([divide(ss, whole) for ss in sums])
    table = np.array(shares)
    alpha = (1 - level) / 2
    return {axes: quantiles(table[:, k], alpha, 1 - alpha) for k, axes in enumerate(sets)}
