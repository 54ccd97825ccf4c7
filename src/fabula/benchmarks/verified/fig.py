"""VERIFIED's fine-grained queries (Chen et al., NeurIPS 2024): Charades-FIG, DiDeMo-FIG, ActivityNet-FIG.

{"desc_id", "video", "duration", "time": [start, end], "cog_desc", "fig_desc", "fig_desc_score"}, one per line
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fabula.data.moments import Id, Queries, Query
from fabula.documents.fields import Source
from fabula.documents.records import Shape
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments.fields import read_duration, read_plain_queries, read_text, read_window

QUERY = '{"desc_id", "video", "duration", "time": [start, end], "fig_desc"}'
KEYS = {"id": "desc_id", "video": "video", "windows": "time", "duration": "duration", "text": "fig_desc"}
PLAIN = Shape(
    (
        ("desc_id", "id"),
        ("video", "name"),
        ("duration", "number"),
        ("time", "window"),
        ("cog_desc", "skip"),
        ("fig_desc", "text"),
        ("fig_desc_score", "skip"),
        ("branch", "skip"),  # of `fabula annotate export --kinds`
    )
)
KNOWN = frozenset(key for key, _ in PLAIN.fields)


def read_queries(source: Source) -> Iterator[Query | Queries]:
    return read_plain_queries(source, KEYS, PLAIN, partial(read_query, source), QUERY)


def read_query(source: Source, at: str, id: Id, entry: dict[str, object]) -> Query:
    video = source.text(source.entry(entry, "video", id, at), "video", id)
    time = read_window(source.entry(entry, "time", id, at), "time", id, source)
    source.unused(entry, KNOWN, "queries")
    return Query(id, video, (time,), read_duration(entry, id, source), read_text(entry, "fig_desc", id, source))


FORMAT = Format(
    name="verified-fig",
    about="VERIFIED's queries: {desc_id, video, duration, time, cog_desc, fig_desc, fig_desc_score}",
    known_by=(HeadRule(all=("desc_id", "time", "video")),),
    coarse="verified-cog",
    main_task="moments",
    holds="references",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_queries=read_queries,
    example='{"desc_id": 1, "video": "kite", "duration": 30.5, "time": [0, 10.5], "fig_desc": "a red kite rises"}',
)
