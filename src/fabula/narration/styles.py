"""What a style does with the events of a film: chapters without gaps, descriptions where nobody speaks.

Descriptions (audio description): each is spoken for words/pace seconds, in a gap of the speech, after the description
before it, at the earliest 2 s before and at the latest 5 s after what it describes. One that fits nowhere is left out
of the story, counted, and stays in the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabula.data.transcripts import SpokenLine
from fabula.narration.joining import Joined
from fabula.narration.windows import DIGITS

LEAD, LAG = 2.0, 5.0  # seconds
MARGIN = 0.15  # seconds between a line and a description
SHORTEST = 1.0  # seconds of a gap that is of use
Gap = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """Descriptions with the seconds in which they are spoken, and those that fit nowhere."""

    spoken: tuple[tuple[Gap, Joined], ...]
    left_out: tuple[Joined, ...]


def find_gaps(lines: Sequence[SpokenLine] | None, duration: float) -> list[Gap]:
    """Stretches in which nobody speaks."""
    gaps, at = [], 0.0
    for line in sorted(lines or (), key=lambda line: line.start):
        if line.start - MARGIN - at >= SHORTEST:
            gaps.append((round(at, DIGITS), round(line.start - MARGIN, DIGITS)))
        at = max(at, line.end + MARGIN)
    if duration - at >= SHORTEST:
        gaps.append((round(at, DIGITS), round(duration, DIGITS)))
    return gaps


def place_descriptions(events: Sequence[Joined], gaps: Sequence[Gap], pace: float) -> Placed:
    """Each into the first gap that has room for it."""
    free, spoken, left_out = 0.0, [], []
    for event in events:
        need = max(SHORTEST, count_words(event.caption) / pace)
        begin = find_room(gaps, max(free, event.start - LEAD), event.end + LAG, need)
        if begin is None:
            left_out.append(event)
            continue
        free = begin + need
        spoken.append(((round(begin, DIGITS), round(free, DIGITS)), event))
    return Placed(tuple(spoken), tuple(left_out))


def find_room(gaps: Sequence[Gap], low: float, high: float, need: float) -> float | None:
    """Where so many seconds fit into a gap, beginning from `low` to `high`."""
    for start, end in gaps:
        begin = max(start, low)
        if begin > high:
            return None
        if begin + need <= end + 1e-9:
            return begin
    return None


def count_words(caption: str) -> int:
    """Words; of writing without spaces every two letters."""
    wide = sum("\u3040" <= c <= "\u9fff" for c in caption)
    narrow = "".join(" " if "\u3040" <= c <= "\u9fff" else c for c in caption)
    return len(narrow.split()) + -(-wide // 2)


def close_chapters(events: Sequence[Joined], duration: float) -> list[Joined]:
    """Chapters that follow each other from 0 to the end of the film; of those that begin together the longest."""
    by_start: dict[float, Joined] = {}
    for event in events:
        known = by_start.get(event.start)
        if known is None or event.end > known.end:
            by_start[event.start] = event
    chapters = [by_start[start] for start in sorted(by_start) if start < duration]
    starts = [0.0, *(c.start for c in chapters[1:])]
    ends = [*starts[1:], round(duration, DIGITS)]
    return [
        Joined(start, end, c.caption, end - start, list(c.windows))
        for start, end, c in zip(starts, ends, chapters, strict=False)
    ]
