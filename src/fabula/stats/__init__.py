"""Rows in, interval or p-value out. Knows no metric: it is told how rows are folded into a number."""

from fabula.stats.bootstrap import Interval, bca, bootstrap, interval, percentile
from fabula.stats.compare import Comparison, Duel, Line, compare
from fabula.stats.holm import holm
from fabula.stats.paired import difference, paired_bootstrap, randomisation
from fabula.stats.resampling import Resampling, Testing
from fabula.stats.sample import Folding, Mean, Sample, samples

__all__ = [
    "Comparison",
    "Duel",
    "Folding",
    "Interval",
    "Line",
    "Mean",
    "Resampling",
    "Sample",
    "Testing",
    "bca",
    "bootstrap",
    "compare",
    "difference",
    "holm",
    "interval",
    "paired_bootstrap",
    "percentile",
    "randomisation",
    "samples",
]
