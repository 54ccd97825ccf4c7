"""QVHighlights' predictions (Lei et al., NeurIPS 2021), one query per line.

{"qid", "pred_relevant_windows": [[start, end, score], …], "pred_saliency_scores": [one number per clip of 2 seconds]}

`query` and `vid` may stand there too and are not read: the qid says which query is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from fabula._kernels import native
from fabula.data.moments import Id, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.documents.records import Records, Shape, read_line_chunks
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import check_entry, read_entries, read_rows, read_saliency, split_rows

ROW = "[start, end, score]"
ENTRY = f'{{"qid", "pred_relevant_windows": [{ROW}, …], "pred_saliency_scores": [number, …]}}'
KNOWN = frozenset({"qid", "query", "vid", "pred_relevant_windows", "pred_saliency_scores"})
WHERE = "pred_relevant_windows"
PLAIN = Shape(
    (
        ("qid", "id"),
        ("query", "skip"),
        ("vid", "skip"),
        ("pred_relevant_windows", "table"),
        ("pred_saliency_scores", "numbers"),
    )
)


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    """Those that are plain many at a time, the others one by one; without the kernel all of them."""
    if native() is None:
        yield from (("", read_ranking(source, *entry)) for entry in read_entries(source, "qid", ENTRY))
        return
    for some in read_line_chunks(source.document, PLAIN):
        if isinstance(some, Records):
            yield from (("", ranking) for ranking in read_plain(some, source))
        else:
            for number, entry in some:
                yield "", read_ranking(source, *check_entry(source.document.place(number), entry, source, "qid", ENTRY))


def read_plain(some: Records, source: Source) -> Iterator[Ranking]:
    """Plain lines, which can lack nothing but columns."""
    (cells, shapes), (marks, counts) = some["pred_relevant_windows"], some["pred_saliency_scores"]
    ends = accumulate(counts.tolist())
    at = 0
    for id, (R, C), n, end in zip(some["qid"], shapes.tolist(), counts.tolist(), ends, strict=True):
        spans, scores = split_rows(cells[at : at + R * C].reshape(R, C), WHERE, id, source, ROW)
        yield Ranking(id, spans, scores, saliency=marks[end - n : end])
        at += R * C


def read_ranking(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Ranking:
    windows, saliency = entry.get("pred_relevant_windows"), entry.get("pred_saliency_scores")
    if windows is None and saliency is None:
        raise source.wrong("neither windows nor saliency", id, at, f"a line is {ENTRY}")
    rows = np.zeros((0, 0)) if windows is None else read_rows(windows, ROW, 2, WHERE, id, source)
    spans, scores = split_rows(rows, WHERE, id, source, ROW)
    source.unused(entry, KNOWN, "predictions")
    clips = None if saliency is None else read_saliency(saliency, "pred_saliency_scores", id, source)
    return Ranking(id, spans, scores, saliency=clips)


FORMAT = Format(
    name="qvhighlights-predictions",
    about="QVHighlights predictions: {qid, pred_relevant_windows: [[start, end, score]], pred_saliency_scores}",
    known_by=(HeadRule(all=("qid",), any=("pred_relevant_windows", "pred_saliency_scores")),),
    main_task="highlights",
    holds="predictions",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_rankings=read_rankings,
    example='{"qid": 1, "pred_relevant_windows": [[0, 4, 0.9]], "pred_saliency_scores": [0.8, 0.5]}',
)
