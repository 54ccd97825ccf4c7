"""QVHighlights' predictions (Lei et al., NeurIPS 2021), one query per line.

{"qid", "pred_relevant_windows": [[start, end, score], …], "pred_saliency_scores": [one number per clip of 2 seconds]}

`query` and `vid` may stand there too and are not read: the qid says which query is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fabula.core.moments import Ranking, VideoNumbers
from fabula.io._fields import Source
from fabula.io._moments import (
    Answers,
    MomentFormat,
    checked_rows,
    entries,
    saliency_of,
    spans_and_scores,
)

ROW = "[start, end, score]"
ENTRY = f'{{"qid", "pred_relevant_windows": [{ROW}, …], "pred_saliency_scores": [number, …]}}'
KNOWN = frozenset({"qid", "query", "vid", "pred_relevant_windows", "pred_saliency_scores"})


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    for at, id, entry in entries(source, "qid", ENTRY):
        windows, saliency = entry.get("pred_relevant_windows"), entry.get("pred_saliency_scores")
        if windows is None and saliency is None:
            raise source.wrong("neither windows nor saliency", id, at, f"a line is {ENTRY}")
        where = "pred_relevant_windows"
        rows = np.zeros((0, 0)) if windows is None else checked_rows(windows, ROW, 2, where, id, source)
        spans, scores = spans_and_scores(rows, where, id, source, ROW)
        source.unused(entry, KNOWN, "predictions")
        clips = None if saliency is None else saliency_of(saliency, "pred_saliency_scores", id, source)
        yield "", Ranking(id, spans, scores, saliency=clips)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return "qid" in first and ("pred_relevant_windows" in first or "pred_saliency_scores" in first)


MOMENTS = MomentFormat(
    name="qvhighlights-predictions",
    about="QVHighlights predictions: {qid, pred_relevant_windows: [[start, end, score]], pred_saliency_scores}",
    shape="lines",
    sniff=sniff,
    answers=answers,
    example='{"qid": 1, "pred_relevant_windows": [[0, 4, 0.9]], "pred_saliency_scores": [0.8, 0.5]}',
)
