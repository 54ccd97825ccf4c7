"""The nouns: Segment, Event, Story, Corpus; Item. Frozen; seconds everywhere; ids as they were given."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import inf, nan
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError

Checklist = tuple[tuple[str, tuple[str, ...]], ...]  # dimension by dimension, the points that a full account makes
DIMENSIONS = (
    "segment_detail_caption",
    "video_background",
    "acoustics_content",
    "shooting_style",
    "speech_content",
    "camera_state",
)  # of checklists: SodaM's (Yao et al., ICML 2026)


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
    counts = {dimension: len(points) for dimension, points in checklist}
    return {dimension: counts.get(dimension, 0) for dimension in DIMENSIONS}


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
        if story.last is None:
            raise AttributeError("events")
        events = story.columns.events(story.first, story.last)
        object.__setattr__(story, "events", events)
        return events


class InColumns:
    """Where the events of a story stand in its columns: from `first` up to `last`, or all of them."""

    first: int = 0
    last: int | None = None  # None: the story was made of events, and its columns are its own


@dataclass(frozen=True)  # no slots: columns and orders are cached
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

    def to_dict(self) -> dict[str, object]:
        """As a line of Fabula's own format."""
        found: dict[str, object] = {"id": self.id} | ({} if self.duration is None else {"duration": self.duration})
        found["events"] = [
            {"start": e.segment.start, "end": e.segment.end}
            | ({} if e.caption is None else {"caption": e.caption})
            | ({} if e.score is None else {"score": e.score})
            for e in self.events
        ]
        return found

    def __len__(self) -> int:
        return len(self.events) if self.last is None else self.last - self.first

    @cached_property
    def columns(self) -> Columns:
        """Those that it stands in, maybe with other stories."""
        spans = np.array([(e.segment.start, e.segment.end) for e in self.events], dtype=np.float64).reshape(-1, 2)
        scores = [e.score for e in self.events]
        unscored = scores.count(None) == len(scores)
        found = None if unscored else np.array([nan if x is None else x for x in scores])
        return Columns(spans, [e.caption for e in self.events], found)

    @property
    def spans(self) -> NDArray[np.float64]:
        """Starts and ends. [N, 2]"""
        return self.columns.spans[self.first : self.last]

    @property
    def words(self) -> list[str | None]:
        """What every event says; None where it says nothing."""
        return self.columns.captions[self.first : self.last]

    @property
    def scores(self) -> NDArray[np.float64] | None:
        """The system's own confidence in every event, NaN where it gives none; None where it gives none at all. [N]"""
        return None if self.columns.scores is None else self.columns.scores[self.first : self.last]

    @cached_property
    def captions(self) -> list[str]:
        """The words of every event; an error where there are none."""
        words = self.words
        if None in words:
            raise InputError(
                f"{words.count(None)} of {len(words)} events have no caption",
                video=self.id,
                hint="a metric that compares captions needs them; SODA_d, mIoU and PRF do not",
            )
        return cast("list[str]", words)

    def renamed(self, id: str) -> Story:
        """The same under another id."""
        if self.last is None:
            return Story(id, self.events, self.duration)
        return Story.of_columns(id, self.columns, self.first, self.last, self.duration)

    def part(self, start: int, end: int) -> Story:
        """Some of its events, in their order."""
        if self.last is None:
            return Story(self.id, self.events[start:end], self.duration)
        first, last = self.first + start, min(self.last, self.first + end)
        return Story.of_columns(self.id, self.columns, first, last, self.duration)

    def in_order(self) -> Story:
        """The same story told in time, whatever the file's order: by start, then end, then words (`order`)."""
        return self.rearranged(self.order)

    def by_start(self) -> Story:
        """Sorted by start alone, as published evaluators sort; on ties the file's order stays."""
        return self.rearranged(self.start_order)

    def rearranged(self, places: list[int]) -> Story:
        """The events at these places; itself where they stand so already."""
        if places == list(range(len(self))):
            return self
        if self.last is None:
            return Story(self.id, tuple([self.events[i] for i in places]), self.duration)
        words, scores = self.words, self.scores
        columns = Columns(self.spans[places], [words[i] for i in places], None if scores is None else scores[places])
        return Story.of_columns(self.id, columns, 0, len(places), self.duration)

    @cached_property
    def order(self) -> list[int]:
        """Where each event of `in_order` stands in this story.

        What start and end leave open the words decide, so that a shuffled copy of a story is told as the story is:
        events that are still equal are the same event.
        """
        if self.last is None:
            return sorted(range(len(self)), key=[time_key(e) for e in self.events].__getitem__)
        keys = [(*span, c or "") for span, c in zip(self.spans.tolist(), self.words, strict=True)]
        return sorted(range(len(keys)), key=keys.__getitem__)

    @cached_property
    def start_order(self) -> list[int]:
        """Where each event of `by_start` stands in this story."""
        return sorted(range(len(self)), key=self.spans[:, 0].tolist().__getitem__)


def time_key(event: Event) -> tuple[float, float, str, list[tuple[str, list[str]]]]:
    """What events are ordered by: start, end, words; and the points of a checklist, whatever their order."""
    points = sorted((dimension, sorted(texts)) for dimension, texts in event.checklist or ())
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


def find_runs(stories: Iterable[Story]) -> list[tuple[Columns, int, int | None]]:
    """Columns, from where to where; stories that stand end to end in the same columns are one run of them."""
    runs: list[tuple[Columns, int, int | None]] = []
    for story in stories:
        if runs and runs[-1][0] is story.columns and runs[-1][2] == story.first and story.last is not None:
            runs[-1] = (story.columns, runs[-1][1], story.last)
        else:
            runs.append((story.columns, story.first, story.last))
    return runs


def join_spans(stories: Iterable[Story]) -> NDArray[np.float64]:
    """The spans of all stories, end to end. [ΣN, 2]"""
    return np.concatenate([np.zeros((0, 2)), *(c.spans[first:last] for c, first, last in find_runs(stories))])


def join_words(stories: Iterable[Story]) -> list[str | None]:
    """The words of all stories, end to end. [ΣN]"""
    return list(chain.from_iterable(c.captions[first:last] for c, first, last in find_runs(stories)))


def join_captions(stories: Sequence[Story]) -> list[str]:
    """The same; an error that names the first story in which an event has none."""
    words = join_words(stories)
    if None in words:
        for story in stories:
            _ = story.captions
    return cast("list[str]", words)


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate caption and what it is compared with. The id is whatever the file gives, number or text."""

    id: str | int
    candidate: str | None  # None where a system left the item out
    references: tuple[str, ...]
    group: str | None = None  # the video that it is a segment of
