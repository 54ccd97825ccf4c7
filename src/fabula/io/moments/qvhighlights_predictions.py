"""QVHighlights' predictions (Lei et al., NeurIPS 2021), one query per line.

{"qid", "pred_relevant_windows": [[start, end, score], …], "pred_saliency_scores": [one number per clip of 2 seconds]}

`query` and `vid` may stand there too and are not read: the qid says which query is answered.
"""

from __future__ import annotations

import numpy as np

from fabula.core.moments import Ranking, VideoNumbers
from fabula.io.fields import Source
from fabula.io.format import MOMENTS, Format
from fabula.io.moments import Answers
from fabula.io.moments.fields import read_entries, read_rows, read_saliency, split_rows

ROW = "[start, end, score]"
ENTRY = f'{{"qid", "pred_relevant_windows": [{ROW}, …], "pred_saliency_scores": [number, …]}}'
KNOWN = frozenset({"qid", "query", "vid", "pred_relevant_windows", "pred_saliency_scores"})


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for at, id, entry in read_entries(source, "qid", ENTRY):
        windows, saliency = entry.get("pred_relevant_windows"), entry.get("pred_saliency_scores")
        if windows is None and saliency is None:
            raise source.wrong("neither windows nor saliency", id, at, f"a line is {ENTRY}")
        where = "pred_relevant_windows"
        rows = np.zeros((0, 0)) if windows is None else read_rows(windows, ROW, 2, where, id, source)
        spans, scores = split_rows(rows, where, id, source, ROW)
        source.unused(entry, KNOWN, "predictions")
        clips = None if saliency is None else read_saliency(saliency, "pred_saliency_scores", id, source)
        yield "", Ranking(id, spans, scores, saliency=clips)


FORMAT = Format(
    name="qvhighlights-predictions",
    about="QVHighlights predictions: {qid, pred_relevant_windows: [[start, end, score]], pred_saliency_scores}",
    holds="predictions",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_rankings=read_rankings,
    example='{"qid": 1, "pred_relevant_windows": [[0, 4, 0.9]], "pred_saliency_scores": [0.8, 0.5]}',
)
