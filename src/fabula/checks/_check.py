"""What a check is: an id, a level, one sentence, and a function that finds the places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fabula.data.stories import Corpus, Event, Story

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where, and what was seen there. No video: the file as a whole."""

    video: str | int | None
    event: int | None = None
    detail: str = ""
    part: str = "event"  # what an id has several of: events, boxes, windows, blanks

    def __str__(self) -> str:
        where = (
            []
            if self.video is None
            else [repr(self.video) + (f" {self.part} {self.event}" if self.event is not None else "")]
        )
        return " ".join([*where, *([self.detail] if self.detail else [])])

    def to_dict(self) -> dict[str, object]:
        return {"video": self.video, "event": self.event, "seen": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What checks look at: the stories, all words with their places, and what the references know."""

    corpus: Corpus  # empty where single captions are looked at
    words: tuple[tuple[str | int, int | None, str | None], ...]  # whose, which event, what it says
    durations: Mapping[str, float] = field(default_factory=dict)  # the file's own, else the references'
    known: frozenset[str | int] | None = None  # ids of the references; None where there are none
    part: str = "event"  # what the numbers in places count
    more: object = None  # what a family of checks brings for itself: boxes, rankings, blanks

    def events(self) -> Iterator[tuple[str, int, Event]]:
        for video, story in self.corpus.items():
            for i, event in enumerate(story.events):
                yield video, i, event

    def timed(self) -> Iterator[tuple[str, Story, float]]:
        """The stories whose duration is known."""
        for video, story in self.corpus.items():
            if video in self.durations:
                yield video, story, self.durations[video]

    @property
    def ids(self) -> list[str | int]:
        return list(dict.fromkeys([*self.corpus, *(whose for whose, _, _ in self.words)]))


@dataclass(frozen=True, slots=True)
class Check:
    """Looks for one thing."""

    id: str
    level: Level
    about: str  # one sentence: what it is and why it matters
    find: Callable[[Facts], Iterator[Place]]
    fix: str | None = None  # what --fix does about it


@dataclass(frozen=True, slots=True)
class Finding:
    """A check that found something."""

    check: str
    level: Level
    about: str
    places: tuple[Place, ...]
    fix: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "check": self.check,
            "level": self.level,
            "about": self.about,
            "fix": self.fix,
            "count": len(self.places),
            "places": [p.to_dict() for p in self.places],
        }


def span(event: Event) -> str:
    return f"[{event.segment.start:g}, {event.segment.end:g}]"
