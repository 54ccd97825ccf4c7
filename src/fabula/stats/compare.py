"""Several systems under several metrics: every score with its interval, every pair with its difference and p-value.

Within a metric the p-values of all pairs are corrected together (Holm); metrics are not corrected for each other,
because they are asked about one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

from fabula.core.rows import Rows
from fabula.stats.bootstrap import Interval, bootstrap
from fabula.stats.choose import Chosen, choose_difference, choose_interval, name_methods, tell_choices
from fabula.stats.holm import holm
from fabula.stats.paired import McNemar, bootstrap_p, mcnemar, randomisations
from fabula.stats.resampling import PairedTest
from fabula.stats.sample import Folding, alike, samples


@dataclass(frozen=True, slots=True)
class Duel:
    """System b against system a under one metric."""

    a: str
    b: str
    delta: float  # θ_b − θ_a
    interval: Interval | None  # None: too few videos for one
    p: float
    p_holm: float  # corrected over the pairs of this metric
    ci_method: str = ""  # bca, percentile, or bounded where the videos are few
    mcnemar: McNemar | None = None  # where rows are hits; beside p, not corrected


@dataclass(frozen=True, slots=True)
class Line:
    """One metric: every system's score and interval, and all duels."""

    metric: str
    scale: float
    values: Mapping[str, float]
    intervals: Mapping[str, Interval | None]
    duels: tuple[Duel, ...]
    ci_methods: Mapping[str, str] = field(default_factory=dict)

    def beaten(self, system: str, alpha: float) -> list[str]:
        """The systems that this one beats at level α."""
        won = [d.a for d in self.duels if d.b == system and d.delta > 0 and d.p_holm < alpha]
        return won + [d.b for d in self.duels if d.a == system and d.delta < 0 and d.p_holm < alpha]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems side by side, and how they were tested: its alpha decides which differences are marked."""

    systems: tuple[str, ...]
    lines: Mapping[str, Line]
    testing: PairedTest
    videos: int
    signatures: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    clusters: str = ""  # what was drawn, and how many there are, where that is not a video: film:12

    def __getitem__(self, metric: str) -> Line:
        return self.lines[metric]

    @property
    def how(self) -> str:
        """One line that says how the numbers were made."""
        t = self.testing
        test = {"randomisation": "approximate randomisation", "bootstrap": "paired bootstrap"}[t.test]
        used = {
            m for line in self.lines.values() for m in (*line.ci_methods.values(), *(d.ci_method for d in line.duels))
        }
        return (
            f"{test}|resamples:{t.resamples}|seed:{t.seed}|ci:{name_methods(used)}-{t.level:g}"
            f"|correction:holm|alpha:{t.alpha:g}"
            + (f"|clusters:{self.clusters}" if self.clusters else f"|videos:{self.videos}")
        )


def compare(
    tables: Mapping[str, Mapping[str, tuple[Rows, Folding]]],
    *,
    scales: Mapping[str, float] | None = None,
    signatures: Mapping[str, str] | None = None,
    how: PairedTest | None = None,
    wide: bool = False,
) -> Comparison:
    """metric → system → (rows, how they fold). One draw of videos serves all metrics and systems of equal videos.

    `wide`: what is drawn are groups of videos, and the bootstrap's intervals are made wider (stats/few.py).
    """
    how = how or PairedTest()
    systems = tuple(next(iter(tables.values())))
    pairs = list(combinations(range(len(systems)), 2))
    by_metric = {metric: samples(list(of_system.values())) for metric, of_system in tables.items()}
    lines: dict[str, Line] = {}
    choices: list[tuple[str, Chosen]] = []
    shared: list[str] = []  # metrics of hits of which several stand over one video
    for group in alike(by_metric):  # metrics over the same videos
        flat = [s for metric in group for s in by_metric[metric]]
        thetas = iter(bootstrap(flat, how.resamples, how.seed))
        drawn = {metric: [next(thetas) for _ in systems] for metric in group}
        if how.test == "bootstrap":
            p = [
                bootstrap_p(drawn[m][j] - drawn[m][i], by_metric[m][j].value - by_metric[m][i].value)
                for m in group
                for i, j in pairs
            ]
        else:
            both = [(by_metric[m][i], by_metric[m][j]) for m in group for i, j in pairs]
            p = randomisations(both, trials=how.resamples, seed=how.seed) if both else []
        for k, m in enumerate(group):
            own = p[k * len(pairs) : (k + 1) * len(pairs)]
            duels = []
            for (i, j), p_own, p_holm in zip(pairs, own, holm(own), strict=True):
                a, b = by_metric[m][i], by_metric[m][j]
                gap = choose_difference(a, b, drawn[m][j] - drawn[m][i], how, wide)
                hits = mcnemar(a, b)
                if hits and m not in shared and len(a.rows) > len(a.videos):
                    shared.append(m)
                found = gap.interval, p_own, p_holm, gap.method, hits
                duels.append(Duel(systems[i], systems[j], b.value - a.value, *found))
                choices.append((m, gap))
            alone = [choose_interval(s, t, how, wide) for s, t in zip(by_metric[m], drawn[m], strict=True)]
            choices += [(m, c) for c in alone]
            lines[m] = Line(
                m,
                (scales or {}).get(m, 100.0),
                {n: s.value for n, s in zip(systems, by_metric[m], strict=True)},
                {n: c.interval for n, c in zip(systems, alone, strict=True)},
                tuple(duels),
                {n: c.method for n, c in zip(systems, alone, strict=True)},
            )
    most = max(len(s.videos) for line in by_metric.values() for s in line)
    ordered = {m: lines[m] for m in tables}
    warnings = tell_choices(choices, "groups" if wide else "videos")
    if shared:
        warnings.append(f"{', '.join(shared)}: McNemar's p takes queries of one video as independent; p does not")
    return Comparison(systems, ordered, how, most, signatures or {}, tuple(warnings))
