"""What is annotated: moments of videos with a coarse caption.

    {"desc_id" or "id", "video", "time": [start, end], "cog_desc" or "caption", "duration"}     one a line, .jsonl

Every other file of moments that `fabula score` reads (Charades-STA, DiDeMo, QVHighlights, …) is read as well; a query
with several windows is one moment, its first window.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.data.moments import Id
from fabula.documents.document import open_document
from fabula.documents.fields import JsonDict, Source
from fabula.documents.files import check_path, has_lines, read_objects

SHAPE = '{"desc_id", "video", "time": [start, end], "cog_desc", "duration"}'
IDS, WORDS = ("desc_id", "id"), ("cog_desc", "caption")


@dataclass(frozen=True, slots=True)
class Moment:
    """A span of a video and its coarse caption."""

    id: Id
    video: str
    start: float
    end: float
    caption: str
    duration: float | None = None  # of the video

    @property
    def key(self) -> str:
        """By content: two ids of one stretch with the same words are annotated once."""
        text = json.dumps([self.video, self.start, self.end, self.caption], ensure_ascii=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def read_moments(path: str | Path, format: str | None = None) -> Iterator[Moment]:
    """The moments of a file, streamed where it is of lines with coarse captions."""
    path = check_path(path)
    if format is None and has_lines(path):
        entries = read_objects(path)
        first = next(entries, None)
        if first is None:
            raise InputError("the file is empty", file=path, hint=f"its lines are {SHAPE}")
        head = first[1]
        if isinstance(head, dict) and any(key in head for key in WORDS):
            yield from check_ids(read_lines(path), path)
            return
    yield from check_ids(read_others(path, format), path)


def read_lines(path: Path) -> Iterator[Moment]:
    source = Source(open_document(path), noun="moment")
    for number, entry in read_objects(path):
        yield read_line(source.mapping(entry, f"line {number}", hint=f"a moment is {SHAPE}"), f"line {number}", source)


def read_line(entry: JsonDict, at: str, source: Source) -> Moment:
    name = next((key for key in IDS if key in entry), IDS[0])
    id = source.identity(source.entry(entry, name, None, at), f"{at} {name}")
    video = source.text(source.entry(entry, "video", id, at), "video", id)
    span = source.segment(source.entry(entry, "time", id, at), "time", id)
    words = next((key for key in WORDS if key in entry), WORDS[0])
    caption = source.caption(source.entry(entry, words, id, at), words, id).strip()
    if not caption:
        raise source.wrong("an empty caption", id, words, "there is nothing to enrich: leave the moment out")
    length = entry.get("duration")
    duration = None if length is None else source.duration(length, id)
    return check_moment(Moment(id, video, span.start, span.end, caption, duration), source)


def check_moment(moment: Moment, source: Source) -> Moment:
    if not 0 <= moment.start < moment.end:
        raise source.wrong(
            f"from {moment.start:g} to {moment.end:g} s",
            moment.id,
            "time",
            "a moment begins at 0 or later and ends after that",
        )
    return moment


def read_others(path: Path, format: str | None) -> Iterator[Moment]:
    from fabula.io.moments import read_queries

    source = Source(open_document(path), noun="moment")
    for query in read_queries([path], Notes(), format, judged=False).values():
        if not query.text or not query.text.strip():
            raise source.wrong("no words", query.id, None, "a moment needs a coarse caption")
        if not query.windows:
            raise source.wrong("no window", query.id, None, "a moment has a start and an end: leave the query out")
        start, end = query.windows[0]
        yield check_moment(Moment(query.id, query.video, start, end, query.text.strip(), query.duration), source)


def check_ids(moments: Iterable[Moment], path: Path) -> Iterator[Moment]:
    known: set[Id] = set()
    for moment in moments:
        if moment.id in known:
            raise InputError("this id stands twice", file=path, video=moment.id, noun="moment", hint="ids are unique")
        known.add(moment.id)
        yield moment
