"""TVR's queries (Lei et al., ECCV 2020), one per line: {"desc_id", "vid_name", "ts", "duration", "desc", "type"}.

`ts` is [start, end], or a list of them, one per annotator, as TVR's evaluator takes DiDeMo.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from fabula.data.moments import Id, Queries, Query
from fabula.documents.fields import Source
from fabula.documents.records import Shape
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments.fields import read_duration, read_plain_queries, read_text, read_type, read_window, read_windows

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


def read_queries(source: Source) -> Iterator[Query | Queries]:
    return read_plain_queries(source, KEYS, PLAIN, partial(read_query, source), QUERY)


def read_query(source: Source, at: str, id: Id, entry: dict[str, Any]) -> Query:
    if "ts" not in entry or "vid_name" not in entry:
        hint = "a test set without its answers cannot be scored"
        raise source.wrong(f"no {'ts' if 'vid_name' in entry else 'vid_name'!r}", id, at, hint)
    video = source.text(entry["vid_name"], "vid_name", id)
    ts = entry["ts"]
    several = isinstance(ts, list) and bool(ts) and isinstance(ts[0], list)
    found = read_windows(ts, "ts", id, source) if several else (read_window(ts, "ts", id, source),)
    source.unused(entry, KNOWN, "queries")
    length, text = read_duration(entry, id, source), read_text(entry, "desc", id, source)
    return Query(id, video, found, length, text, None, read_type(entry))


FORMAT = Format(
    name="tvr",
    about="TVR queries, one per line: {desc_id, vid_name, ts, duration, desc}; several windows as in DiDeMo",
    known_by=(HeadRule(all=("desc_id",), none=("predictions", "time"), lines=True),),
    main_task="moments",
    holds="references",
    tasks=MOMENTS,
    pattern="*.jsonl",
    read_queries=read_queries,
    example='{"desc_id": 1, "vid_name": "kite", "ts": [0, 10.5], "duration": 30.5, "desc": "a kite rises"}',
)
