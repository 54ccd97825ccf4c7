"""Mend what can be mended without knowing better: swap, clip, drop, sort. Captions are never touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fabula.data.stories import Corpus, Event, Segment, Story

DEEDS = {
    "swap": "exchanged the ends of a reversed segment",
    "clip": "cut a segment to the video",
    "drop-empty": "dropped a segment without length",
    "drop-duplicate": "dropped an event that stood there already",
    "sort": "sorted the events of a video by start",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that was done; `event` is its place in the file that was read."""

    deed: str
    video: str
    event: int | None = None
    before: tuple[float, float] | None = None
    after: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "deed": self.deed,
            "video": self.video,
            "event": self.event,
            "before": None if self.before is None else list(self.before),
            "after": None if self.after is None else list(self.after),
        }


def repair(corpus: Corpus, durations: Mapping[str, float]) -> tuple[Corpus, list[Deed]]:
    """A corpus whose segments are stretches of their videos, each event once, in order; and what was done."""
    deeds: list[Deed] = []
    stories = {video: mended(story, durations.get(video), deeds) for video, story in corpus.items()}
    return replace(corpus, stories=stories), deeds


def mended(story: Story, long: float | None, deeds: list[Deed]) -> Story:
    events: list[Event] = []
    for i, event in enumerate(story.events):
        whole = straight(event.segment, story.id, i, long, deeds)
        if whole is None:
            continue
        event = event if whole == event.segment else replace(event, segment=whole)
        if event in events:
            deeds.append(Deed("drop-duplicate", story.id, i, (whole.start, whole.end)))
        else:
            events.append(event)
    if tuple(events) != story.events:
        story = replace(story, events=tuple(events))
    ordered = story.by_start()
    if ordered is not story:
        deeds.append(Deed("sort", story.id))
    return ordered


def straight(segment: Segment, video: str, i: int, long: float | None, deeds: list[Deed]) -> Segment | None:
    """The segment swapped and clipped; None where nothing is left of it."""
    first = (segment.start, segment.end)
    if segment.end < segment.start:
        segment = Segment(segment.end, segment.start)
        deeds.append(Deed("swap", video, i, first, (segment.start, segment.end)))
    low = max(segment.start, 0.0)
    high = segment.end if long is None else min(segment.end, long)
    if low >= high:
        deeds.append(Deed("drop-empty", video, i, first))
        return None
    if (low, high) != (segment.start, segment.end):
        deeds.append(Deed("clip", video, i, (segment.start, segment.end), (low, high)))
    return Segment(low, high)
