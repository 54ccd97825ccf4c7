"""TimeChat's grounding files (Ren et al., CVPR 2024): answers of a video LLM, already read as windows.

queries      {"annotations": [{"id", "image_id": video, "caption", "timestamp": [start, end]}, …]}
predictions  {id: {"timestamp": [[start, end], …], "query", "vid"}}; an empty list is an answer nobody could read
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fabula.core.moments import Query, Ranking, VideoNumbers
from fabula.io._fields import Source
from fabula.io._files import load_json
from fabula.io._moments import (
    Answers,
    MomentFormat,
    checked_rows,
    id_of,
    object_of,
    spans_and_scores,
    text_of,
    window,
)

QUERY = '{"id", "image_id": video, "caption", "timestamp": [start, end]}'
ENTRY = '{"timestamp": [[start, end], …], "query", "vid"}'
ROW = "[start, end]"
QUERIES = re.compile(r'\s*\{\s*"annotations"\s*:')
ANSWERS = re.compile(r'\s*\{\s*"[^"]*"\s*:\s*\{')


def queries(source: Source) -> Iterator[Query]:
    root = source.mapping(load_json(source.path), "the root", hint=f'it is {{"annotations": [{QUERY}, …]}}')
    for i, entry in enumerate(source.listing(source.entry(root, "annotations"), "annotations")):
        at = f"annotations[{i}]"
        entry = object_of(entry, at, source, QUERY)
        id = id_of(entry, "id", at, source)
        video = source.text(source.entry(entry, "image_id", id, at), "image_id", id)
        time = window(source.entry(entry, "timestamp", id, at), "timestamp", id, source)
        source.unused(entry, {"id", "image_id", "caption", "timestamp"}, "queries")
        yield Query(id, video, (time,), None, text_of(entry, "caption", id, source))


def answers(source: Source, numbers: VideoNumbers) -> Answers:
    root = source.mapping(load_json(source.path), "the root", hint=f"it is {{id: {ENTRY}}}")
    for id, entry in root.items():
        entry = source.mapping(entry, "its entry", id, f"it is {ENTRY}")
        rows = checked_rows(source.entry(entry, "timestamp", id), ROW, 2, "timestamp", id, source)
        spans, scores = spans_and_scores(rows, "timestamp", id, source, ROW)
        source.unused(entry, {"timestamp", "query", "vid"}, "predictions")
        yield "", Ranking(id, spans, scores)


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return '"timestamp"' in text and (QUERIES.match(text) or ANSWERS.match(text)) is not None


MOMENTS = MomentFormat(
    name="timechat-tvg",
    about="TimeChat's grounding: {annotations: [{id, image_id, timestamp}]}; answers {id: {timestamp: [[start, end]]}}",
    shape="json",
    sniff=sniff,
    queries=queries,
    answers=answers,
    example='{"annotations": [{"id": 1, "image_id": "kite.mp4", "caption": "a kite rises", "timestamp": [0, 10.5]}]}',
)
