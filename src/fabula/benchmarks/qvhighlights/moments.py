"""QVHighlights' annotations (Lei et al., NeurIPS 2021), one query per line, with its clips' marks.

{"qid", "query", "vid", "duration", "relevant_windows": [[start, end], …], "relevant_clip_ids", "saliency_scores"}

A clip lasts 2 seconds; each relevant clip has one mark per annotator, 0 (very bad) to 4 (very good).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from fabula._kernels import native
from fabula.data.moments import Id, Queries, Query, Saliency
from fabula.documents.fields import Source
from fabula.documents.records import Records, Shape, read_line_chunks
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments.fields import (
    check_entry,
    read_duration,
    read_entries,
    read_marks,
    read_text,
    read_windows,
    refuse_marks,
)

QUERY = '{"qid", "vid", "duration", "relevant_windows", "relevant_clip_ids", "saliency_scores"}'
KNOWN = frozenset({"qid", "query", "vid", "duration", "relevant_windows", "relevant_clip_ids", "saliency_scores"})


PLAIN = Shape(
    (
        ("qid", "id"),
        ("query", "text"),
        ("vid", "name"),
        ("duration", "number"),
        ("relevant_windows", "windows"),
        ("relevant_clip_ids", "wholes"),
        ("saliency_scores", "table"),
    )
)


def read_queries(source: Source) -> Iterator[Query | Queries]:
    """Those that are plain many at a time, the others one by one; without the kernel all of them."""
    if native() is None:
        yield from (read_query(source, *entry) for entry in read_entries(source, "qid", QUERY))
        return
    for some in read_line_chunks(source.document, PLAIN):
        if isinstance(some, Records):
            yield from read_plain(some, source)
        else:
            for number, entry in some:
                yield read_query(source, *check_entry(source.document.place(number), entry, source, "qid", QUERY))


def read_plain(some: Records, source: Source) -> Iterator[Query | Queries]:
    """Plain lines: whatever is wrong with one is a duration, or its number of marks."""
    ids, durations = some["qid"], some["duration"]
    (clips, clip_counts), (marks, shapes) = some["relevant_clip_ids"], some["saliency_scores"]
    windows, counts = some["relevant_windows"]
    rows, columns = shapes[:, 0].tolist(), shapes[:, 1].tolist()
    numbers, cells, saliencies = iter(clips.tolist()), iter(marks.tolist()), []
    for clip_count, R, C in zip(clip_counts.tolist(), rows, columns, strict=True):
        listed = tuple(islice(numbers, clip_count))
        saliencies.append(Saliency(listed, tuple([tuple(islice(cells, C)) for _ in range(R)])))
    found = Queries(ids, some["vid"], windows, counts, durations, some["query"], [None] * some.n, saliencies)
    wrong = np.flatnonzero((durations <= 0) | (clip_counts != shapes[:, 0]))
    if not len(wrong):
        yield found
        return
    i = int(wrong[0])
    yield from islice(found, i)
    if durations[i] <= 0:
        source.duration(float(durations[i]), ids[i])
    raise refuse_marks(rows[i], int(clip_counts[i]), ids[i], source)


def read_query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    if "relevant_windows" not in entry:
        hint = "a test set without its answers cannot be scored"
        raise source.wrong("no 'relevant_windows'", id, at, hint)
    found = read_windows(entry["relevant_windows"], "relevant_windows", id, source)
    video = source.text(source.entry(entry, "vid", id, at), "vid", id)
    source.unused(entry, KNOWN, "queries")
    length, text = read_duration(entry, id, source), read_text(entry, "query", id, source)
    return Query(id, video, found, length, text, read_marks(entry, id, source))


FORMAT = Format(
    name="qvhighlights",
    about="QVHighlights annotations: {qid, vid, duration, relevant_windows, relevant_clip_ids, saliency_scores}",
    known_by=(HeadRule(all=("qid", "relevant_windows")),),
    main_task="highlights",
    holds="references",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_queries=read_queries,
    example='{"qid": 1, "query": "a kite", "vid": "kite", "duration": 10, "relevant_windows": [[0, 4]], '
    '"relevant_clip_ids": [0, 1], "saliency_scores": [[4, 2, 3], [1, 1, 0]]}',
)
