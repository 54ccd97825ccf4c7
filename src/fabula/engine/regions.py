"""Rows of captioned regions on this machine: images as they come, METEOR for a block of them at a time.

A row per image: how many reference boxes (merged) and detections it has, and the records of its detections, surest
first, filled up with zeros to the length of the longest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np

from fabula.core.regions import Picture
from fabula.core.rows import Rows
from fabula.engine.local import Progress, silent
from fabula.metrics._regions import Floats, Records, RegionMetric
from fabula.text import meteor

BLOCK = 64  # images
COLUMNS = ("score", "ok", "iou", "prior", "meteor")

Judge = Callable[[Sequence[str], Sequence[Sequence[str]]], Sequence[float]]  # candidates, references → scores


def meteors(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    return [s.score for s in meteor.segments(candidates, references)]


def region_rows(
    metric: RegionMetric,
    refs: Mapping[str, Picture],
    preds: Iterable[Picture],
    progress: Progress = silent,
    judge: Judge | None = None,
) -> Rows:
    """The rows of every reference image, in the references' order; predictions are read as a stream."""
    found: dict[str, Records] = {}
    stream = iter(preds)
    progress(metric.name, 0, len(refs))
    while block := list(islice(stream, BLOCK)):
        records = {pred.id: metric.unit(refs[pred.id], pred) for pred in block if len(pred)}
        fill(list(records.values()), judge or meteors)
        found |= records
        progress(metric.name, len(found), len(refs))
    ids = [id for id in refs if id in found or metric.missing == "zero"]
    rows = [found[id] if id in found else metric.unit(refs[id], None) for id in ids]
    progress(metric.name, len(refs), len(refs))
    return table(ids, rows)


def fill(block: Sequence[Records], judge: Judge) -> None:
    """METEOR where it can change a number, the same captions once."""
    pairs: dict[tuple[str, tuple[str, ...]], list[tuple[Floats, int]]] = {}
    for records in block:
        for d, candidate, references in records.asked:
            pairs.setdefault((candidate, tuple(references)), []).append((records.meteor, d))
    if not pairs:
        return
    scores = judge([c for c, _ in pairs], [r for _, r in pairs])
    for places, score in zip(pairs.values(), scores, strict=True):
        for column, d in places:
            column[d] = score


def table(ids: Sequence[str], rows: Sequence[Records]) -> Rows:
    K = max((len(r.score) for r in rows), default=0)
    columns = {name: np.zeros((len(rows), K)) for name in COLUMNS}
    for i, records in enumerate(rows):
        for name in COLUMNS:
            columns[name][i, : len(records.score)] = getattr(records, name)
    counts = {
        "references": np.array([r.npos for r in rows], dtype=np.float64),
        "detections": np.array([len(r.score) for r in rows], dtype=np.float64),
    }
    return Rows(tuple(ids), np.zeros(len(rows), dtype=np.int64), counts | columns, unit="image")
