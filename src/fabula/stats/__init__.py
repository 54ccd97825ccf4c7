"""Rows in, interval or p-value out. Knows no metric: it is told how rows are folded into a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.lazy_package import load_lazily

if TYPE_CHECKING:
    from fabula.stats.agreement import alpha, kappa
    from fabula.stats.bootstrap import Interval, bca, bootstrap, interval, percentile
    from fabula.stats.compare import Comparison, Duel, Line, compare
    from fabula.stats.holm import holm
    from fabula.stats.meta import Meta, People, weigh
    from fabula.stats.paired import difference, paired_bootstrap, randomisation
    from fabula.stats.ranks import Ranks
    from fabula.stats.resampling import PairedTest, Resampling
    from fabula.stats.sample import Folding, Mean, Sample, samples
    from fabula.stats.twoway import Estimate, mean_of

__all__ = [
    "Comparison",
    "Duel",
    "Estimate",
    "Folding",
    "Interval",
    "Line",
    "Mean",
    "Meta",
    "PairedTest",
    "People",
    "Ranks",
    "Resampling",
    "Sample",
    "alpha",
    "bca",
    "bootstrap",
    "compare",
    "difference",
    "holm",
    "interval",
    "kappa",
    "mean_of",
    "paired_bootstrap",
    "percentile",
    "randomisation",
    "samples",
    "weigh",
]

HOMES = {
    "agreement": ("alpha", "kappa"),
    "bootstrap": ("Interval", "bca", "bootstrap", "interval", "percentile"),
    "compare": ("Comparison", "Duel", "Line", "compare"),
    "holm": ("holm",),
    "meta": ("Meta", "People", "weigh"),
    "paired": ("difference", "paired_bootstrap", "randomisation"),
    "ranks": ("Ranks",),
    "resampling": ("Resampling", "PairedTest"),
    "sample": ("Folding", "Mean", "Sample", "samples"),
    "twoway": ("Estimate", "mean_of"),
}  # file → what it offers here

load_lazily(__name__, {name: file for file, names in HOMES.items() for name in names})
