"""WebVTT (.vtt; W3C, 2019): a file a film, whose name is the film's id; a cue is an event. A folder is a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.core.registry import key
from fabula.data.stories import Corpus, Story
from fabula.documents.fields import Source
from fabula.io.format import STORIES, Format
from fabula.io.subtitles.read import name_video, read_cues, read_events
from fabula.io.subtitles.story import list_lines
from fabula.io.subtitles.write import KINDS, format_vtt


def knows(head: object) -> bool:
    """The name of the file says it all."""
    return True


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    encoding = None if source.argument in KINDS else source.argument
    yield Story(name_video(source.document), read_events(read_cues(source, encoding), source))


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    kind = None if target.argument is None else key(target.argument)
    yield format_vtt(list_lines(corpus, target), target.notes, kind=kind)


FORMAT = Format(
    name="vtt",
    about="WebVTT captions, chapters or descriptions, one file a film; a folder of them is a corpus",
    sniff=knows,
    holds="either",
    tasks=STORIES,
    pattern="*.vtt",
    texts=True,
    argument="chapters, captions, subtitles or descriptions to write; the encoding of files that are not UTF-8",
    read_stories=read_stories,
    write=write_stories,
    example="WEBVTT\n\n00:00:00.000 --> 00:00:10.500\nA kite rises.\n",
)
