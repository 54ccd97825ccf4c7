"""PLM-VideoBench's rows of dense captions (Cho et al., 2025): {uid, total_frames, dense_captions: [{start_frame, …}]}.

Times are places among the 32 frames that a model is shown (rows.py), not seconds: so are the answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabula.benchmarks.plm.rows import SHOWN, read_frames, read_scale, row_id
from fabula.data.stories import Event, Story
from fabula.documents.fields import Source, plain_caption
from fabula.io.answers.files import number_entries
from fabula.io.format import STORIES, Format, HeadRule

SHAPE = '{"uid", "total_frames", "dense_captions": [{"start_frame", "end_frame", "caption"}, …]}'
KNOWN = frozenset({"uid", "video", "masklet_id", "total_frames", "dense_captions"})


def read_stories(document: object, source: Source) -> Iterator[Story]:
    entries: Iterable[tuple[str, object]] = number_entries(document, source)
    for at, row in entries:
        row = source.mapping(row, at, hint=f"a row is {SHAPE}")
        id = str(row_id(row, at, source))
        scale = read_scale(row, id, at, source)
        listed = source.listing(source.entry(row, "dense_captions", id, at), f"{at} dense_captions", id)
        source.unused(row, KNOWN, "rows")
        yield Story(id, tuple(read_event(e, f"dense_captions[{i}]", id, scale, source) for i, e in enumerate(listed)))


def read_event(entry: object, at: str, id: str, scale: float, source: Source) -> Event:
    entry = source.mapping(entry, at, id, f"a row is {SHAPE}")
    words = source.entry(entry, "caption", id, at)
    caption = plain_caption(words) or source.caption(words, f"{at} caption", id)
    return Event(read_frames(entry, scale, id, at, source), caption)


FORMAT = Format(
    name="plm-rdcap",
    about=f"PLM-VideoBench's rows of dense captions, in places among {SHOWN} frames: {{uid, total_frames, "
    "dense_captions}",
    known_by=(HeadRule(all=("dense_captions", "total_frames")),),
    holds="references",
    tasks=STORIES,
    pattern="*.jsonl, *.json",
    read_stories=read_stories,
    example='{"uid": 1, "video": "kite.mp4", "masklet_id": 0, "total_frames": 64, '
    '"dense_captions": [{"start_frame": 0, "end_frame": 21, "caption": "A kite rises."}]}',
)
