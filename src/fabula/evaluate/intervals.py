"""Intervals of a result's primary numbers: a bootstrap over videos."""

from __future__ import annotations

from dataclasses import replace

from fabula.data.result import Result
from fabula.stats.choose import choose_intervals, tell_choices
from fabula.stats.resampling import Resampling
from fabula.stats.sample import Sample


def with_intervals(result: Result, how: Resampling, more: str = "", clusters: int = 0) -> Result:
    """The result with the interval of every primary number; its signature says how it was made, and `more`.

    Where the bootstrap would promise too much, the interval is a bounded one or none, and a warning says why
    (stats/choose.py). Over `clusters` those of the bootstrap are made wider, too (stats/few.py).
    """
    some = {name: Sample.of(result.rows[name], metric) for name, metric in result.metrics.items()}
    chosen = choose_intervals(some, how, wide=clusters > 0)
    scores = dict(result.scores)
    for name, (found, method, _) in chosen.items():
        score = result[name]
        signed = f"|ci:{how.named(method)}{more}" if found else more
        scores[name] = replace(
            score,
            ci={score.primary: (found.low, found.high)} if found else None,
            ci_method=method,
            signature=f"{score.signature}{signed}",
            short=f"{score.short}{signed}" if score.short else "",
        )
    unit = next((rows.unit for rows in result.rows.values()), "video")
    units = "groups" if clusters else {"video": "videos", "id": "items"}.get(unit, "videos")
    return replace(result, scores=scores, warnings=(*result.warnings, *tell_choices(chosen.items(), units)))
