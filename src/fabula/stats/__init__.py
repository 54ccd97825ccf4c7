"""Rows in, interval or p-value out. Knows no metric: it is told how rows are folded into a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.rooms import lazy_room

if TYPE_CHECKING:
    from fabula.stats.bootstrap import Interval, bca, bootstrap, interval, percentile
    from fabula.stats.compare import Comparison, Duel, Line, compare
    from fabula.stats.holm import holm
    from fabula.stats.paired import difference, paired_bootstrap, randomisation
    from fabula.stats.resampling import PairedTest, Resampling
    from fabula.stats.sample import Folding, Mean, Sample, samples

__all__ = [
    "Comparison",
    "Duel",
    "Folding",
    "Interval",
    "Line",
    "Mean",
    "PairedTest",
    "Resampling",
    "Sample",
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

HOMES = {
    "bootstrap": ("Interval", "bca", "bootstrap", "interval", "percentile"),
    "compare": ("Comparison", "Duel", "Line", "compare"),
    "holm": ("holm",),
    "paired": ("difference", "paired_bootstrap", "randomisation"),
    "resampling": ("Resampling", "PairedTest"),
    "sample": ("Folding", "Mean", "Sample", "samples"),
}  # file → what it offers here

lazy_room(__name__, {name: file for file, names in HOMES.items() for name in names})
