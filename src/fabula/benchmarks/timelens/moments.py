"""TimeLens' data sets (TencentARC, 2025): the three files of TimeLens-Bench, and the lines of TimeLens-100K.

bench   {video: {"duration", "spans": [[start, end], …], "queries": [text, …]}}, one span a query
100K    {"source", "video_path", "duration", "events": [{"query", "span": [[start, end], …]}, …]}, a line a video

A query's id is its place in the file, from 0. Blanks of its text are folded and its last full stop taken away, as
TimeLens' own loader does, which makes the keys of its answers so: `video>>>query>>>[[start, end]]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.data.moments import Id, Query, Span
from fabula.documents.fields import Source
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments.fields import check_object, read_duration, read_window, read_windows

BENCH = '{video: {"duration", "spans": [[start, end], …], "queries": [text, …]}}'
LINE = '{"video_path", "duration", "events": [{"query", "span": [[start, end]]}]}'


def read_queries(source: Source) -> Iterator[Query]:
    each = read_lines(source) if source.document.lines else read_bench(source)
    for id, (video, text, windows, duration, type) in enumerate(each):
        yield Query(id, video, windows, duration, text, None, type)


Found = tuple[str, str, tuple[Span, ...], float | None, str | None]


def read_bench(source: Source) -> Iterator[Found]:
    root = source.mapping(source.document.tree(), "the root", hint=f"TimeLens-Bench is {BENCH}")
    for video, entry in root.items():
        entry = source.mapping(entry, "its entry", video, f"it is {BENCH}")
        source.unused(entry, {"duration", "spans", "queries"}, "videos")
        spans = source.listing(source.entry(entry, "spans", video), "spans", video)
        queries = source.listing(source.entry(entry, "queries", video), "queries", video)
        if len(spans) != len(queries):
            raise source.wrong(f"{len(queries)} queries and {len(spans)} spans", video, None, "a query has one span")
        duration = read_duration(entry, video, source)
        for i, (span, text) in enumerate(zip(spans, queries, strict=True)):
            window = read_window(span, f"spans[{i}]", video, source)
            yield video, tidy(text, f"queries[{i}]", video, source), (window,), duration, None


def read_lines(source: Source) -> Iterator[Found]:
    for at, entry in source.document.entries():
        entry = check_object(entry, at, source, LINE)
        video = source.text(source.entry(entry, "video_path", None, at), f"{at} video_path")
        source.unused(entry, {"source", "video_path", "duration", "events"}, "videos")
        duration = read_duration(entry, video, source)
        origin = entry.get("source")
        for i, event in enumerate(source.listing(source.entry(entry, "events", video, at), "events", video)):
            event = check_object(event, f"events[{i}]", source, LINE)
            source.unused(event, {"query", "span"}, "events")
            text = tidy(source.entry(event, "query", video), f"events[{i}] query", video, source)
            windows = read_windows(source.entry(event, "span", video), f"events[{i}] span", video, source)
            yield video, text, windows, duration, origin if isinstance(origin, str) else None


def tidy(text: Any, at: str, id: Id, source: Source) -> str:
    return " ".join(source.caption(text, at, id).split()).strip(".").strip()


FORMAT = Format(
    name="timelens",
    about="TimeLens-Bench {video: {duration, spans, queries}} and TimeLens-100K lines; ids are places, from 0",
    known_by=(
        HeadRule(all=("video_path", "events"), lines=True),
        HeadRule(begins=r'\s*\{\s*"[^"]*"\s*:\s*\{', all=("spans", "queries"), lines=False),
    ),
    main_task="grounding",
    holds="references",
    tasks=MOMENTS,
    pattern="*.json, *.jsonl",
    read_queries=read_queries,
    example='{"kite": {"duration": 30.5, "spans": [[0, 10.5]], "queries": ["a kite rises"]}}',
)
