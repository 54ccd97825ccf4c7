"""What a format is, of any kind of data: a name, what its files are called, how to read them, how to write them.

One file of a shelf per format, with its FORMAT (or FORMATS, where one file has two sides). A format has the readers of
what it holds and leaves the others out. `fabula list formats` is made of these and of nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

    all: tuple[str, ...] = ()  # keys that the object has
    any: tuple[str, ...] = ()  # of which it has at least one
    objects: tuple[str, ...] = ()  # of which at least one holds an object
    lists: tuple[str, ...] = ()  # of which at least one holds a list
    texts: tuple[str, ...] = ()  # of which at least one holds text
    only: bool = False  # it has no other keys than `all`
    starts: str = ""  # how one of its keys starts
    where: tuple[str, tuple[str, ...]] | None = None  # a key, and the values it may have
    none: tuple[str, ...] = ()  # keys that the first entry (with `at`: the document) does not have
    inside: bool = False  # the entry itself, or an object that it holds, has these keys
    at: str = ""  # which object of the document, not the first entry: see `find_objects`
    lines: bool | None = None  # True: of JSON Lines alone; False: never of them
    table: bool = False  # of tables alone, whose keys are the columns
    begins: str = ""  # a pattern of the first characters, among which the keys stand in quotes

    def fits(self, entry: Mapping[str, Any]) -> bool:
        """Whether the first entry has this shape."""
        if not entry.keys().isdisjoint(self.none):
            return False
        inner = entry.values() if self.inside else ()
        return self.has_keys(entry) or any(self.has_keys(v) for v in inner if isinstance(v, dict))

    def has_keys(self, entry: Mapping[str, Any]) -> bool:
        keys = entry.keys()
        kinds = ((self.objects, dict), (self.lists, list), (self.texts, str))
        return (
            keys >= set(self.all)
            and (not self.any or not keys.isdisjoint(self.any))
            and all(not names or any(isinstance(entry.get(n), kind) for n in names) for names, kind in kinds)
            and (not self.only or len(keys) == len(self.all))
            and (not self.starts or any(key.startswith(self.starts) for key in keys))
            and (self.where is None or str(entry.get(self.where[0])) in self.where[1])
        )

    def knows(self, head: Document, first: Callable[[Document], Mapping[str, Any]]) -> bool:
        """Whether a file begins so; `first` finds its first entry."""
        if (self.lines is not None and self.lines != head.lines) or (self.table and not head.is_table):
            return False
        if self.begins:
            quoted = {name: f'"{name}"' in head.text for name in (*self.all, *self.none)}
            as_asked = all(quoted[name] for name in self.all) and not any(quoted[name] for name in self.none)
            return as_asked and re.match(self.begins, head.text) is not None
        if self.at:
            root = head.sample
            fits = isinstance(root, dict) and root.keys().isdisjoint(self.none)
            return fits and any(self.has_keys(o) for o in find_objects(root, self.at) if isinstance(o, dict))
        return self.fits(dict.fromkeys(head.header) if head.is_table else first(head))


def find_objects(root: Any, at: str) -> list[Any]:
    """What stands at a place of a document, "/results/*0": a key, or

    *   every value of an object      0   the first element of a list
    *0  the first element of an object's first value, empty lists aside
    """
    found = [root]
    for step in at.strip("/").split("/") if at != "/" else ():
        found = [inner for value in found for inner in take_step(value, step)]
    return found


def take_step(value: Any, step: str) -> Iterable[Any]:
    if step == "0":
        return value[:1] if isinstance(value, list) else ()
    if not isinstance(value, dict):
        return ()
    if step == "*":
        return value.values()
    if step == "*0":
        return take_step(next((v for v in value.values() if v != []), None), "0")
    return [value[step]] if step in value else ()


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
    free_text: HeadRule | None = None  # lines of answers in words, which may be of other kinds as well
    other_side: str = ""  # the format of predictions (of references) of the same files, where records hold both
    coarse: str = ""  # the format that reads the same files with their coarse captions as the texts of queries
    main_task: str = ""  # of several tasks that can read it, the one it is for
    order: str = ""  # its place in lists, where its name does not give it
    header: Callable[[Any], dict[str, object]] | None = None  # what stands beside the stories of a document
    gathers: Callable[[Path], Any] | None = None  # how a document is got of a folder, for data sets that are trees
    spoken: Literal["", "by reader", "otherwise"] = ""  # its stories are read from words; do they take reader=NAME?
    texts: bool = False  # a file is text of one film, whose id is the file's name; read and written as documents
    plain: str = ""  # what the kernel calls texts of it (documents/columns.py); "": it reads none

    # what a document holds; of lines, an iterator of (place, object), of tables a list of rows
    read_stories: Callable[[Any, Source], Iterator[Story]] | None = None
    read_items: Callable[[Iterable[tuple[str, Any]], Source], Iterator[Item]] | None = None
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
    # rankings of several lists, each with its list, where a corrected copy of such a file is wanted
    write_lists: Callable[[Sequence[tuple[str, Ranking]], VideoNumbers, Source], Iterable[str]] | None = None

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
        for i, event in enumerate(story.events if story.last is None else ()):
            if event.checklist is not None:
                target.notes.add("lost in writing: the checklists of {n} events", name_id(video, i))
    if corpus.categories:
        target.notes.add("lost in writing: the categories of {n} videos", count=len(corpus.categories))
    if header and corpus.external:
        target.notes.add(f"lost in writing: the header ({', '.join(map(repr, corpus.external))})"[:200])
