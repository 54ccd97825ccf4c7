"""Fabula's own lines for moments, one query per line, for references and for predictions.

references   {"id", "video", "windows": [[start, end], …], "duration", "text", "type",
              "clips": [number, …], "marks": [[…], …], "graded": [[video, start, end, grade], …]}
predictions  {"id", "windows": [[start, end, score], …], "videos": [name, …], "saliency": [number per clip]}

Windows are listed best first; the score may be left out. `videos` has a name per window, and is left out where every
window lies in the video that the query names. `clips` and `marks` are highlights: a mark per annotator of each clip.
`graded` are all answers, in any video, with how good each is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabula.data.moments import Id, Queries, Query, Ranking, Relevant, VideoNumbers
from fabula.documents.fields import Source
from fabula.documents.files import encode_json
from fabula.documents.records import Shape, find_mark, read_line_pieces
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import (
    check_entry,
    check_grade,
    read_duration,
    read_marks,
    read_plain_queries,
    read_rows,
    read_saliency,
    read_text,
    read_type,
    read_window,
    read_windows,
    split_rows,
)

QUERY = '{"id", "video", "windows": [[start, end], …]}'
ROW = "[start, end, score]"
ENTRY = f'{{"id", "windows": [{ROW}, …], "videos": [name, …], "saliency": [number, …]}}'
ANSWER = frozenset({"id", "windows", "videos", "saliency", "run"})  # run: of fabula ask
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
KNOWN = frozenset({*KEYS, "clips", "marks", "graded"})


def read_queries(source: Source) -> Iterator[Query | Queries]:
    return read_plain_queries(source, KEYS, PLAIN, partial(read_query, source), QUERY)


def read_query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    video = source.text(source.entry(entry, "video", id, at), "video", id)
    found = read_windows(source.entry(entry, "windows", id, at), "windows", id, source)
    marked = {"relevant_clip_ids": entry.get("clips", []), "saliency_scores": entry.get("marks", [])}
    marks = read_marks(marked, id, source) if "clips" in entry or "marks" in entry else None
    source.unused(entry, KNOWN, "queries")
    length, text = read_duration(entry, id, source), read_text(entry, "text", id, source)
    graded = read_graded(entry["graded"], id, source) if "graded" in entry else None
    return Query(id, video, found, length, text, marks, read_type(entry), graded)


def read_graded(value: Any, id: Id, source: Source) -> tuple[Relevant, ...]:
    row = "[video, start, end, grade]"
    found = []
    for i, cells in enumerate(source.listing(value, "graded", id, f"it is a list of {row}")):
        at = f"graded[{i}]"
        if len(source.listing(cells, at, id, f"it is {row}")) != 4:
            raise source.wrong(f"a row of {len(cells)}", id, at, f"it is {row}")
        grade = check_grade(source.number(cells[3], f"{at}[3]", id), at, id, source)
        found.append(Relevant(source.text(cells[0], f"{at}[0]", id), read_window(cells[1:3], at, id, source), grade))
    if not found:
        raise source.wrong("no graded answer", id, "graded", "leave the field out")
    return tuple(found)


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for lines, lifted in read_line_pieces(source.document, "windows"):
        tables = list(lifted)
        for number, entry in lines:
            at, id, entry = check_entry(source.document.place(number), entry, source, "id", ENTRY)
            rows = np.zeros((0, 0))
            if (k := find_mark(entry.get("windows"))) is not None:
                rows = tables[k - lifted.first]
            elif "windows" in entry:
                rows = read_rows(entry["windows"], ROW, 2, "windows", id, source)
            elif "saliency" not in entry:
                raise source.wrong("neither windows nor saliency", id, at, f"a line is {ENTRY}")
            spans, scores = split_rows(rows, "windows", id, source, ROW)
            clips = read_saliency(entry["saliency"], "saliency", id, source) if "saliency" in entry else None
            source.unused(entry, ANSWER, "predictions")
            yield "", Ranking(id, spans, scores, read_videos(entry, len(spans), id, numbers, source), clips)


def read_videos(
    entry: Mapping[str, Any], n: int, id: Id, numbers: VideoNumbers, source: Source
) -> NDArray[np.int64] | None:
    if "videos" not in entry:
        return None
    names = source.listing(entry["videos"], "videos", id, "it is a name per window")
    if len(names) != n:
        raise source.wrong(f"{len(names)} videos for {n} windows", id, "videos", "give one name per window")
    return np.array([numbers[source.text(v, f"videos[{i}]", id)] for i, v in enumerate(names)], dtype=np.int64)


def write_rankings(rankings: Iterable[Ranking], numbers: VideoNumbers, target: Source) -> Iterator[str]:
    """Rankings as lines of text; `numbers` may still grow while they are made."""
    names: dict[int, str] = {}
    for r in rankings:
        if len(names) < len(numbers):
            names = {number: name for name, number in numbers.items()}
        rows = r.spans if r.scores is None else np.column_stack([r.spans, r.scores])
        line: dict[str, Any] = {"id": r.id, "windows": rows.tolist()}
        line |= {} if r.videos is None else {"videos": [names[v] for v in r.videos.tolist()]}
        line |= {} if r.saliency is None else {"saliency": r.saliency.tolist()}
        yield encode_json(line, target.document)


def write_queries(some: Iterable[Query], target: Source) -> Iterator[str]:
    """Queries as lines of text."""
    for q in some:
        line: dict[str, Any] = {"id": q.id, "video": q.video, "windows": [list(w) for w in q.windows]}
        line |= {} if q.duration is None else {"duration": q.duration}
        line |= {} if q.text is None else {"text": q.text}
        line |= {} if q.type is None else {"type": q.type}
        marks = {} if q.saliency is None else {"clips": list(q.saliency.clips), "marks": list(q.saliency.marks)}
        graded = {} if q.graded is None else {"graded": [[r.video, *r.span, r.grade] for r in q.graded]}
        yield encode_json(line | marks | graded, target.document)


FORMAT = Format(
    name="moment-lines",
    about="Fabula's: {id, video, windows, duration, text, type, clips, marks}; {id, windows, videos, saliency}",
    known_by=(HeadRule(all=("id",), any=("windows", "saliency")),),
    order="lines",
    holds="either",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_queries=read_queries,
    read_rankings=read_rankings,
    example='{"id": 1, "video": "kite", "windows": [[0, 10.5]], "duration": 30.5, "text": "a kite rises"}',
)
