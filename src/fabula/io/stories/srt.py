"""SubRip (.srt): a file a film, whose name is the film's id; a cue is an event. A folder of them is a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fabula.data.stories import Corpus, Story
from fabula.documents.fields import Source
from fabula.io.format import STORIES, Format
from fabula.io.subtitles.read import name_video, read_cues, read_events
from fabula.io.subtitles.story import list_lines
from fabula.io.subtitles.write import format_srt


def knows(head: object) -> bool:
    """The name of the file says it all."""
    return True


def read_stories(document: Any, source: Source) -> Iterator[Story]:
    found = read_cues(source, source.argument)
    yield Story(name_video(source.document), read_events(found, source))


def write_stories(corpus: Corpus, target: Source) -> Iterable[str]:
    if target.argument:
        target.notes.add(".srt files are written as UTF-8, whatever the encoding that was named: {n} files")
    yield format_srt(list_lines(corpus, target), target.notes)


FORMAT = Format(
    name="srt",
    about="SubRip captions, one file a film; a folder of them is a corpus",
    sniff=knows,
    holds="either",
    tasks=STORIES,
    pattern="*.srt",
    texts=True,
    argument="the encoding of files that are not UTF-8, such as cp1251",
    read_stories=read_stories,
    write=write_stories,
    example="1\n00:00:00,000 --> 00:00:10,500\nA kite rises.\n",
)
