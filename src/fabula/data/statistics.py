"""How many segments the videos of a corpus have, and how long they are: what uniform baselines are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from fabula.data.stories import Corpus, Story

MEANINGS = {
    "videos": "videos",
    "events": "segments of all videos",
    "segments_per_video": "mean number of segments of a video",
    "segment_seconds": "mean duration of a segment, over all segments",
    "video_seconds": "mean duration of a video",
    "told": "mean share of a video that its segments cover",
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Means of a corpus; None where nothing is known. Segments that are no stretch of time have no duration."""

    videos: int
    events: int
    segments_per_video: float | None
    segment_seconds: float | None
    video_seconds: float | None
    told: float | None

    @classmethod
    def of(cls, corpus: Corpus, durations: Mapping[str, float] | None = None) -> Statistics:
        """Durations: of videos, in place of the corpus's own."""
        known = durations if durations is not None else {v: s.duration for v, s in corpus.items() if s.duration}
        lengths = [e.segment.length for story in corpus.values() for e in story.events if e.segment.sound]
        shares = [find_covered(corpus[v], long) for v, long in known.items() if len(corpus[v])]
        return cls(
            len(corpus),
            corpus.events,
            fmean(map(len, corpus.values())) if len(corpus) else None,
            fmean(lengths) if lengths else None,
            fmean(known.values()) if known else None,
            fmean(shares) if shares else None,
        )

    def to_dict(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in MEANINGS}


def find_covered(story: Story, long: float) -> float:
    """The share of the video that events cover."""
    total, reached = 0.0, 0.0
    for start, end in sorted((e.segment.start, e.segment.end) for e in story.events if e.segment.sound):
        low, high = max(start, reached), min(end, long)
        if high > low:
            total, reached = total + high - low, high
    return total / long
