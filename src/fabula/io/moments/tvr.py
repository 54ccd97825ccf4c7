"""TVR's queries (Lei et al., ECCV 2020), one per line: {"desc_id", "vid_name", "ts", "duration", "desc", "type"}.

`ts` is [start, end], or a list of them, one per annotator, as TVR's evaluator takes DiDeMo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fabula.core.moments import Id, Queries, Query
from fabula.io._fields import Source
from fabula.io._moments import MomentFormat, duration_of, plain_queries, text_of, type_of, window, windows
from fabula.io._records import Shape

QUERY = '{"desc_id", "vid_name", "ts": [start, end], "duration", "desc"}'
KEYS = {"id": "desc_id", "video": "vid_name", "windows": "ts", "duration": "duration", "text": "desc", "type": "type"}
PLAIN = Shape(
    (
        ("vid_name", "name"),
        ("duration", "number"),
        ("ts", "either"),
        ("desc", "text"),
        ("type", "text"),
        ("desc_id", "id"),
    )
)
KNOWN = frozenset(KEYS.values())


def queries(source: Source) -> Iterator[Query | Queries]:
    return plain_queries(source, KEYS, PLAIN, partial(query, source), QUERY)


def query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    if "ts" not in entry or "vid_name" not in entry:
        hint = "a test set without its answers cannot be scored"
        raise source.wrong(f"no {'ts' if 'vid_name' in entry else 'vid_name'!r}", id, at, hint)
    video = source.text(entry["vid_name"], "vid_name", id)
    ts = entry["ts"]
    several = isinstance(ts, list) and bool(ts) and isinstance(ts[0], list)
    found = windows(ts, "ts", id, source) if several else (window(ts, "ts", id, source),)
    source.unused(entry, KNOWN, "queries")
    length, text = duration_of(entry, id, source), text_of(entry, "desc", id, source)
    return Query(id, video, found, length, text, None, type_of(entry))


def sniff(text: str, first: Mapping[str, Any]) -> bool:
    return "desc_id" in first and "predictions" not in first and "time" not in first


MOMENTS = MomentFormat(
    name="tvr",
    about="TVR queries, one per line: {desc_id, vid_name, ts, duration, desc}; several windows as in DiDeMo",
    shape="lines",
    sniff=sniff,
    queries=queries,
    example='{"desc_id": 1, "vid_name": "kite", "ts": [0, 10.5], "duration": 30.5, "desc": "a kite rises"}',
)
