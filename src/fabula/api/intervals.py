"""Intervals of a result's primary numbers: a bootstrap over videos."""

from __future__ import annotations

from dataclasses import replace

from fabula.core.result import Result
from fabula.stats.bootstrap import each_interval
from fabula.stats.few import widen_level
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Sample


def with_intervals(result: Result, how: Resampling, more: str = "", clusters: int = 0) -> Result:
    """The result with the interval of every primary number; its signature says how it was made, and `more`.

    Over `clusters`, of which there may be few, intervals are made wider (stats/few.py).
    """
    drawn = replace(how, level=widen_level(how.level, clusters)) if clusters else how
    some = {name: Sample.of(result.rows[name], metric) for name, metric in result.metrics.items()}
    scores = {
        name: replace(
            result[name],
            ci={result[name].primary: (found.low, found.high)},
            signature=f"{result[name].signature}|ci:{how}{more}",
            short=f"{result[name].short}|ci:{how}{more}" if result[name].short else "",
        )
        for name, found in each_interval(some, drawn).items()
    }
    return replace(result, scores={name: scores[name] for name in result.scores})
