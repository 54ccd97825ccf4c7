"""The nouns: Segment, Event, Story, Corpus; Item. Frozen; seconds everywhere; ids as they were given."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError

T = TypeVar("T")
Checklist = tuple[tuple[str, tuple[str, ...]], ...]  # dimension by dimension, the points that a full account makes
DIMENSIONS = (
    "segment_detail_caption",
    "video_background",
    "acoustics_content",
    "shooting_style",
    "speech_content",
    "camera_state",
)  # of checklists: SodaM's (Yao et al., ICML 2026)


class once(Generic[T]):  # noqa: N801  (a decorator)
    """A value made when first asked for and kept: functools.cached_property without its lock.

    Up to Python 3.11 that lock costs more than what stories make of themselves; two threads may make a value twice.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> once[T] | T:
        if instance is None:
            return self
        made = self.make(instance)
        object.__setattr__(instance, self.name, made)  # found there the next time, before this is asked
        return made


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time, in seconds. Model output may hold one that is no stretch at all: see `sound`."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start

    @property
    def sound(self) -> bool:
        """False for reversed, zero-length, negative and endless segments: they match nothing."""
        return 0 <= self.start < self.end < inf


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens: when, and in which words (None where the data has no words)."""

    segment: Segment
    caption: str | None = None
    score: float | None = None  # the system's own confidence, where it gives one
    checklist: Checklist | None = None  # of a reference, where its file has one; columns have no place for it


def count_points(checklist: Checklist) -> dict[str, int]:
    """How many points each dimension of SodaM has."""
    held = {dimension: len(points) for dimension, points in checklist}
    return {dimension: held.get(dimension, 0) for dimension in DIMENSIONS}


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The events of many stories end to end, without an object for each."""

    spans: NDArray[np.float64]  # [N, 2] starts and ends; nobody writes into them
    captions: list[str | None]  # [N]
    scores: NDArray[np.float64] | None = None  # [N], NaN where there is none; None: nowhere

    def events(self, first: int, last: int) -> tuple[Event, ...]:
        """Those from `first` up to `last`."""
        segments = [Segment(start, end) for start, end in self.spans[first:last].tolist()]
        if self.scores is None:
            return tuple(map(Event, segments, self.captions[first:last]))
        scores = [None if x != x else x for x in self.scores[first:last].tolist()]
        return tuple(map(Event, segments, self.captions[first:last], scores))


class LateEvents:
    """The events of a story of columns, made when somebody asks for them; of a field, a default."""

    def __get__(self, story: Story | None, owner: type) -> tuple[Event, ...]:
        if story is None:
            return ()
        if story.columns is None:
            raise AttributeError("events")
        made = story.columns.events(story.first, story.last)
        object.__setattr__(story, "events", made)
        return made


class InColumns:
    """Where the events of a story stand that was made by `Story.of_columns`: from `first` up to `last`."""

    columns: Columns | None = None
    first: int = 0
    last: int = 0


@dataclass(frozen=True)  # no slots: spans and captions are kept once made
class Story(InColumns):
    """What happens in one video, in the order in which the file tells it."""

    id: str
    events: tuple[Event, ...] = cast("tuple[Event, ...]", LateEvents())
    duration: float | None = None

    @classmethod
    def of_columns(cls, id: str, columns: Columns, first: int, last: int, duration: float | None = None) -> Story:
        """The story that these columns tell from `first` up to `last`: the same as one of such events."""
        story, put = cls.__new__(cls), object.__setattr__
        put(story, "id", id)
        put(story, "duration", duration)
        put(story, "columns", columns)
        put(story, "first", first)
        put(story, "last", last)
        return story

    def __getstate__(self) -> dict[str, object]:
        return {"id": self.id, "events": self.events, "duration": self.duration}  # not the columns of all the others

    def to_dict(self) -> dict[str, Any]:
        """As a line of Fabula's own format."""
        found: dict[str, Any] = {"id": self.id} | ({} if self.duration is None else {"duration": self.duration})
        found["events"] = [
            {"start": e.segment.start, "end": e.segment.end}
            | ({} if e.caption is None else {"caption": e.caption})
            | ({} if e.score is None else {"score": e.score})
            for e in self.events
        ]
        return found

    def __len__(self) -> int:
        return len(self.events) if self.columns is None else self.last - self.first

    @once
    def spans(self) -> NDArray[np.float64]:
        """Starts and ends. [N, 2]"""
        if self.columns is not None:
            return self.columns.spans[self.first : self.last]
        return np.array([(e.segment.start, e.segment.end) for e in self.events], dtype=np.float64).reshape(-1, 2)

    @property
    def words(self) -> list[str | None]:
        """What every event says; None where it says nothing."""
        if self.columns is not None:
            return self.columns.captions[self.first : self.last]
        return [e.caption for e in self.events]

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """The system's own confidence in every event, NaN where it gives none; None where it gives none at all. [N]"""
        if self.columns is not None:
            return None if self.columns.scores is None else self.columns.scores[self.first : self.last]
        said = [e.score for e in self.events]
        return None if said.count(None) == len(said) else np.array([nan if x is None else x for x in said])

    @once
    def captions(self) -> list[str]:
        """The words of every event; an error where there are none."""
        words: list[Any] = self.words
        if None in words:
            raise InputError(
                f"{words.count(None)} of {len(words)} events have no caption",
                video=self.id,
                hint="a metric that compares captions needs them; SODA_d, mIoU and PRF do not",
            )
        return words

    def renamed(self, id: str) -> Story:
        """The same under another id."""
        if self.columns is None:
            return Story(id, self.events, self.duration)
        return Story.of_columns(id, self.columns, self.first, self.last, self.duration)

    def in_order(self) -> Story:
        """The same story told in time, whatever the file's order: by start, then end, then words (`order`)."""
        return self if self.sorted_in_time is None else self.sorted_in_time

    def by_start(self) -> Story:
        """Sorted by start alone, as published evaluators sort; on ties the file's order stays."""
        return self if self.sorted_by_start is None else self.sorted_by_start

    @once
    def sorted_in_time(self) -> Story | None:
        """Kept, for many rules read it; None where this story stands so already."""
        return self.rearranged(self.order)

    @once
    def sorted_by_start(self) -> Story | None:
        return self.sorted_in_time if self.start_order == self.order else self.rearranged(self.start_order)

    def rearranged(self, places: list[int]) -> Story | None:
        """The events at these places; None where they stand so already."""
        if places == list(range(len(places))):
            return None
        if self.columns is None:
            return Story(self.id, tuple([self.events[i] for i in places]), self.duration)
        words, scores = self.words, self.scores
        columns = Columns(self.spans[places], [words[i] for i in places], None if scores is None else scores[places])
        return Story.of_columns(self.id, columns, 0, len(places), self.duration)

    @once
    def order(self) -> list[int]:
        """Where each event of `in_order` stands in this story.

        What start and end leave open the words decide, so that a shuffled copy of a story is told as the story is:
        events that are still equal are the same event.
        """
        if self.columns is None:
            keys = [time_key(e) for e in self.events]
        else:
            keys = [(*span, c or "") for span, c in zip(self.spans.tolist(), self.words, strict=True)]
        return sorted(range(len(keys)), key=keys.__getitem__)

    @once
    def start_order(self) -> list[int]:
        """Where each event of `by_start` stands in this story."""
        starts = [e.segment.start for e in self.events] if self.columns is None else self.spans[:, 0].tolist()
        return sorted(range(len(starts)), key=starts.__getitem__)


def time_key(event: Event) -> tuple[float, float, str, list[tuple[str, list[str]]]]:
    """What events are ordered by: start, end, words; and the points of a checklist, whatever their order."""
    points = sorted((dimension, sorted(told)) for dimension, told in event.checklist or ())
    return event.segment.start, event.segment.end, event.caption or "", points


@dataclass(frozen=True, slots=True)
class Corpus(Mapping[str, Story]):
    """Stories by video id, in file order, and where they came from."""

    stories: Mapping[str, Story]
    name: str = ""
    format: str = ""
    external: Mapping[str, object] = field(default_factory=dict)  # a submission's header, written back as read
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what else predictions may call a video
    categories: Mapping[str, str] = field(default_factory=dict)  # of videos, where the file has any

    def __getitem__(self, id: str) -> Story:
        return self.stories[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.stories)

    def __len__(self) -> int:
        return len(self.stories)

    def __contains__(self, id: object) -> bool:
        return id in self.stories

    @overload
    def get(self, id: str, default: None = None, /) -> Story | None: ...
    @overload
    def get(self, id: str, default: Story, /) -> Story: ...
    @overload
    def get(self, id: str, default: T, /) -> Story | T: ...
    def get(self, id: str, default: Any = None, /) -> Any:
        return self.stories.get(id, default)

    def items(self) -> ItemsView[str, Story]:
        return self.stories.items()

    def values(self) -> ValuesView[Story]:
        return self.stories.values()

    @property
    def captioned(self) -> bool:
        """True when at least one event says something."""
        return any(c for story in self.stories.values() for c in story.words)

    @property
    def events(self) -> int:
        return sum(len(story) for story in self.stories.values())

    @property
    def spans(self) -> NDArray[np.float64]:
        """Those of all stories, end to end. [N, 2]"""
        return join_spans(self.stories.values())


Run = tuple["Columns | None", int, int, Story]  # columns, from where to where; or, without columns, a story


def find_runs(stories: Iterable[Story]) -> list[Run]:
    """Stories that stand end to end in the same columns are one run of them."""
    runs: list[Run] = []
    columns: Columns | None = None
    first = last = 0
    for story in stories:
        if story.columns is columns and story.first == last and columns is not None:
            last = story.last
            continue
        if columns is not None:
            runs.append((columns, first, last, story))
        columns, first, last = story.columns, story.first, story.last
        if columns is None:
            runs.append((None, 0, 0, story))
    if columns is not None:
        runs.append((columns, first, last, story))
    return runs


def join_spans(stories: Iterable[Story]) -> NDArray[np.float64]:
    """The spans of all stories, end to end. [ΣN, 2]"""
    runs = find_runs(stories)
    parts = [story.spans if columns is None else columns.spans[first:last] for columns, first, last, story in runs]
    return np.concatenate(parts) if parts else np.zeros((0, 2))


def join_words(stories: Iterable[Story]) -> list[str | None]:
    """The words of all stories, end to end. [ΣN]"""
    words: list[str | None] = []
    for columns, first, last, story in find_runs(stories):
        words += story.words if columns is None else columns.captions[first:last]
    return words


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate caption and what it is compared with. The id is whatever the file gives, number or text."""

    id: str | int
    candidate: str | None  # None where a system left the item out
    references: tuple[str, ...]
    group: str | None = None  # the video that it is a segment of
