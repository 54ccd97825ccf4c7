"""Do raters agree? Krippendorff's α (Content Analysis, 4th ed. 2018, ch. 12) and Cohen's κ (1960; weighted: 1968).

Unit u was given m_u ≥ 2 values, n_uc of them c. The coincidences, and what chance would give:

    o_ck = Σ_u n_uc·(n_uk − [c = k]) / (m_u − 1)        n_c = Σ_k o_ck,   n = Σ_c n_c
    α    = 1 − (n − 1)·Σ_ck o_ck·δ²_ck / Σ_ck n_c·n_k·δ²_ck
    δ²_ck   nominal: [c ≠ k]     ordinal: (Σ_{g=c…k} n_g − (n_c + n_k)/2)²     interval: (c − k)²

Two raters who saw the same units, p_ck the share of units called c by one and k by the other:

    κ = 1 − Σ v_ck·p_ck / Σ v_ck·p_c·p_k        v: [c ≠ k], |c − k| (linear) or (c − k)² (quadratic)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from fabula.core.errors import SpecError
from fabula.stats.bootstrap import Interval, draws, percentile
from fabula.stats.sample import Array

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
Weights = Literal["none", "linear", "quadratic"]


def count_values(units: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    """n_uc [U, C] of the units with two values or more, and the values in order [C]."""
    paired = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in paired for value in unit})
    place = {value: c for c, value in enumerate(values)}
    n = np.zeros((len(paired), len(values)))
    for u, unit in enumerate(paired):
        for value in unit:
            n[u, place[value]] += 1
    return n, np.array(values, dtype=np.float64)


def coincidences(n: Array) -> Array:
    """o_ck of each unit. [U, C] → [U, C, C]"""
    pairs: Array = n[:, :, None] * n[:, None, :]
    C = n.shape[1]
    pairs[:, np.arange(C), np.arange(C)] -= n
    pairs /= (n.sum(axis=1) - 1)[:, None, None]
    return pairs


def distances(values: Array, n_c: Array, level: Level) -> Array:
    """δ²_ck. [C] → [C, C]"""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return (values[:, None] - values[None, :]) ** 2
    upto = np.cumsum(n_c) - n_c / 2  # half of each end
    return (upto[:, None] - upto[None, :]) ** 2


def alpha_of(o: Array, values: Array, level: Level) -> float:
    """α of the coincidences [C, C]; not a number where all values are one and the same."""
    n_c = o.sum(axis=1)
    d = distances(values, n_c, level)
    expected = float(n_c @ d @ n_c)
    return 1 - float((n_c.sum() - 1) * (o * d).sum()) / expected if expected > 0 else float("nan")


def alpha(units: Sequence[Sequence[float]], level: Level = "nominal") -> float:
    """Krippendorff's α of units' values, one list a unit; how many raters saw a unit may differ."""
    if level not in LEVELS:
        raise SpecError(f"no level is called {level!r}; there are: {', '.join(LEVELS)}")
    n, values = count_values(units)
    return alpha_of(coincidences(n).sum(axis=0), values, level) if len(n) else float("nan")


def alpha_interval(
    units: Sequence[Sequence[float]],
    level: Level,
    resamples: int = 1000,
    seed: int = 0,
    wide: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> Interval | None:
    """By drawing units, or clusters of them (one a unit); None where there are fewer than two."""
    n, values = count_values(units)
    o, C = coincidences(n).reshape(len(n), -1), len(values)
    if clusters is not None:
        place = {c: k for k, c in enumerate(dict.fromkeys(clusters))}
        paired = [place[c] for c, unit in zip(clusters, units, strict=True) if len(unit) > 1]
        together = np.zeros((len(place), C * C))
        np.add.at(together, paired, o)
        o = together
    if len(o) < 2:
        return None
    found = [alpha_of(line.reshape(C, C), values, level) for W in draws(len(o), resamples, seed) for line in W @ o]
    defined = np.array([a for a in found if a == a])
    return percentile(defined, wide) if len(defined) else None


def kappa(a: Sequence[Hashable], b: Sequence[Hashable], weights: Weights = "none") -> float:
    """Cohen's κ of two raters' values, in the same order of units; weighted ones take numbers."""
    if len(a) != len(b) or not len(a):
        raise SpecError(f"κ needs two lists of equal length, not {len(a)} and {len(b)} values")
    known: list[Hashable] = sorted({*a, *b}, key=lambda v: (str(type(v)), v))
    place = {value: c for c, value in enumerate(known)}
    p = np.zeros((len(known), len(known)))
    for x, y in zip(a, b, strict=True):
        p[place[x], place[y]] += 1 / len(a)
    if weights == "none":
        v = 1.0 - np.eye(len(known))
    else:
        try:
            values = np.array([float(x) for x in known])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SpecError("weighted κ needs numbers: words have no distance") from None
        v = abs(values[:, None] - values[None, :]) ** (1 if weights == "linear" else 2)
    expected = float((v * np.outer(p.sum(axis=1), p.sum(axis=0))).sum())
    return 1 - float((v * p).sum()) / expected if expected > 0 else float("nan")
