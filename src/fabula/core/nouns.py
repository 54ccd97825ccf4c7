"""The nouns: Segment, Event, Story, Corpus; Item. Frozen; seconds everywhere; ids as they were given."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from math import inf
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import InputError

T = TypeVar("T")


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
        made = instance.__dict__[self.name] = self.make(instance)  # found there the next time, before this is asked
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


@dataclass(frozen=True)  # no slots: spans and captions are kept once made
class Story:
    """What happens in one video, in the order in which the file tells it."""

    id: str
    events: tuple[Event, ...] = ()
    duration: float | None = None

    def __len__(self) -> int:
        return len(self.events)

    @once
    def spans(self) -> NDArray[np.float64]:
        """Starts and ends. [N, 2]"""
        return np.array([(e.segment.start, e.segment.end) for e in self.events], dtype=np.float64).reshape(-1, 2)

    @once
    def captions(self) -> list[str]:
        """The words of every event; an error where there are none."""
        words = [e.caption for e in self.events if e.caption is not None]
        if len(words) < len(self.events):
            raise InputError(
                f"{len(self.events) - len(words)} of {len(self.events)} events have no caption",
                video=self.id,
                hint="a metric that compares captions needs them; SODA_d, mIoU and PRF do not",
            )
        return words

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
        return Story(self.id, tuple([self.events[i] for i in places]), self.duration)

    @once
    def order(self) -> list[int]:
        """Where each event of `in_order` stands in this story.

        What start and end leave open the words decide, so that a shuffled copy of a story is told as the story is:
        events that are still equal are the same event.
        """
        keys = [time_key(e) for e in self.events]
        return sorted(range(len(keys)), key=keys.__getitem__)

    @once
    def start_order(self) -> list[int]:
        """Where each event of `by_start` stands in this story."""
        starts = [e.segment.start for e in self.events]
        return sorted(range(len(starts)), key=starts.__getitem__)


def join_spans(stories: Sequence[Story]) -> NDArray[np.float64]:
    """The spans of all stories end to end; those that are not made yet are made together. [ΣN, 2]"""
    fresh = [story for story in stories if "spans" not in story.__dict__]
    if fresh:
        segments = [event.segment for story in fresh for event in story.events]
        made, start = np.array([(s.start, s.end) for s in segments], dtype=np.float64).reshape(-1, 2), 0
        for story in fresh:
            end = start + len(story.events)
            story.__dict__["spans"] = made[start:end]
            start = end
    return np.concatenate([np.zeros((0, 2)), *(story.spans for story in stories)])


def time_key(event: Event) -> tuple[float, float, str]:
    """What events are ordered by: start, end, words."""
    return event.segment.start, event.segment.end, event.caption or ""


@dataclass(frozen=True, slots=True)
class Corpus(Mapping[str, Story]):
    """Stories by video id, in file order, and where they came from."""

    stories: Mapping[str, Story]
    name: str = ""
    format: str = ""
    external: Mapping[str, object] = field(default_factory=dict)  # a submission's header, written back as read

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
        return any(e.caption for story in self.stories.values() for e in story.events)

    @property
    def events(self) -> int:
        return sum(len(story) for story in self.stories.values())


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate caption and what it is compared with. The id is whatever the file gives, number or text."""

    id: str | int
    candidate: str | None  # None where a system left the item out
    references: tuple[str, ...]
