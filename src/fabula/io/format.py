"""What a format is: a name, how to know it, how to read it, how to write it. One file of this room per format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fabula.core.notes import named
from fabula.core.nouns import Corpus, Story
from fabula.io._fields import Source

Holds = Literal["references", "predictions", "either"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format. `sniff` looks at a parsed JSON document (or, with `lines`, at the first line's object)."""

    name: str
    about: str  # one line for `fabula list formats`
    holds: Holds
    sniff: Callable[[Any], bool]
    read: Callable[[Any, Source], Iterator[Story]]  # a document; with `lines`, an iterator of (line number, object)
    write: Callable[[Corpus, Source], Iterable[str]] | None = None  # pieces of text; what is lost goes to the notes
    lines: bool = False  # JSON Lines: read and written as a stream
    whole: bool = False  # with `lines`: may also be one JSON document, and then `read` gets that
    guess: bool = True  # False: same shape as another format, used only when it is named
    header: Callable[[Any], dict[str, object]] = lambda document: {}
    argument: str | None = None  # what `name:argument` chooses, for the formats that take one
    example: str = ""  # a whole file as small as can be


@dataclass(frozen=True, slots=True)
class Reader:
    """A line of `fabula list formats`. Files that are no Format list themselves by a tuple READERS of these."""

    name: str
    tasks: tuple[str, ...]
    holds: str
    pattern: str  # what its files are called; each may end in .gz besides
    about: str
    example: str  # a whole file as small as can be
    written: bool = False


def losses(
    corpus: Corpus, target: Source, *, durations: bool = False, scores: bool = False, header: bool = True
) -> None:
    """Note what a format has no place for: True for each thing that will not be written."""
    if durations:
        for video, story in corpus.items():
            if story.duration is not None:
                target.notes.add("lost in writing: the durations of {n} videos", named(video))
    if scores:
        for video, story in corpus.items():
            for i, event in enumerate(story.events):
                if event.score is not None:
                    target.notes.add("lost in writing: the scores of {n} events", named(video, i))
    if header and corpus.external:
        target.notes.add(f"lost in writing: the header ({', '.join(map(repr, corpus.external))})"[:200])
