"""TVR's queries (Lei et al., ECCV 2020), one per line: {"desc_id", "vid_name", "ts", "duration", "desc"}.

`ts` is [start, end], or a list of them, one per annotator, as TVR's evaluator takes DiDeMo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabula.core.moments import Query
from fabula.io._fields import Source
from fabula.io._moments import MomentFormat, duration_of, id_of, object_of, text_of, window, windows
from fabula.io._tables import line_objects

QUERY = '{"desc_id", "vid_name", "ts": [start, end], "duration", "desc"}'
KNOWN = frozenset({"desc_id", "vid_name", "ts", "duration", "desc", "type"})


def queries(source: Source) -> Iterator[Query]:
    for number, entry in line_objects(source.path):
        at = f"line {number}"
        entry = object_of(entry, at, source, QUERY)
        id = id_of(entry, "desc_id", at, source)
        if "ts" not in entry or "vid_name" not in entry:
            hint = "a test set without its answers cannot be scored"
            raise source.wrong(f"no {'ts' if 'vid_name' in entry else 'vid_name'!r}", id, at, hint)
        video = source.text(entry["vid_name"], "vid_name", id)
        ts = entry["ts"]
        several = isinstance(ts, list) and bool(ts) and isinstance(ts[0], list)
        found = windows(ts, "ts", id, source) if several else (window(ts, "ts", id, source),)
        source.unused(entry, KNOWN, "queries")
        yield Query(id, video, found, duration_of(entry, id, source), text_of(entry, "desc", id, source))


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
