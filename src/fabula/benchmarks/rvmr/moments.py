"""TVR-Ranking (Liang et al., 2024): moments of graded relevance, and rankings of moments.

queries      {query: [{"video_name", "timestamp": [start, end], "relevance": 0 … 4}, …]}
predictions  {query: [{"video_name", "timestamp": [start, end]}, …]}, best first

A query's own video is that of its first answer of the highest grade.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fabula.data.moments import Query, Ranking, Relevant, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import check_grade, read_window

START = r'\s*\{\s*"[^"]*"\s*:\s*\[\s*\{\s*"(video_name|timestamp|relevance|similarity)"'
ANSWERED = HeadRule(begins=START, all=("video_name",), none=("relevance",))
ENTRY = '{"video_name", "timestamp": [start, end], "relevance"}'
KNOWN = frozenset({"video_name", "timestamp", "relevance", "similarity"})
TASKS = ("moments",)


def read_entries(source: Source) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    root = source.mapping(source.document.tree(), "the root", hint=f"it is {{query: [{ENTRY}, …]}}")
    for id, listed in root.items():
        entries = source.listing(listed, "its answers", id, f"they are [{ENTRY}, …]")
        yield id, [source.mapping(entry, f"answer {i}", id, f"it is {ENTRY}") for i, entry in enumerate(entries)]


def read_queries(source: Source) -> Iterator[Query]:
    for id, entries in read_entries(source):
        found = []
        for i, entry in enumerate(entries):
            video = source.text(source.entry(entry, "video_name", id), f"answer {i} video_name", id)
            span = read_window(source.entry(entry, "timestamp", id), f"answer {i} timestamp", id, source)
            grade = source.number(source.entry(entry, "relevance", id), f"answer {i} relevance", id)
            source.unused(entry, KNOWN, "queries")
            found.append(Relevant(video, span, check_grade(grade, f"answer {i} relevance", id, source)))
        if not found:
            raise source.wrong("no answer", id, None, "a query without an answer cannot be scored: leave it out")
        best = max(found, key=lambda r: r.grade)
        windows = tuple(r.span for r in found if r.video == best.video and r.grade == best.grade)
        yield Query(id, best.video, windows, graded=tuple(found))


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    for id, entries in read_entries(source):
        videos = [source.text(source.entry(e, "video_name", id), "video_name", id) for e in entries]
        spans = [read_window(source.entry(e, "timestamp", id), "timestamp", id, source) for e in entries]
        made = np.array(spans, dtype=np.float64).reshape(-1, 2)
        yield "VCMR", Ranking(id, made, None, np.array([numbers[v] for v in videos], dtype=np.int64))


FORMATS = (
    Format(
        name="rvmr",
        about="TVR-Ranking: {query: [{video_name, timestamp, relevance}]}, moments of graded relevance",
        known_by=(HeadRule(begins=START, all=("relevance",)),),
        main_task="moments",
        holds="references",
        tasks=TASKS,
        read_queries=read_queries,
        example='{"1": [{"video_name": "kite", "timestamp": [0, 10.5], "relevance": 4}]}',
    ),
    Format(
        name="rvmr-predictions",
        about="TVR-Ranking predictions: {query: [{video_name, timestamp}]}, best first",
        known_by=(ANSWERED,),
        certain=(ANSWERED,),
        main_task="moments",
        holds="predictions",
        tasks=TASKS,
        read_rankings=read_rankings,
        example='{"1": [{"video_name": "kite", "timestamp": [0, 10.5]}]}',
    ),
)
