"""QVHighlights' annotations (Lei et al., NeurIPS 2021), one query per line, with its clips' marks.

{"qid", "query", "vid", "duration", "relevant_windows": [[start, end], …], "relevant_clip_ids", "saliency_scores"}

A clip lasts 2 seconds; each relevant clip has one mark per annotator, 0 (very bad) to 4 (very good).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabula.core.moments import Id, Query, Saliency
from fabula.io.fields import Source
from fabula.io.format import MOMENTS, Format
from fabula.io.moments.fields import read_duration, read_entries, read_text, read_windows

QUERY = '{"qid", "vid", "duration", "relevant_windows", "relevant_clip_ids", "saliency_scores"}'
KNOWN = frozenset({"qid", "query", "vid", "duration", "relevant_windows", "relevant_clip_ids", "saliency_scores"})


def read_queries(source: Source) -> Iterator[Query]:
    for at, id, entry in read_entries(source, "qid", QUERY):
        if "relevant_windows" not in entry:
            hint = "a test set without its answers cannot be scored"
            raise source.wrong("no 'relevant_windows'", id, at, hint)
        found = read_windows(entry["relevant_windows"], "relevant_windows", id, source)
        video = source.text(source.entry(entry, "vid", id, at), "vid", id)
        source.unused(entry, KNOWN, "queries")
        length, text = read_duration(entry, id, source), read_text(entry, "query", id, source)
        yield Query(id, video, found, length, text, read_marks(entry, id, source))


def read_marks(entry: Mapping[str, Any], id: Id, source: Source) -> Saliency | None:
    """The marks of the relevant clips; None where the data set has none."""
    if "saliency_scores" not in entry:
        return None
    clips = source.listing(source.entry(dict(entry), "relevant_clip_ids", id), "relevant_clip_ids", id)
    rows = source.listing(entry["saliency_scores"], "saliency_scores", id)
    if len(clips) != len(rows):
        problem = f"{len(rows)} rows for {len(clips)} relevant clips"
        raise source.wrong(problem, id, "saliency_scores", "give a row for each of relevant_clip_ids")
    for i, clip in enumerate(clips):
        if type(clip) is not int or clip < 0:
            problem = f"expected a clip's number, saw {clip!r}"
            raise source.wrong(problem, id, f"relevant_clip_ids[{i}]", "clips are counted from 0")
    marks = []
    for i, row in enumerate(rows):
        cells = source.listing(row, f"saliency_scores[{i}]", id, "a row is one mark per annotator")
        if len(cells) != len(rows[0]) or not cells:
            problem = f"{len(cells)} marks where the first clip has {len(rows[0])}"
            raise source.wrong(problem, id, f"saliency_scores[{i}]", "every clip has one mark per annotator")
        marks.append(tuple(source.number(c, f"saliency_scores[{i}]", id) for c in cells))
    return Saliency(tuple(clips), tuple(marks))


FORMAT = Format(
    name="qvhighlights",
    about="QVHighlights annotations: {qid, vid, duration, relevant_windows, relevant_clip_ids, saliency_scores}",
    holds="references",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_queries=read_queries,
    example='{"qid": 1, "query": "a kite", "vid": "kite", "duration": 10, "relevant_windows": [[0, 4]], '
    '"relevant_clip_ids": [0, 1], "saliency_scores": [[4, 2, 3], [1, 1, 0]]}',
)
