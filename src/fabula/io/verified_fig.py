"""VERIFIED's fine-grained queries (Chen et al., NeurIPS 2024): Charades-FIG, DiDeMo-FIG, ActivityNet-FIG.

{"desc_id", "video", "duration", "time": [start, end], "cog_desc", "fig_desc", "fig_desc_score"}, one per line
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabula.core.moments import Query
from fabula.io._fields import Source
from fabula.io._moments import MomentFormat, duration_of, id_of, object_of, text_of, window
from fabula.io._tables import line_objects

QUERY = '{"desc_id", "video", "duration", "time": [start, end], "fig_desc"}'
KNOWN = frozenset({"desc_id", "video", "duration", "time", "cog_desc", "fig_desc", "fig_desc_score"})


def queries(source: Source) -> Iterator[Query]:
    for number, entry in line_objects(source.path):
        at = f"line {number}"
        entry = object_of(entry, at, source, QUERY)
        id = id_of(entry, "desc_id", at, source)
        video = source.text(source.entry(entry, "video", id, at), "video", id)
        time = window(source.entry(entry, "time", id, at), "time", id, source)
        source.unused(entry, KNOWN, "queries")
        yield Query(id, video, (time,), duration_of(entry, id, source), text_of(entry, "fig_desc", id, source))


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
