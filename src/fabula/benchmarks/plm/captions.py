"""PLM-VideoBench's rows of region captions (Cho et al., 2025), a line each: {uid, video, caption, start_frame, …}."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabula.benchmarks.plm.rows import row_id
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule

SHAPE = '{"uid", "video", "masklet_id", "total_frames", "caption", "start_frame", "end_frame"}'
KNOWN = frozenset({"uid", "video", "masklet_id", "total_frames", "caption", "start_frame", "end_frame"})


def read_rows(lines: Iterator[tuple[str, Any]], source: Source) -> dict[str | int, tuple[str, ...]]:
    """One reference a row; when it happens is what the model was told, and nothing that is scored."""
    found: dict[str | int, tuple[str, ...]] = {}
    for at, row in lines:
        row = source.mapping(row, at, hint=f"a row is {SHAPE}")
        id = row_id(row, at, source)
        if id in found:
            raise source.wrong("this uid stands twice", id, at, "keep one of the two rows")
        found[id] = (source.caption(source.entry(row, "caption", id, at), f"{at} caption", id),)
        source.unused(row, KNOWN, "rows")
    return found


FORMAT = Format(
    name="plm-rcap",
    about="PLM-VideoBench's rows of region captions: {uid, video, caption, start_frame, end_frame, total_frames}",
    known_by=(HeadRule(all=("uid", "caption")),),
    holds="references",
    tasks=("captions",),
    pattern="*.jsonl",
    read_captions=read_rows,
    example='{"uid": 1, "video": "kite.mp4", "masklet_id": 0, "total_frames": 64, "caption": "A kite rises.", '
    '"start_frame": 0, "end_frame": 21}',
)
