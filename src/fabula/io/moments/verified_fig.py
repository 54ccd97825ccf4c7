"""VERIFIED's fine-grained queries (Chen et al., NeurIPS 2024): Charades-FIG, DiDeMo-FIG, ActivityNet-FIG.

{"desc_id", "video", "duration", "time": [start, end], "cog_desc", "fig_desc", "fig_desc_score"}, one per line
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fabula.core.moments import Id, Queries, Query
from fabula.io._fields import Source
from fabula.io._moments import MomentFormat, duration_of, plain_queries, text_of, window
from fabula.io._records import Shape

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
    )
)
KNOWN = frozenset(key for key, _ in PLAIN.fields)


def queries(source: Source) -> Iterator[Query | Queries]:
    return plain_queries(source, KEYS, PLAIN, partial(query, source), QUERY)


def query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    video = source.text(source.entry(entry, "video", id, at), "video", id)
    time = window(source.entry(entry, "time", id, at), "time", id, source)
    source.unused(entry, KNOWN, "queries")
    return Query(id, video, (time,), duration_of(entry, id, source), text_of(entry, "fig_desc", id, source))


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return "desc_id" in first and "time" in first and "video" in first


MOMENTS = MomentFormat(
    name="verified-fig",
    about="VERIFIED's queries: {desc_id, video, duration, time, cog_desc, fig_desc, fig_desc_score}",
    shape="lines",
    sniff=sniff,
    queries=queries,
    example='{"desc_id": 1, "video": "kite", "duration": 30.5, "time": [0, 10.5], "fig_desc": "a red kite rises"}',
)
