"""Are two systems different? Paired tests over the same videos; two-sided.

approximate randomisation (Noreen 1989)   under the null it does not matter which system told a video: T times, each
    video's rows are exchanged between the systems with probability ½; δ*_t is the difference that results.
        p = (c + 1) / (T + 1),   c = #{t : |δ*_t| ≥ |δ̂|}
    The + 1 counts the data as they are: p is never 0. Where all 2^V exchanges are no more than T, each is made once,
    and p = c / 2^V is exact.
paired bootstrap (Efron & Tibshirani 1993, ch. 16)   B draws of videos, both systems on the same ones; the draws' spread
    around δ̂ stands for that under the null around 0:
        p = (c + 1) / (B + 1),   c = #{b : |δ*_b − δ̂| ≥ |δ̂|}
McNemar's test, exact (McNemar, Psychometrika 1947)   where a row is a hit or none: of the rows that only one system
    hits, n_a and n_b, each is as likely the one's as the other's. It takes rows as independent of each other.
        p = min(1, 2·P(X ≤ min(n_a, n_b))),   X binomial(n_a + n_b, ½)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fabula.core.rows import Rows
from fabula.stats.bootstrap import CELLS, Interval, bca, bootstrap, check, jackknife, percentile
from fabula.stats.resampling import Method, check_level
from fabula.stats.sample import Array, Sample

SLACK = 1e-12  # |δ*| that equals |δ̂| up to the order of sums counts as at least as large


def count_reached(deltas: Array, delta: float) -> int:
    return int((abs(deltas) >= abs(delta) - SLACK * max(1.0, abs(delta))).sum())


def difference(
    a: Sample, b: Sample, *, level: float = 0.95, method: Method = "bca", resamples: int = 10_000, seed: int = 0
) -> tuple[float, Interval]:
    """θ_b − θ_a and its interval."""
    check_level(level, method)
    first, second = bootstrap([a, b], resamples, seed)
    delta, deltas = b.value - a.value, second - first
    if method == "percentile":
        return delta, percentile(deltas, level)
    return delta, bca(deltas, delta, jackknife(b) - jackknife(a), level)


def paired_bootstrap(a: Sample, b: Sample, *, resamples: int = 10_000, seed: int = 0) -> float:
    """The p-value of the paired bootstrap."""
    first, second = bootstrap([a, b], resamples, seed)
    return bootstrap_p(second - first, b.value - a.value)


def bootstrap_p(deltas: Array, delta: float) -> float:
    return (count_reached(deltas - delta, delta) + 1) / (len(deltas) + 1)


def randomisation(a: Sample, b: Sample, *, trials: int = 10_000, seed: int = 0) -> float:
    """The p-value of approximate randomisation; exact where there are few videos."""
    return randomisations([(a, b)], trials=trials, seed=seed)[0]


def randomisations(duels: Sequence[tuple[Sample, Sample]], *, trials: int = 10_000, seed: int = 0) -> list[float]:
    """Of many pairs of systems over the same videos, with one set of exchanges."""
    check([s for duel in duels for s in duel], trials)
    V = len(duels[0][0].videos)
    every = trials >= 2**V
    deltas, c = [b.value - a.value for a, b in duels], [0] * len(duels)
    for M in exchanges_all(V) if every else exchanges(V, trials, seed):
        for k, (a, b) in enumerate(duels):
            c[k] += count_reached(exchange_totals(a, b, M), deltas[k])
    return [n / 2**V if every else (n + 1) / (trials + 1) for n in c]


def exchanges(videos: int, trials: int, seed: int) -> Iterator[Array]:
    """1 where a video's rows change sides. [b, V]"""
    rng = np.random.default_rng(seed)
    block = max(1, CELLS // videos)
    for start in range(0, trials, block):
        b = min(block, trials - start)
        bits = np.frombuffer(rng.bytes(b * -(-videos // 8)), dtype=np.uint8).reshape(b, -1)
        yield np.unpackbits(bits, axis=1)[:, :videos].astype(np.float64)


def exchanges_all(videos: int) -> Iterator[Array]:
    """Every one of the 2^V ways."""
    block = max(1, CELLS // videos)
    for start in range(0, 2**videos, block):
        numbers = np.arange(start, min(start + block, 2**videos))
        yield (numbers[:, None] >> np.arange(videos) & 1).astype(np.float64)


def exchange_totals(a: Sample, b: Sample, M: Array) -> Array:
    """θ_b − θ_a after the exchanges M [B, V]. [B]"""
    if a.totals is None or b.totals is None or a.totals.shape != b.totals.shape:
        return np.array([exchange_rows(a, b, m > 0.5) for m in M])
    V, K, k = a.totals.shape
    moved = (M @ (b.totals - a.totals).reshape(V, K * k)).reshape(len(M), K, k)
    return b.of_totals(b.totals.sum(axis=0) - moved) - a.of_totals(a.totals.sum(axis=0) + moved)


def exchange_rows(a: Sample, b: Sample, moved: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """The same by folding the exchanged rows."""
    swapped = {v for v, m in zip(a.videos, moved, strict=True) if m}
    stay_a, go_a = split_rows(a.rows, swapped)
    stay_b, go_b = split_rows(b.rows, swapped)
    new_a, new_b = Rows.joined([stay_a, go_b]), Rows.joined([stay_b, go_a])
    return float(b.folding.fold(new_b)[b.folding.primary] - a.folding.fold(new_a)[a.folding.primary])


def split_rows(rows: Rows, chosen: set[str | int]) -> tuple[Rows, Rows]:
    """The rows of the other videos, and those of these."""
    inside = np.array([key in chosen for key in rows.drawn], dtype=bool)
    return rows.take(np.flatnonzero(~inside)), rows.take(np.flatnonzero(inside))


class McNemar(NamedTuple):
    """Hits of one system alone, of the other alone, and the exact two-sided p."""

    only_a: int
    only_b: int
    p: float


def mcnemar(a: Sample, b: Sample) -> McNemar | None:
    """Of two systems' hits; None where a row is no hit (0 or 1), or the score is no mean of such rows."""
    hits = [find_hits(a), find_hits(b)]
    if hits[0] is None or hits[1] is None or a.rows.keys != b.rows.keys or (a.rows.refset != b.rows.refset).any():
        return None
    gap = hits[1] - hits[0]
    only_a, only_b = int((gap < 0).sum()), int((gap > 0).sum())
    n, ways, tail = only_a + only_b, 1, 0
    for k in range(min(only_a, only_b) + 1):
        tail, ways = tail + ways, ways * (n - k) // (k + 1)
    return McNemar(only_a, only_b, min(1.0, 2 * tail / 2**n))


def find_hits(sample: Sample) -> Array | None:
    """The rows' numbers where each is 0 or 1 and the score is their mean. [R]"""
    column = sample.rows.columns.get(sample.folding.primary)
    if column is None or column.ndim > 1 or not np.isin(column, (0.0, 1.0)).all():
        return None
    return column if abs(float(column.mean()) - sample.value) <= SLACK else None
