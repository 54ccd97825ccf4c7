"""What a format is, of any kind of data: a name, what its files are called, how to read them, how to write them.

One file of a shelf per format, with its FORMAT (or FORMATS, where one file has two sides). A format has the readers of
what it holds and leaves the others out. `fabula list formats` is made of these and of nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fabula.core.notes import name_id
from fabula.documents.fields import Source

if TYPE_CHECKING:
    from fabula.data.moments import Queries, Query, Ranking, Rankings, VideoNumbers
    from fabula.data.questions import Response
    from fabula.data.regions import Form, Picture
    from fabula.data.stories import Corpus, Item, Story
    from fabula.documents.document import Document

Holds = Literal["references", "predictions", "either"]
STORIES = ("dense", "procedure")  # tasks that read stories
MOMENTS = ("moments", "highlights", "grounding")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRule:
    """What a file begins with, as data: the keys of its first entry, or its first characters."""

    all: tuple[str, ...] = ()  # keys that the entry has
    any: tuple[str, ...] = ()  # of which it has at least one
    none: tuple[str, ...] = ()  # of which it has none
    objects: tuple[str, ...] = ()  # of which at least one holds an object
    starts: str = ""  # how one of its keys starts
    where: tuple[str, tuple[str, ...]] | None = None  # a key, and the values it may have
    inside: bool = False  # the entry itself, or an object that it holds, has these keys
    lines: bool = False  # of JSON Lines alone
    begins: str = ""  # a pattern of the first characters

    def fits(self, entry: Mapping[str, Any]) -> bool:
        """Whether the first entry has this shape; what `lines` and `begins` ask for is seen by `knows`."""
        if self.inside and any(self.has_keys(v) for v in entry.values() if isinstance(v, dict)):
            return True
        return self.has_keys(entry)

    def has_keys(self, entry: Mapping[str, Any]) -> bool:
        keys = entry.keys()
        return (
            keys >= set(self.all)
            and (not self.any or not keys.isdisjoint(self.any))
            and keys.isdisjoint(self.none)
            and (not self.objects or any(isinstance(entry.get(key), dict) for key in self.objects))
            and (not self.starts or any(key.startswith(self.starts) for key in keys))
            and (self.where is None or str(entry.get(self.where[0])) in self.where[1])
        )

    def knows(self, head: Document, first: Callable[[Document], Mapping[str, Any]]) -> bool:
        """Whether a file begins so; `first` gives its first entry, and is asked where keys are."""
        if self.lines and not head.lines:
            return False
        if self.begins:
            return re.match(self.begins, head.text) is not None
        return self.fits(first(head))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format. Readers of whole documents get the document, be it from a file or not; the others open a file."""

    name: str
    about: str  # one line for `fabula list formats`
    holds: Holds
    tasks: tuple[str, ...]
    pattern: str = "*.json"  # what its files are called, "*.jsonl, *.json"; each may end in .gz besides
    example: str = ""  # a whole file as small as can be
    argument: str | None = None  # what `name:argument` chooses, for the formats that take one
    forms: tuple[Form, ...] = ()  # of boxes: the first unless another is declared
    guess: bool = True  # False: same shape as another format, used only when it is named
    known_by: tuple[HeadRule, ...] = ()  # how its files begin: one of these
    sniff: Callable[[Document], bool] | None = None  # what must hold besides; alone where no shape says it
    certain: tuple[HeadRule, ...] = ()  # files that begin so are of its kind beyond doubt
    shared: HeadRule | None = None  # where records of several kinds have one shape: those of this kind
    other_side: str = ""  # the format of predictions (of references) of the same files, where records hold both
    main_task: str = ""  # of several tasks that can read it, the one it is for
    order: str = ""  # its place in lists, where its name does not give it
    header: Callable[[Any], dict[str, object]] | None = None  # what stands beside the stories of a document
    opens: Callable[[Document], Any] | None = None  # how a document that is no JSON is got of its file
    gathers: Callable[[Path], Any] | None = None  # how a document is got of a folder, for data sets that are trees
    spoken: Literal["", "by reader", "otherwise"] = ""  # its stories are read from words; do they take reader=NAME?
    plain: str = ""  # what the kernel calls texts of it (documents/columns.py); "": it reads none

    # a document; of lines, an iterator of (line number, object)
    read_stories: Callable[[Any, Source], Iterator[Story]] | None = None
    read_items: Callable[[Iterator[tuple[int, Any]], Source, str], Iterator[Item]] | None = None
    read_captions: Callable[[Any, Source], Mapping[str | int, Any]] | None = None  # by image: a text, or several
    # a file
    read_queries: Callable[[Source], Iterator[Query | Queries]] | None = None
    read_rankings: Callable[[Source, VideoNumbers], Iterator[tuple[str, Ranking | Rankings]]] | None = None
    read_pictures: Callable[[Source, Form], Iterator[Picture]] | None = None
    read_sets: Callable[[Source], Mapping[str, Any]] | None = None
    read_labels: Callable[[Source], Mapping[str, tuple[str, ...]]] | None = None
    read_grouping: Callable[[Source], list[tuple[str, ...]]] | None = None
    read_responses: Callable[[Source], Iterator[Response]] | None = None

    # what a reader gave, as pieces of text; what is lost goes to the notes
    write: Callable[[Any, Source], Iterable[str]] | None = None

    @property
    def lines(self) -> bool:
        """JSON Lines: read, and written, as a stream."""
        return "*.jsonl" in self.pattern

    @property
    def whole(self) -> bool:
        """One JSON document; with `lines`, either."""
        return "*.json" in self.pattern.split(", ")


def note_losses(
    corpus: Corpus, target: Source, *, durations: bool = False, scores: bool = False, header: bool = True
) -> None:
    """Note what a format has no place for: True for each thing that will not be written."""
    if durations:
        for video, story in corpus.items():
            if story.duration is not None:
                target.notes.add("lost in writing: the durations of {n} videos", name_id(video))
    if scores:
        for video, story in corpus.items():
            for i, event in enumerate(story.events):
                if event.score is not None:
                    target.notes.add("lost in writing: the scores of {n} events", name_id(video, i))
    for video, story in corpus.items():
        for i, event in enumerate(story.events if story.columns is None else ()):
            if event.checklist is not None:
                target.notes.add("lost in writing: the checklists of {n} events", name_id(video, i))
    if corpus.categories:
        target.notes.add("lost in writing: the categories of {n} videos", count=len(corpus.categories))
    if header and corpus.external:
        target.notes.add(f"lost in writing: the header ({', '.join(map(repr, corpus.external))})"[:200])
