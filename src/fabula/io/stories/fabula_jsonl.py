"""Fabula's own JSON Lines: one video per line, {"id", "duration"?, "events": [{"start", "end", "caption"?, "score"?}]}.

The only format that carries all that a corpus knows of its videos, and the only one that is streamed both ways. The
same as Parquet: documents/parquet.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.errors import InputError
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.documents.columns import BOM, scan_stories
from fabula.documents.fields import Source, plain_caption, plain_number, plain_segment
from fabula.documents.files import LineBytes, cut_lines, encode_json, parse_json
from fabula.io.format import STORIES, Format, note_losses

SHAPE = '{"id": video, "duration": s, "events": [{"start": s, "end": s, "caption": text, "score": x}, …]}'
KNOWN = frozenset({"id", "duration", "events"})
KNOWN_OF_EVENT = frozenset({"start", "end", "caption", "score"})


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    seen: dict[str, int] = {}
    numbered = read_chunks(document, source) if isinstance(document, LineBytes) else read_numbered(document, source)
    for number, story in numbered:
        if story.id in seen:
            raise refuse_twin(source, story.id, number, seen[story.id])
        seen[story.id] = number
        yield story


def refuse_twin(source: Source, video: str, number: int, first: int) -> InputError:
    problem = f"this video id stands twice, first on {source.unit} {first}"
    return source.wrong(problem, video, source.document.place(number), "keep one of the two")


def read_chunks(chunks: LineBytes, source: Source) -> Iterator[tuple[int, Story]]:
    """`read_numbered` of bytes: what is plain through the kernel, what is not by the standard library."""
    for before, data in chunks:
        read = scan_stories(data, len(BOM) if before == 0 and data.startswith(BOM) else 0, "lines")
        if read is None:
            yield from read_numbered(
                ((n, parse_json(text, chunks.named, n)) for n, text in cut_lines(data, before, chunks.named)), source
            )
            continue
        read.count_unused("lines", source)
        yield from zip((read.lines + (before + 1)).tolist(), read.stories(), strict=True)


def read_numbered(document: Any, source: Source) -> Iterator[tuple[int, Story]]:
    """Each line's number and story. Nothing is kept, so that an id that stands twice is not noticed here."""
    for number, line in document:
        at = source.document.place(number)
        line = source.mapping(line, at, None, f"a line is {SHAPE}")
        video = source.text(source.entry(line, "id", None, at), f"{at} id", None, "an id is a JSON string")
        duration = source.duration(line["duration"], video, f"{at} duration") if "duration" in line else None
        entries = source.listing(source.entry(line, "events", video, at), f"{at} events", video, f"a line is {SHAPE}")
        source.unused(line, KNOWN, "videos")
        yield (
            number,
            Story(video, tuple(read_event(e, number, i, video, source) for i, e in enumerate(entries)), duration),
        )


def read_event(entry: Any, number: int, i: int, video: str, source: Source) -> Event:
    """One event; its place is spelled out only where something is to be said about it."""
    if type(entry) is dict:
        segment = plain_segment([entry.get("start"), entry.get("end")])
        caption, score = plain_caption(entry.get("caption")), plain_number(entry.get("score"))
        if segment is not None and 2 + (caption is not None) + (score is not None) == len(entry):
            return Event(segment, caption, score)
    at = f"{source.document.place(number)} events[{i}]"
    entry = source.mapping(entry, at, video, 'an event is {"start", "end", "caption", "score"}')
    start, end = source.entry(entry, "start", video, at), source.entry(entry, "end", video, at)
    segment = Segment(source.number(start, f"{at} start", video), source.number(end, f"{at} end", video))
    caption = source.caption(entry["caption"], f"{at} caption", video) if "caption" in entry else None
    score = source.number(entry["score"], f"{at} score", video) if "score" in entry else None
    source.unused(entry, KNOWN_OF_EVENT, "events")
    return Event(segment, caption, score)


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    note_losses(corpus, target)
    for video, story in corpus.items():
        yield encode_json(story.to_dict() | {"id": video}, target.document)


FORMAT = Format(
    name="fabula",
    about="Fabula's own JSON Lines, one video per line: {id, duration, events: [{start, end, caption, score}]}",
    holds="either",
    tasks=STORIES,
    read_stories=read_stories,
    write=write_stories,
    pattern="*.jsonl",
    plain="lines",
    example='{"id": "v_kite", "duration": 30.5, "events": [{"start": 0, "end": 10.5, "caption": "A kite rises."}]}',
)
