"""Rows that are drawn together: films, cooks, channels, whatever makes videos alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fabula.core.errors import SpecError
from fabula.core.rows import Rows
from fabula.data.result import Result
from fabula.data.stories import Corpus
from fabula.evaluate.base import Readable


def cluster_results(
    results: Mapping[str, Result], by: Any, predictions: Sequence[Readable], refs: Sequence[Readable]
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
        raise SpecError(f"--cluster {name(by)}: all videos are in one group; nothing can be resampled")

    def regroup(rows: Rows) -> Rows:
        return replace(rows, clusters=tuple(groups[key] for key in rows.keys))

    found = {
        system: replace(result, rows={metric: regroup(rows) for metric, rows in result.rows.items()})
        for system, result in results.items()
    }
    return found, n


def name(by: Any) -> str:
    """What a signature calls it."""
    return "given" if isinstance(by, Mapping) else str(by)
