"""Fabula's own lines for moments, one query per line, for references and for predictions.

references   {"id", "video", "windows": [[start, end], …], "duration", "text", "type",
              "clips": [number, …], "marks": [[…], …]}
predictions  {"id", "windows": [[start, end, score], …], "videos": [name, …], "saliency": [number per clip]}

Windows are listed best first; the score may be left out. `videos` has a name per window, and is left out where every
window lies in the video that the query names. `clips` and `marks` are highlights: a mark per annotator of each clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.core.moments import Id, Queries, Query, Ranking, VideoNumbers
from fabula.io._fields import Source
from fabula.io._files import json_text
from fabula.io._moments import (
    Answers,
    MomentFormat,
    checked_rows,
    duration_of,
    opened,
    plain_queries,
    saliency_of,
    spans_and_scores,
    text_of,
    type_of,
    windows,
)
from fabula.io._records import Shape
from fabula.io._tables import line_pieces, marked
from fabula.io.qvhighlights import saliency

QUERY = '{"id", "video", "windows": [[start, end], …]}'
ROW = "[start, end, score]"
ENTRY = f'{{"id", "windows": [{ROW}, …], "videos": [name, …], "saliency": [number, …]}}'
ANSWER = frozenset({"id", "windows", "videos", "saliency"})
KEYS = {key: key for key in ("id", "video", "windows", "duration", "text", "type")}
PLAIN = Shape(
    (
        ("id", "id"),
        ("video", "name"),
        ("windows", "windows"),
        ("duration", "number"),
        ("text", "text"),
        ("type", "text"),
    )
)
KNOWN = frozenset({*KEYS, "clips", "marks"})


def queries(source: Source) -> Iterator[Query | Queries]:
    return plain_queries(source, KEYS, PLAIN, partial(query, source), QUERY)


def query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    video = source.text(source.entry(entry, "video", id, at), "video", id)
    found = windows(source.entry(entry, "windows", id, at), "windows", id, source)
    marked = {"relevant_clip_ids": entry.get("clips", []), "saliency_scores": entry.get("marks", [])}
    marks = saliency(marked, id, source) if "clips" in entry or "marks" in entry else None
    source.unused(entry, KNOWN, "queries")
    length, text = duration_of(entry, id, source), text_of(entry, "text", id, source)
    return Query(id, video, found, length, text, marks, type_of(entry))


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    for lines, lifted in line_pieces(source.path, "windows"):
        tables = list(lifted)
        for number, entry in lines:
            at, id, entry = opened(number, entry, source, "id", ENTRY)
            rows = np.zeros((0, 0))
            if (k := marked(entry.get("windows"))) is not None:
                rows = tables[k - lifted.first]
            elif "windows" in entry:
                rows = checked_rows(entry["windows"], ROW, 2, "windows", id, source)
            elif "saliency" not in entry:
                raise source.wrong("neither windows nor saliency", id, at, f"a line is {ENTRY}")
            spans, scores = spans_and_scores(rows, "windows", id, source, ROW)
            clips = saliency_of(entry["saliency"], "saliency", id, source) if "saliency" in entry else None
            source.unused(entry, ANSWER, "predictions")
            yield "", Ranking(id, spans, scores, videos_of(entry, len(spans), id, numbers, source), clips)


def videos_of(
    entry: Mapping[str, Any], n: int, id: Id, numbers: VideoNumbers, source: Source
) -> NDArray[np.int64] | None:
    if "videos" not in entry:
        return None
    names = source.listing(entry["videos"], "videos", id, "it is a name per window")
    if len(names) != n:
        raise source.wrong(f"{len(names)} videos for {n} windows", id, "videos", "give one name per window")
    return np.array([numbers[source.text(v, f"videos[{i}]", id)] for i, v in enumerate(names)], dtype=np.int64)


def written(rankings: Iterable[Ranking], numbers: VideoNumbers, target: Source) -> Iterator[str]:
    """Rankings as lines of text; `numbers` may still grow while they are made."""
    names: dict[int, str] = {}
    for r in rankings:
        if len(names) < len(numbers):
            names = {number: name for name, number in numbers.items()}
        rows = r.spans if r.scores is None else np.column_stack([r.spans, r.scores])
        line: dict[str, Any] = {"id": r.id, "windows": rows.tolist()}
        line |= {} if r.videos is None else {"videos": [names[v] for v in r.videos.tolist()]}
        line |= {} if r.saliency is None else {"saliency": r.saliency.tolist()}
        yield json_text(line, target.path)


def written_queries(some: Iterable[Query], target: Source) -> Iterator[str]:
    """Queries as lines of text."""
    for q in some:
        line: dict[str, Any] = {"id": q.id, "video": q.video, "windows": [list(w) for w in q.windows]}
        line |= {} if q.duration is None else {"duration": q.duration}
        line |= {} if q.text is None else {"text": q.text}
        line |= {} if q.type is None else {"type": q.type}
        marks = {} if q.saliency is None else {"clips": list(q.saliency.clips), "marks": list(q.saliency.marks)}
        yield json_text(line | marks, target.path)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return "id" in first and ("windows" in first or "saliency" in first)


MOMENTS = MomentFormat(
    name="moment-lines",
    about="Fabula's: {id, video, windows, duration, text, type, clips, marks}; {id, windows, videos, saliency}",
    shape="lines",
    sniff=sniff,
    queries=queries,
    answers=answers,
    example='{"id": 1, "video": "kite", "windows": [[0, 10.5]], "duration": 30.5, "text": "a kite rises"}',
)
