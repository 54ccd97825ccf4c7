"""Rows on this machine: one pass over the videos per metric, threads where the kernels let go of the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fabula.core.nouns import Corpus
from fabula.core.rows import Rows
from fabula.metrics._story import StoryMetric

Progress = Callable[[str, int, int], None]  # what is being done, how far, of how many
BLOCK = 64  # videos a thread takes at a time


def silent(what: str, done: int, total: int) -> None:
    """The progress of a library call: none."""


def story_rows(
    metric: StoryMetric, refs: Sequence[Corpus], preds: Corpus, progress: Progress = silent, threads: int | None = None
) -> Rows:
    """The rows of every reference video, in the order of first appearance."""
    videos = list(dict.fromkeys(v for ref in refs for v in ref))
    progress(metric.name, 0, len(videos))
    ctx = metric.prepare(refs, preds)

    def block(start: int) -> list[dict[str, Any]]:
        return [
            row
            for v in videos[start : start + BLOCK]
            for row in metric.rows(v, [ref.get(v) for ref in refs], preds.get(v), ctx)
        ]

    table: list[dict[str, Any]] = []
    starts = range(0, len(videos), BLOCK)
    for start, rows in zip(starts, mapped(block, starts, metric.threaded, threads), strict=True):
        table += rows
        progress(metric.name, min(start + BLOCK, len(videos)), len(videos))
    return Rows.of(table)


def mapped(
    work: Callable[[int], list[dict[str, Any]]], starts: Sequence[int], threaded: bool, threads: int | None
) -> Iterator[list[dict[str, Any]]]:
    """In order; with threads only where they help."""
    workers = threads or os.cpu_count() or 1
    if not threaded or workers == 1:
        yield from map(work, starts)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(work, starts)
