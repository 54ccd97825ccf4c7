"""Rows on this machine: one pass over the videos per metric, in blocks, so that kernels see many videos at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fabula.core.nouns import Corpus
from fabula.core.rows import Rows
from fabula.metrics._paragraph import Paragraph
from fabula.metrics._story import StoryMetric

Progress = Callable[[str, int, int], None]  # what is being done, how far, of how many
BLOCK = 512  # videos


def silent(what: str, done: int, total: int) -> None:
    """The progress of a library call: none."""


def story_rows(
    metric: StoryMetric | Paragraph,
    refs: Sequence[Corpus],
    preds: Corpus,
    progress: Progress = silent,
    statistics: Any = None,
) -> Rows:
    """The rows of every reference video, in the order of first appearance; of a part, with the statistics of all."""
    if isinstance(metric, Paragraph):
        return metric.table(refs, preds)
    videos = list(dict.fromkeys(v for ref in refs for v in ref))
    progress(metric.name, 0, len(videos))
    ctx = metric.prepare(refs, preds) if statistics is None else metric.prepare_part(refs, preds, statistics)
    table: list[dict[str, Any]] = []
    for start in range(0, len(videos), BLOCK):
        some = videos[start : start + BLOCK]
        table += metric.rows([(v, [ref.get(v) for ref in refs], preds.get(v)) for v in some], ctx)
        progress(metric.name, start + len(some), len(videos))
    return Rows.of(table)
