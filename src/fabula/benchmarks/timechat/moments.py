"""TimeChat's grounding files (Ren et al., CVPR 2024): answers of a video LLM, already read as windows.

queries      {"annotations": [{"id", "image_id": video, "caption", "timestamp": [start, end]}, …]}
predictions  {id: {"timestamp": [[start, end], …], "query", "vid"}}; an empty list is an answer nobody could read
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.data.moments import Query, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import check_object, read_id, read_rows, read_text, read_window, split_rows

QUERY = '{"id", "image_id": video, "caption", "timestamp": [start, end]}'
ENTRY = '{"timestamp": [[start, end], …], "query", "vid"}'
ROW = "[start, end]"


def read_queries(source: Source) -> Iterator[Query]:
    root = source.mapping(source.document.tree(), "the root", hint=f'it is {{"annotations": [{QUERY}, …]}}')
    for i, entry in enumerate(source.listing(source.entry(root, "annotations"), "annotations")):
        at = f"annotations[{i}]"
        entry = check_object(entry, at, source, QUERY)
        id = read_id(entry, "id", at, source)
        video = source.text(source.entry(entry, "image_id", id, at), "image_id", id)
        time = read_window(source.entry(entry, "timestamp", id, at), "timestamp", id, source)
        source.unused(entry, {"id", "image_id", "caption", "timestamp"}, "queries")
        yield Query(id, video, (time,), None, read_text(entry, "caption", id, source))


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    root = source.mapping(source.document.tree(), "the root", hint=f"it is {{id: {ENTRY}}}")
    for id, entry in root.items():
        entry = source.mapping(entry, "its entry", id, f"it is {ENTRY}")
        rows = read_rows(source.entry(entry, "timestamp", id), ROW, 2, "timestamp", id, source)
        spans, scores = split_rows(rows, "timestamp", id, source, ROW)
        source.unused(entry, {"timestamp", "query", "vid"}, "predictions")
        yield "", Ranking(id, spans, scores)


FORMAT = Format(
    name="timechat-tvg",
    about="TimeChat's grounding: {annotations: [{id, image_id, timestamp}]}; answers {id: {timestamp: [[start, end]]}}",
    known_by=(HeadRule(begins=r'\s*\{\s*"(?:annotations"\s*:|[^"]*"\s*:\s*\{)', all=("timestamp",)),),
    certain=(HeadRule(begins=r'\s*\{\s*"[^"]*"\s*:\s*\{[^{}\[]*"timestamp"\s*:'),),
    main_task="grounding",
    holds="either",
    tasks=MOMENTS,
    read_queries=read_queries,
    read_rankings=read_rankings,
    example='{"annotations": [{"id": 1, "image_id": "kite.mp4", "caption": "a kite rises", "timestamp": [0, 10.5]}]}',
)
