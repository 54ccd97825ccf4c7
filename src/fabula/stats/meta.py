"""Which metric agrees with people? Prints correlations with intervals, and paired tests between metrics.

    segment   τ-b, τ-c, ρ (Spearman), r (Pearson) over all judgements; accuracy over pairs of one cluster's segments,
              whose judgements are averaged first (where clusters hold one segment each: over all pairs); a tie is right
              where both tie. `calibrated`: the accuracy if the metric ties where it differs by ε or less, at the best ε
              (Deutsch, Foster & Freitag, EMNLP 2023). Chosen on the same pairs, ε flatters: there is no interval, for
              none covered in simulation
    system    the same over systems' means; accuracy is that of pairs of systems (Kocmi et al., WMT 2021)

Clusters (items, images) are drawn with replacement: judgements of one are not independent. Few clusters make
percentiles too narrow; they are taken further out, at Φ(±√(V/(V − 1))·t_{V−1}) (Hesterberg, Am. Statistician 2015).
Below 10 clusters there is no interval: of 3, those of 95 % held the truth in 72 to 82 of a hundred simulated samples.
The test between two metrics exchanges their scores, brought to one scale, in a random half of the clusters (permuted
inputs: Deutsch, Dror & Roth, TACL 2021), or is the paired bootstrap; Holm over pairs.

    κ         where a score is a verdict with the same values as people's: Cohen's κ with each judgement
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.stats.agreement import kappa
from fabula.stats.bootstrap import Interval, draws, percentile
from fabula.stats.holm import holm
from fabula.stats.paired import SLACK, bootstrap_p
from fabula.stats.ranks import Ranks, midranks, pearson, ratio
from fabula.stats.resampling import PairedTest
from fabula.stats.sample import Array, Index, number
from fabula.stats.student import NORMAL, t_quantile

STATISTICS = ("tau_b", "tau_c", "spearman", "pearson", "accuracy")
CELLS = 1 << 20
LEVELS = 64  # distinct judgements up to which pairs are counted level by level
LEAST = 10  # clusters; fewer give no interval
VERDICTS = 12  # distinct values up to which a score may be a verdict


@dataclass(frozen=True, slots=True)
class Statistic:
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Agreed:
    """One metric with people."""

    metric: str
    segment: Mapping[str, Statistic]
    system: Mapping[str, Statistic]
    epsilon: float | None  # up to which the metric had better tie
    calibrated: float | None  # its accuracy then
    kappa: Mapping[str, Statistic]  # none, linear, quadratic; empty where it is no verdict


@dataclass(frozen=True, slots=True)
class Contest:
    """Metric b against metric a under the statistic that is tested."""

    a: str
    b: str
    delta: float
    interval: Interval | None  # None: too few clusters for one
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Meta:
    statistic: str
    lines: tuple[Agreed, ...]
    contests: tuple[Contest, ...]
    judgements: int
    segments: int
    clusters: int
    systems: int
    how: PairedTest
    notes: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        t = self.how
        return (
            f"{self.statistic}|judgements:{self.judgements}|segments:{self.segments}|clusters:{self.clusters}"
            f"|systems:{self.systems}|ci:expanded-percentile-{t.level:g}|test:{t.test}|resamples:{t.resamples}|seed:{t.seed}"
            f"|correction:holm"
        )


@dataclass(frozen=True, slots=True)
class People:
    """What people said, laid out. n judgements of S segments in V clusters, of k systems."""

    y: Array  # [n]
    segment: Index  # [n]
    cluster: Index  # [n]
    of_segment: Index  # [S] its cluster
    system: Index  # [S]
    systems: int
    clusters: int

    @classmethod
    def of(
        cls, y: Sequence[float], segments: Sequence[object], clusters: Sequence[object], systems: Sequence[object]
    ) -> People:
        segment, cluster, system = (number(x) for x in (list(zip(segments, systems, strict=True)), clusters, systems))
        S = int(segment.max()) + 1
        of_segment, own = np.zeros(S, dtype=np.int64), np.zeros(S, dtype=np.int64)
        of_segment[segment], own[segment] = cluster, system
        return cls(
            np.asarray(y, dtype=np.float64),
            segment,
            cluster,
            of_segment,
            own,
            int(system.max()) + 1,
            int(cluster.max()) + 1,
        )

    def mean(self, values: Array) -> Array:
        """Of each segment. [n] → [S]"""
        return np.bincount(self.segment, values) / np.bincount(self.segment)


def weigh(
    scores: Mapping[str, Sequence[float]],
    people: People,
    how: PairedTest,
    statistic: str = "tau_b",
    progress: Progress = silent,
) -> Meta:
    """Every metric with its correlations, every two of them tested."""
    if statistic not in STATISTICS:
        raise SpecError(f"no statistic is called {statistic!r}; there are: {', '.join(STATISTICS)}")
    if len(people.y) < 2 or len(np.unique(people.y)) < 2:
        raise SpecError("people gave the same value to everything, or only one value: no correlation is defined")
    x = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    drawn = {name: drawing(x[name], people) for name in x}
    thetas: dict[str, dict[str, Array]] = {name: {} for name in x}
    notes = []
    if people.clusters > 1:
        for k, name in enumerate(x):
            progress("metrics", k, len(x))
            thetas[name] = drawn[name].under(how)
        progress("metrics", len(x), len(x))
    if people.clusters < LEAST:
        items = "1 item is" if people.clusters == 1 else f"{people.clusters} items are"
        notes.append(f"{items} too few for intervals, which need {LEAST}; none are given")
    lines = []
    for name in x:
        flat = {
            key: Statistic(value, bounds(thetas[name].get(key), how, people.clusters))
            for key, value in drawn[name].values().items()
        }
        segment = {key: flat[key] for key in STATISTICS}
        system = {key.removeprefix("system "): s for key, s in flat.items() if key.startswith("system ")}
        tie = drawn[name].pairs
        epsilon, calibrated = (None, None) if tie is None else (tie.epsilon, tie.calibrated)
        lines.append(Agreed(name, segment, system, epsilon, calibrated, find_kappa(x[name], people, how)))
    contests = []
    if people.clusters > 1:
        rows = []
        for a, b in combinations(x, 2):
            deltas = thetas[b][statistic] - thetas[a][statistic]
            delta = lines_value(lines, b, statistic) - lines_value(lines, a, statistic)
            if how.test == "bootstrap":
                p = bootstrap_p(deltas[~np.isnan(deltas)], delta)
            else:
                p = exchange(x[a], x[b], people, statistic, how, delta)
            rows.append((a, b, delta, bounds(deltas, how, people.clusters), p))
        corrected = holm([p for *_, p in rows])
        contests = [Contest(*one, q) for one, q in zip(rows, corrected, strict=True)]
    return Meta(
        statistic,
        tuple(lines),
        tuple(contests),
        len(people.y),
        len(people.system),
        people.clusters,
        people.systems,
        how,
        tuple(notes),
    )


def lines_value(lines: Sequence[Agreed], name: str, statistic: str) -> float:
    return next(line for line in lines if line.metric == name).segment[statistic].value


def bounds(theta: Array | None, how: PairedTest, clusters: int) -> Interval | None:
    """The expanded percentiles of the draws; None where there are too few clusters."""
    if theta is None or clusters < LEAST or np.isnan(theta).all():
        return None
    V = clusters
    z = (V / (V - 1)) ** 0.5 * t_quantile((1 + how.level) / 2, V - 1)
    return percentile(theta[~np.isnan(theta)], 2 * NORMAL.cdf(z) - 1)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A metric beside people's judgements, ready for weights of clusters."""

    people: People
    x: Array
    ranks: Ranks
    pairs: Pairs | None
    means: Means | None

    def statistics(self, W: Array) -> dict[str, Array]:
        """All of them under weights of clusters [b, V] → [b] each."""
        w = W[:, self.people.cluster]
        found = {
            "tau_b": self.ranks.tau_b(w),
            "tau_c": self.ranks.tau_c(w),
            "spearman": self.ranks.spearman(w),
            "pearson": pearson(self.x, self.people.y, w),
            "accuracy": self.ranks.accuracy(w) if self.pairs is None else self.pairs.accuracy(W),
        }
        if self.means is not None:
            found |= {f"system {name}": value for name, value in self.means.statistics(W).items()}
        return found

    def values(self) -> dict[str, float]:
        return {name: float(v[0]) for name, v in self.statistics(np.ones((1, self.people.clusters))).items()}

    def under(self, how: PairedTest) -> dict[str, Array]:
        """θ* of every statistic; the same seed draws the same clusters for every metric."""
        parts: list[dict[str, Array]] = []
        step = max(1, CELLS // len(self.people.y))
        for W in draws(self.people.clusters, how.resamples, how.seed):
            parts += [self.statistics(W[i : i + step]) for i in range(0, len(W), step)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def drawing(x: Array, people: People) -> Drawing:
    x_s, y_s = people.mean(x), people.mean(people.y)
    pairs = find_pairs(x_s, y_s, people)
    means = Means.of(x_s, y_s, people) if people.systems > 1 else None
    return Drawing(people, x, Ranks.of(x, people.y), pairs, means)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of segments of one cluster: how many there are, and how many the metric got right."""

    right: Array  # [V]
    all: Array  # [V]
    epsilon: float
    calibrated: float

    def accuracy(self, W: Array) -> Array:
        return ratio(W @ self.right, W @ self.all)


def list_pairs(people: People) -> tuple[Index, Index]:
    """Segments of the same cluster, two by two."""
    order = np.argsort(people.of_segment, kind="stable")
    first, second = [], []
    for members in np.split(order, np.flatnonzero(np.diff(people.of_segment[order])) + 1):
        i, j = np.triu_indices(len(members), 1)
        first.append(members[i])
        second.append(members[j])
    return np.concatenate(first), np.concatenate(second)


def find_pairs(x: Array, y: Array, people: People) -> Pairs | None:
    """The pairs within clusters; None where there are none."""
    i, j = list_pairs(people)
    if not len(i):
        return None
    dx, dy = x[i] - x[j], y[i] - y[j]
    tied = abs(dy) < 1e-12
    at = people.of_segment[i]
    epsilon = best_epsilon(dx, dy, tied)
    plain, best = (hit(dx, dy, tied, limit) for limit in (0.0, epsilon))
    right, every = (np.bincount(at, v, people.clusters).astype(np.float64) for v in (plain, np.ones(len(i))))
    return Pairs(right, every, epsilon, float(best.mean()))


def hit(dx: Array, dy: Array, tied: NDArray[np.bool_], epsilon: float) -> Array:
    """1 where the metric orders a pair as people do."""
    near = abs(dx) <= epsilon
    found: Array = np.where(tied, near, ~near & (np.sign(dx) == np.sign(dy))).astype(float)
    return found


def best_epsilon(dx: Array, dy: Array, tied: NDArray[np.bool_]) -> float:
    """Widening the tie past a pair makes it right if people tied, and wrong if it was right before."""
    size = abs(dx)
    gain = tied.astype(float) - (~tied & (np.sign(dx) == np.sign(dy)))
    order = np.argsort(size, kind="stable")
    total = np.cumsum(gain[order])
    last = np.append(size[order][1:] > size[order][:-1], True)  # pairs of one size are tied together
    zero = size[order] <= 0
    base = float(gain[size <= 0].sum())  # ε = 0 ties them already
    total = np.where(last & ~zero, total, -np.inf)
    k = int(np.argmax(total))
    return float(size[order][k]) if len(total) and total[k] > base else 0.0


@dataclass(frozen=True, slots=True)
class Means:
    """Sums of scores and judgements by cluster and system. [V, k] each"""

    x: Array
    y: Array
    n: Array

    @classmethod
    def of(cls, x: Array, y: Array, people: People) -> Means:
        shape = (people.clusters, people.systems)
        sums = [np.zeros(shape) for _ in range(3)]
        for total, values in zip(sums, (x, y, np.ones(len(x))), strict=True):
            np.add.at(total, (people.of_segment, people.system), values)
        return cls(*sums)

    def statistics(self, W: Array) -> dict[str, Array]:
        n = np.maximum(W @ self.n, 1e-300)
        x, y = (W @ self.x) / n, (W @ self.y) / n  # [b, k]
        sx, sy = (np.sign(v[:, :, None] - v[:, None, :]) for v in (x, y))  # [b, k, k]
        i, j = np.triu_indices(x.shape[1], 1)
        both, tx, ty = sx[:, i, j] * sy[:, i, j], sx[:, i, j] != 0, sy[:, i, j] != 0
        found = {"accuracy": (sx[:, i, j] == sy[:, i, j]).mean(axis=1)}
        if x.shape[1] > 2:
            ones = np.ones_like(x)
            found["tau_b"] = ratio(both.sum(axis=1), np.sqrt(tx.sum(axis=1) * ty.sum(axis=1).astype(float)))
            found["spearman"] = pearson(sx.sum(axis=2), sy.sum(axis=2), ones)
            found["pearson"] = pearson(x, y, ones)
        return found


def find_kappa(x: Array, people: People, how: PairedTest) -> dict[str, Statistic]:
    """κ of a verdict with each judgement, where its values are among people's."""
    values = set(people.y.tolist())
    if len(values) > VERDICTS or not set(x.tolist()) <= values or len(set(x.tolist())) < 2:
        return {}
    found = {}
    kinds = ("none", "linear", "quadratic") if len(values) > 2 else ("none",)
    known = np.array(sorted(values))
    a, b = np.searchsorted(known, x), np.searchsorted(known, people.y)
    K = len(known)
    cells = np.zeros((people.clusters, K * K))
    np.add.at(cells, (people.cluster, a * K + b), 1.0)
    for kind in kinds:
        distance = abs(known[:, None] - known[None, :])
        v = (distance > 0).astype(float) if kind == "none" else distance ** (1 if kind == "linear" else 2)
        value = kappa(x.tolist(), people.y.tolist(), kind)  # type: ignore[arg-type]
        theta = None
        if people.clusters > 1:
            theta = np.concatenate([kappas(W @ cells, v) for W in draws(people.clusters, how.resamples, how.seed)])
        found[kind] = Statistic(value, bounds(theta, how, people.clusters))
    return found


def kappas(cells: Array, v: Array) -> Array:
    """κ of each table [b, K·K]."""
    K = len(v)
    p = cells.reshape(-1, K, K) / cells.sum(axis=1)[:, None, None]
    expected = (v * p.sum(axis=2)[:, :, None] * p.sum(axis=1)[:, None, :]).sum(axis=(1, 2))
    return 1 - ratio((v * p).sum(axis=(1, 2)), expected)


# ── the test by exchange ───────────────────────────────────────────────────────────────────────────────────────────


def exchange(a: Array, b: Array, people: People, statistic: str, how: PairedTest, delta: float) -> float:
    """p: how often exchanging the two metrics in half of the clusters gives a difference as large."""
    first, second = (standardise(v, statistic) for v in (a, b))
    by_people = by_statistic(statistic, people)
    rng = np.random.default_rng(how.seed)
    c = 0
    for _ in range(how.resamples):
        moved = (rng.random(people.clusters) < 0.5)[people.cluster]
        one, other = np.where(moved, second, first), np.where(moved, first, second)
        c += abs(by_people(other) - by_people(one)) >= abs(delta) - SLACK
    return (c + 1) / (how.resamples + 1)


def standardise(x: Array, statistic: str) -> Array:
    """On one scale: ranks where ranks are all that counts, else zero mean and unit variance."""
    if statistic in ("tau_b", "tau_c", "spearman"):
        ranks: Array = midranks(np.ones((1, len(x))), np.unique(x, return_inverse=True)[1])[0]
        return ranks
    centred: Array = x - x.mean()
    spread = float(x.std())
    return centred / spread if spread > 0 else centred


def by_statistic(statistic: str, people: People) -> Callable[[Array], float]:
    """A fast way from scores to one statistic."""
    y = people.y
    values, y_at = np.unique(y, return_inverse=True)
    if statistic in ("tau_b", "tau_c") and len(values) <= LEVELS:
        return lambda x: tau_by_levels(x, y_at, len(values), statistic)
    if statistic == "accuracy":
        y_s = people.mean(y)
        i, j = list_pairs(people)
        dy = y_s[i] - y_s[j]
        tied = abs(dy) < 1e-12
        if len(i):

            def accuracy(x: Array) -> float:
                x_s = people.mean(x)
                return float(hit(x_s[i] - x_s[j], dy, tied, 0.0).mean())

            return accuracy
    if statistic == "pearson":
        ones = np.ones((1, len(y)))
        return lambda x: float(pearson(x, y, ones)[0])
    return lambda x: float(getattr(Ranks.of(x, y), statistic)()[0])


def tau_by_levels(x: Array, y_at: Index, levels: int, statistic: str) -> float:
    """τ where people's judgements have few values: for each of them, how many with a smaller x have a smaller value."""
    order = np.argsort(x, kind="stable")
    xs, ys = x[order], y_at[order]
    n = len(xs)
    begins = np.flatnonzero(np.append(True, xs[1:] > xs[:-1]))  # of each group of equal x
    group = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, n)))
    upto = np.zeros((n + 1, levels))
    np.cumsum(np.eye(levels)[ys], axis=0, out=upto[1:])
    before = upto[begins[group]]  # [n, levels] those with a smaller x
    below = np.cumsum(before, axis=1)
    C = float((below[np.arange(n), ys] - before[np.arange(n), ys]).sum())
    D = float((below[:, -1] - below[np.arange(n), ys]).sum())
    if statistic == "tau_c":
        kinds = min(len(begins), int((upto[-1] > 0).sum()))
        return 2 * (C - D) / (n * n * (kinds - 1) / kinds) if kinds > 1 else float("nan")
    sizes = np.diff(np.append(begins, n)).astype(float)
    n0, n1, n2 = n * (n - 1) / 2, float((sizes * (sizes - 1) / 2).sum()), float((upto[-1] * (upto[-1] - 1) / 2).sum())
    below_ = ((n0 - n1) * (n0 - n2)) ** 0.5
    return (C - D) / below_ if below_ > 0 else float("nan")
