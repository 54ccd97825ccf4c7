"""Intervals of a result's primary numbers: a bootstrap over videos, or over groups of them: films, cooks, channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.result import Result
from fabula.data.stories import Corpus
from fabula.evaluate.inputs import Readable
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


def cluster_results(
    results: Mapping[str, Result], by: object, predictions: Sequence[Readable], refs: Sequence[Readable]
) -> tuple[dict[str, Result], int]:
    """The results with rows that are drawn by group; and how many groups there are."""
    from fabula.io.groups import find_groups

    if not isinstance(by, Mapping):
        by = str(by)
    files = [file for file in refs or predictions if not isinstance(file, Corpus)]
    ids = dict.fromkeys(key for result in results.values() for rows in result.rows.values() for key in rows.keys)
    groups = find_groups(by, files, ids)
    n = len(set(groups.values()))
    if n < 2:
        raise SpecError(f"--cluster {name_groups(by)}: all videos are in one group; nothing can be resampled")

    def regroup(rows: Rows) -> Rows:
        return replace(rows, clusters=tuple(groups[key] for key in rows.keys))

    found = {
        system: replace(result, rows={metric: regroup(rows) for metric, rows in result.rows.items()})
        for system, result in results.items()
    }
    return found, n


def name_groups(by: object) -> str:
    """What a signature calls it."""
    return "given" if isinstance(by, Mapping) else str(by)
